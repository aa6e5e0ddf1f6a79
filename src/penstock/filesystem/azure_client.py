"""The client library of Azure's blobs, which is imported when a client is made, and its failures as `OSError`."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import Any

from penstock.filesystem.azure_settings import AzureLogin, AzureSettings
from penstock.filesystem.client_library import check_installed
from penstock.filesystem.object_path import AZURE, ObjectPath

_CONNECT_SECONDS = 10
_READ_SECONDS = 60
_FIRST_PAUSE_SECONDS = 0.25
_MOST_PAUSE_SECONDS = 20

_NUMBERS = {
    "BlobNotFound": errno.ENOENT,
    "ContainerNotFound": errno.ENOENT,
    "ResourceNotFound": errno.ENOENT,
    "InvalidBlockList": errno.ENOENT,
    "BlobAlreadyExists": errno.EEXIST,
    "ConditionNotMet": errno.EEXIST,
    404: errno.ENOENT,
    412: errno.EEXIST,
    401: errno.EACCES,
    403: errno.EACCES,
}
"""Codes of Azure, and else statuses of answers, to numbers of errors; others are EIO."""


def container_client(settings: AzureSettings, bucket: str) -> Any:
    """Return the client of a container in this process; threads share it.

    Raises:
        OSError: The login cannot be one.
        MissingConnectorError: The library is not installed.
    """
    container, _, host = bucket.partition("@")
    account = host.partition(".")[0]
    service = _service(settings.login_of(account), host, settings.attempts, os.getpid())
    return service.get_container_client(container)


@lru_cache(maxsize=8)
def _service(login: AzureLogin, host: str, attempts: int, process: int) -> Any:
    """Return a client; a forked process gets one of its own, because connections must not be shared."""
    del process
    check_installed(AZURE, "a path of Azure")
    blob = import_module("azure.storage.blob")
    address = login.endpoint or f"https://{host.replace('.dfs.', '.blob.', 1)}"
    return blob.BlobServiceClient(
        address,
        credential=_credential(login, host),
        connection_timeout=_CONNECT_SECONDS,
        read_timeout=_READ_SECONDS,
        retry_policy=_retries(blob, attempts),
        # Parts come from here; what is less than one is put at once.
        max_single_put_size=64 << 20,
    )


def _credential(login: AzureLogin, host: str) -> Any:
    """Return what the library takes for a login: a key, a signature, or who the machine or the user is."""
    if login.key is not None:
        return {"account_name": host.partition(".")[0], "account_key": login.key}
    if login.sas is not None:
        return login.sas
    return import_module("azure.identity").DefaultAzureCredential()


def _retries(blob: Any, attempts: int) -> Any:
    """Return pauses that double up to a limit; those of the library begin with 15 seconds."""

    class Doubling(blob.ExponentialRetry):  # type: ignore[misc]
        def get_backoff_time(self, settings: dict[str, Any]) -> float:
            """Return how long to wait before the next attempt."""
            pause: float = _FIRST_PAUSE_SECONDS * 2 ** settings["count"]
            return min(pause, _MOST_PAUSE_SECONDS)

    again = attempts - 1
    return Doubling(retry_total=again, retry_connect=again, retry_read=again, retry_status=again)


@contextmanager
def azure_errors(settings: AzureSettings, path: ObjectPath) -> Iterator[None]:
    """Turn an error of the library in the block into an `OSError`, without secrets.

    Raises:
        OSError: The block raised an error of the library: FileNotFoundError, FileExistsError,
            PermissionError, or another one with the number EIO.
    """
    check_installed(AZURE, "a path of Azure")
    exceptions = import_module("azure.core.exceptions")
    try:
        yield
    except exceptions.HttpResponseError as error:
        status = error.status_code
        named = getattr(
            error, "error_code", None
        )  # an enumeration, of those that the library knows
        code = str(getattr(named, "value", named) or status)
        said = str(error.reason or error.message).partition("\n")[0]
        number = _NUMBERS.get(code, _NUMBERS.get(status, errno.EIO))
        raise OSError(
            number, settings.masked(f"Azure answered {code}: {said}"), str(path)
        ) from None
    except (
        exceptions.AzureError,
        ValueError,
    ) as error:  # ValueError: a key or an address that is none
        name = type(error).__name__
        number = errno.EACCES if name == "ClientAuthenticationError" else errno.EIO
        text = str(error).partition("\n")[0]
        raise OSError(number, settings.masked(f"{name}: {text}"), str(path)) from None
