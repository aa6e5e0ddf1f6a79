"""The client library of S3, which is imported when a client is made, and its failures as `OSError`."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import Any

from penstock.filesystem.client_library import check_installed
from penstock.filesystem.object_path import S3, ObjectPath
from penstock.filesystem.s3_settings import S3Settings

_ATTEMPTS = 10
_CONNECT_SECONDS = 10.0
_READ_SECONDS = 60.0
_CONNECTIONS = 16

_NUMBERS = {
    "404": errno.ENOENT,
    "NoSuchBucket": errno.ENOENT,
    "NoSuchKey": errno.ENOENT,
    "NoSuchUpload": errno.ENOENT,
    "PreconditionFailed": errno.EEXIST,
    "403": errno.EACCES,
    "AccessDenied": errno.EACCES,
    "ExpiredToken": errno.EACCES,
    "InvalidAccessKeyId": errno.EACCES,
    "InvalidToken": errno.EACCES,
    "SignatureDoesNotMatch": errno.EACCES,
}
"""Codes of S3 to numbers of errors; other codes are EIO."""

_NO_LOGIN = frozenset({"NoCredentialsError", "PartialCredentialsError", "TokenRetrievalError"})


def s3_client(settings: S3Settings) -> Any:
    """Return the client of this process; threads share it.

    Raises:
        OSError: The environment names a region, a profile or an address that cannot be.
        MissingConnectorError: The library is not installed.
    """
    return _client(settings, os.getpid())


@lru_cache(maxsize=8)
def _client(settings: S3Settings, process: int) -> Any:
    """Return a client; a forked process gets one of its own, because connections must not be shared."""
    del process
    check_installed(S3, "a path of S3")
    session = import_module("botocore.session").get_session()
    config = import_module("botocore.config").Config(
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=_READ_SECONDS,
        max_pool_connections=_CONNECTIONS,
        # Waits longer from one attempt to the next, and asks less often when many requests fail.
        retries={
            "mode": session.get_config_variable("retry_mode") or "standard",
            "total_max_attempts": session.get_config_variable("max_attempts") or _ATTEMPTS,
        },
        **({"s3": {"addressing_style": "path"}} if settings.is_path_style else {}),
    )
    with s3_errors(settings, ObjectPath("")):
        return session.create_client(
            "s3",
            region_name=settings.region,
            endpoint_url=settings.endpoint,
            aws_access_key_id=settings.access_key,
            aws_secret_access_key=settings.secret_key,
            aws_session_token=settings.session_token,
            config=config,
        )


def code_of(error: BaseException) -> str | None:
    """Return the code of an answer of S3, None if there was no answer."""
    response = getattr(error, "response", None)
    return None if response is None else str(response.get("Error", {}).get("Code", ""))


@contextmanager
def s3_errors(settings: S3Settings, path: ObjectPath) -> Iterator[None]:
    """Turn an error of the library in the block into an `OSError`, without secrets.

    Raises:
        OSError: The block raised an error of the library: FileNotFoundError, FileExistsError,
            PermissionError, or another one with the number EIO.
    """
    check_installed(S3, "a path of S3")
    exceptions = import_module("botocore.exceptions")
    try:
        yield
    except exceptions.ClientError as error:
        code = code_of(error) or ""
        said = error.response.get("Error", {}).get("Message") or "no reason was given"
        text = settings.masked(f"S3 answered {code}: {said}")
        raise OSError(_NUMBERS.get(code, errno.EIO), text, str(path)) from None
    except (exceptions.BotoCoreError, ValueError) as error:  # ValueError: an address that is none
        name = type(error).__name__
        number = errno.EACCES if name in _NO_LOGIN else errno.EIO
        raise OSError(number, settings.masked(f"{name}: {error}"), str(path)) from None
