"""The client library, imported for the first client; its failures as errors of Penstock; hiding of secrets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from urllib.parse import unquote, urlsplit

from penstock.connectors.client_library import OfThisProcess
from penstock.errors import ArgumentError, CallSite, PenstockError, masked
from penstock.extras import EXTRAS
from penstock.graph.dataset import Dataset, server_at

_LIBRARY = EXTRAS["redis"]
check_installed, library = _LIBRARY.check_installed, _LIBRARY.load
_SCHEMES = ("redis", "rediss", "unix")
_TIMEOUT_SECONDS = 30.0
_RETRIES = 3
_LONGEST = "proto-max-bulk-len"
_DEFAULT_LONGEST = 512 << 20
SURE_BYTES = 1 << 20
"""Bytes of one argument that every server takes: no server can be set to less."""

_clients: OfThisProcess = OfThisProcess()


@dataclass(frozen=True, slots=True, repr=False)
class RedisAddress:
    """Address of a server, and its login. No text of ours shows the password.

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

    def dataset(self, name: str | None) -> Dataset:
        """Return the lineage dataset of a stream, or of the whole database."""
        database = "" if self.url.startswith("unix:") else urlsplit(self.url).path.strip("/")
        return Dataset(
            server_at(self.url, 6379), f"{database or '0'}{'' if name is None else f'.{name}'}"
        )

    def masked(self, text: str) -> str:
        """Return a text in which the password is not left."""
        return masked(text, self._secrets())

    def _secrets(self) -> set[str]:
        parts = urlsplit(self.url)
        login = parts.netloc.rpartition("@")[0]
        # The query may have a password too, so no part of it is shown.
        texts = {login.partition(":")[2], login, parts.query}
        return {secret for text in texts for secret in (text, unquote(text))} - {""}

    def __repr__(self) -> str:
        return f"RedisAddress({self.shown})"


def address_of(url: str) -> RedisAddress:
    """Return the address of a server."""
    if not isinstance(url, str) or urlsplit(url).scheme not in _SCHEMES:
        raise ArgumentError.here(
            "the address of a Redis server is no URL with the scheme redis, rediss or unix",
            hint="Pass e.g. 'redis://localhost:6379/0'.",
        )
    return RedisAddress(url)


def client_of(address: RedisAddress) -> Any:
    """Return the client of this process for a server; its answers are bytes."""
    client = _clients.get(address)
    if client is None:
        client = _clients.setdefault(address, _new_client(address))
    return client


def _new_client(address: RedisAddress) -> Any:
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


def longest_argument(address: RedisAddress) -> int:
    """Return the most bytes of an argument of a server; its default if the server does not report them."""
    client = client_of(address)
    try:
        settings = client.config_get(_LONGEST)
    except (
        library().ResponseError
    ):  # the login lacks the right, or the server of a provider has no such command
        settings = {}
    return int(settings.get(_LONGEST, _DEFAULT_LONGEST))


@contextmanager
def redis_errors(
    error_class: type[PenstockError],
    address: RedisAddress,
    doing: str,
    origin: CallSite | None = None,
) -> Iterator[None]:
    """Turn an error of Redis in the block into one of ours, without secrets."""
    try:
        yield
    except library().RedisError as cause:
        raise error_class(
            f"cannot {doing} at {address.shown}: {type(cause).__name__}: {address.masked(str(cause))}",
            hint="Check the address and the login, and that the server is up. The job goes on where it was.",
            origin=origin,
        ) from None  # the cause may have a secret in its text, and a traceback would show it
