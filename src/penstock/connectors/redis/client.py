"""The client library, which is imported when a client is made, its failures as ours, and what nobody is shown."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from urllib.parse import unquote, urlsplit

from penstock.errors import ArgumentError, CallSite, MissingConnectorError, PenstockError

_LIBRARY = "redis"
_HIDDEN = "******"
_SCHEMES = ("redis", "rediss", "unix")
_TIMEOUT_SECONDS = 30.0
_RETRIES = 3


@dataclass(frozen=True, slots=True, repr=False)
class RedisAddress:
    """Where a server is, and how to log in. No text of ours shows the password.

    Attributes:
        url: `redis://[[user]:password@]host:port/database`, `rediss://…` for TLS, or `unix://…`.
    """

    url: str

    @property
    def shown(self) -> str:
        """The address without user and password."""
        parts = urlsplit(self.url)
        host = parts.netloc.rpartition("@")[2]
        return f"{parts.scheme}://{host}{parts.path}"

    def masked(self, text: str) -> str:
        """Return a text in which the password is not left."""
        for secret in sorted(self._secrets(), key=len, reverse=True):
            text = text.replace(secret, _HIDDEN)
        return text

    def _secrets(self) -> set[str]:
        parts = urlsplit(self.url)
        login = parts.netloc.rpartition("@")[0]
        # The query may have a password too, so nothing of it is shown.
        found = {login.partition(":")[2], login, parts.query}
        return {each for text in found for each in (text, unquote(text))} - {""}

    def __repr__(self) -> str:
        return f"RedisAddress({self.shown})"


def address_of(url: str) -> RedisAddress:
    """Return the address of a server.

    Raises:
        ArgumentError: It is none. The error does not show it, since it may have a password.
    """
    if not isinstance(url, str) or urlsplit(url).scheme not in _SCHEMES:
        raise ArgumentError.here(
            "the address of a Redis server is no URL with the scheme redis, rediss or unix",
            hint="Pass e.g. 'redis://localhost:6379/0'.",
        )
    return RedisAddress(url)


def check_installed(what: str) -> None:
    """Check that the library can be imported, without importing it.

    Args:
        what: What needs it.

    Raises:
        MissingConnectorError: It cannot.
    """
    if find_spec(_LIBRARY) is None:
        raise MissingConnectorError.here(
            f"{what} needs the package redis, which is not installed",
            hint="Install it here and for the workers: pip install 'penstock[redis]'.",
        )


def library() -> Any:
    """Return the module `redis`.

    Raises:
        MissingConnectorError: It is not installed.
    """
    check_installed("a Redis client")
    return import_module(_LIBRARY)


def client_of(address: RedisAddress) -> Any:
    """Return the client of this process for a server; its answers are bytes."""
    return _client(address, os.getpid())


@lru_cache(maxsize=16)
def _client(address: RedisAddress, process: int) -> Any:
    """Return a client; a forked process gets one of its own."""
    del process
    redis = library()
    retry = import_module("redis.retry").Retry(
        import_module("redis.backoff").ExponentialBackoff(cap=1.0, base=0.05), _RETRIES
    )
    return redis.Redis.from_url(
        address.url,
        socket_timeout=_TIMEOUT_SECONDS,
        socket_connect_timeout=_TIMEOUT_SECONDS,
        retry=retry,
    )


@contextmanager
def redis_errors(
    made: type[PenstockError], address: RedisAddress, doing: str, origin: CallSite | None = None
) -> Iterator[None]:
    """Turn an error of Redis in the block into one of ours, without secrets.

    Args:
        made: The class of the error.
        address: Of the server.
        doing: What fails, e.g. `read stream orders`.
        origin: The user's line.

    Raises:
        PenstockError: The block raised an error of Redis.
    """
    try:
        yield
    except library().RedisError as cause:
        raise made(
            f"cannot {doing} at {address.shown}: {type(cause).__name__}: {address.masked(str(cause))}",
            hint="Check the address and the login, and that the server is up. The job goes on where it was.",
            origin=origin,
        ) from None  # the cause may have a secret in its text, and a traceback would show it
