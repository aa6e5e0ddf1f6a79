"""The client library of Google Cloud Storage, which is imported when a client is made, and its failures as `OSError`."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import Any
from urllib.parse import quote

from penstock.filesystem.client_library import check_installed
from penstock.filesystem.google_settings import GoogleSettings
from penstock.filesystem.object_path import GOOGLE, ObjectPath

_FIRST_PAUSE_SECONDS = 0.25
_MOST_PAUSE_SECONDS = 20.0
_CONNECTIONS = 16

SECONDS = (10.0, 60.0)
"""Limits for connecting and for reading."""

_PROJECT = "none"
"""Buckets are in a project, and no call for objects names it."""

_NUMBERS = {
    401: errno.EACCES,
    403: errno.EACCES,
    404: errno.ENOENT,
    412: errno.EEXIST,
}
"""Statuses of answers to numbers of errors; others are EIO."""


def google_client(settings: GoogleSettings) -> Any:
    """Return the client of this process; threads share it.

    Raises:
        OSError: There is no login, or its file cannot be read.
        MissingConnectorError: The library is not installed.
    """
    return _client(settings, os.getpid())


def google_retries(settings: GoogleSettings) -> Any:
    """Return how requests are sent again: with pauses that double up to a limit."""
    again = import_module("google.cloud.storage.retry").DEFAULT_RETRY
    pauses = again.with_delay(_FIRST_PAUSE_SECONDS, _MOST_PAUSE_SECONDS, 2.0)
    return pauses.with_timeout(settings.retry_seconds)


@lru_cache(maxsize=8)
def _client(settings: GoogleSettings, process: int) -> Any:
    """Return a client; a forked process gets one of its own, because connections must not be shared."""
    del process
    check_installed(GOOGLE, "a path of Google Cloud Storage")
    storage = import_module("google.cloud.storage")
    options = {} if settings.endpoint is None else {"api_endpoint": settings.endpoint}
    with google_errors(ObjectPath("", scheme=GOOGLE)):
        if settings.keyfile is not None:
            made = storage.Client.from_service_account_json(
                settings.keyfile, project=_PROJECT, client_options=options
            )
        elif (settings.endpoint or os.environ.get("STORAGE_EMULATOR_HOST", "")).startswith("http:"):
            # A server of tests: a login is sent to nobody without TLS.
            nobody = import_module("google.auth.credentials").AnonymousCredentials()
            made = storage.Client(project=_PROJECT, credentials=nobody, client_options=options)
        else:
            made = storage.Client(project=_PROJECT, client_options=options)
    adapter = import_module("requests.adapters").HTTPAdapter(pool_maxsize=_CONNECTIONS)
    made._http.mount("https://", adapter)  # noqa: SLF001 - the library has ten connections
    return made


def described(settings: GoogleSettings, path: ObjectPath) -> Any:
    """Return the answer with the description of an object, which the library gives without its headers.

    Returns:
        An answer of `requests`; None if there is no such object.

    Raises:
        OSError: The store refused, or cannot be reached.
    """
    client = google_client(settings)
    name = f"b/{quote(path.bucket)}/o/{quote(path.key, safe='')}"
    address = f"{client.api_endpoint.rstrip('/')}/storage/v1/{name}"

    def ask() -> Any:
        answer = client._http.get(address, timeout=SECONDS)  # noqa: SLF001 - it has the login
        if not answer.ok:
            raise import_module("google.api_core.exceptions").from_http_response(answer)
        return answer

    try:
        with google_errors(path):
            return google_retries(settings)(ask)()
    except FileNotFoundError:
        return None


@contextmanager
def google_errors(path: ObjectPath) -> Iterator[None]:
    """Turn an error of the library in the block into an `OSError`.

    Raises:
        OSError: The block raised an error of the library: FileNotFoundError, FileExistsError,
            PermissionError, or another one with the number EIO.
    """
    check_installed(GOOGLE, "a path of Google Cloud Storage")
    core = import_module("google.api_core.exceptions")
    auth = import_module("google.auth.exceptions")
    requests = import_module("requests.exceptions")
    try:
        yield
    except core.GoogleAPICallError as error:
        status = int(error.code or 0)
        text = f"Google Cloud Storage answered {status}: {_said(error)}"
        raise OSError(_NUMBERS.get(status, errno.EIO), text, str(path)) from None
    except auth.GoogleAuthError as error:
        text = f"{type(error).__name__}: {_first_line(error)}"
        raise OSError(errno.EACCES, text, str(path)) from None
    except (core.GoogleAPIError, requests.RequestException, ValueError) as error:
        text = f"{type(error).__name__}: {_first_line(error)}"
        raise OSError(errno.EIO, text, str(path)) from None


def _said(error: Any) -> str:
    """Return what the store said, without the address that was asked."""
    reasons = [each.get("message") for each in error.errors or () if isinstance(each, dict)]
    return next(filter(None, reasons), None) or type(error).__name__


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
