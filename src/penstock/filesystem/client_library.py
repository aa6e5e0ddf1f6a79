"""The client libraries of the stores: the package of each, which is imported when a client is made."""

from __future__ import annotations

from importlib.util import find_spec

from penstock.distribution import EXTRAS, install_hint
from penstock.errors import MissingConnectorError
from penstock.filesystem.object_path import AZURE, GOOGLE, S3

_NEEDED = {
    S3: ("s3", "botocore"),
    GOOGLE: ("google", "google.cloud.storage"),
    AZURE: ("azure", "azure.storage.blob"),
}
"""Scheme to the extra, and a module of it."""


def check_installed(scheme: str, what: str) -> None:
    """Check that the library of a store can be imported, without importing it.

    Raises:
        MissingConnectorError: It cannot.
    """
    extra, module = _NEEDED[scheme]
    if not _is_there(module):
        raise MissingConnectorError.here(
            f"{what} needs the package {EXTRAS[extra][0]}, which is not installed",
            hint=install_hint(extra),
        )


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of a package that it is in
        return False
