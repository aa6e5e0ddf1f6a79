"""Settings of Google Cloud Storage, as Hadoop's options `fs.gs.*`, or else from the environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

_KEYFILES = (
    "fs.gs.auth.service.account.json.keyfile",
    "google.cloud.auth.service.account.json.keyfile",
)


@dataclass(frozen=True, slots=True)
class GoogleSettings:
    """Address and login of Google Cloud Storage. None is what the environment says, as for other programs that use it.

    There is no secret in it: a key is in a file.

    Attributes:
        keyfile: File with the key of a service account, which the driver and all workers have.
        endpoint: URL of a server that speaks the protocol.
        retry_seconds: How long a request is sent again, if the store is busy or does not answer.
    """

    keyfile: str | None = None
    endpoint: str | None = None
    retry_seconds: float = 120.0


def google_settings_of_hadoop(option: Callable[[str], str | None]) -> GoogleSettings:
    """Return what Hadoop's options say."""
    keyfiles = [(option(name) or "").strip() for name in _KEYFILES]
    endpoint = (option("fs.gs.storage.root.url") or "").strip().rstrip("/")
    return GoogleSettings(next(filter(None, keyfiles), None), endpoint or None)
