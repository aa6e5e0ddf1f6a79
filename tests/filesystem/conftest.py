"""Servers of stores for the tests of a process, and a bucket per test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from penstock.filesystem import azure_store, google_store
from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.s3_store import S3Store
from tests.s3_server import FaultProxy, settings_of
from tests.store_systems import SYSTEMS


class Servers:
    """One server of each system, which is started when somebody needs it."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._urls: dict[str, str] = {}

    def of(self, system: str) -> str:
        """Return the address of the server of a system."""
        if system not in self._urls:
            self._urls[system] = self._stack.enter_context(SYSTEMS[system].serve())
        return self._urls[system]


def soon_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let clients ask four times, with pauses that are short."""
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "4")
    backoff = "botocore.retries.standard.ExponentialBackoff.delay_amount"
    monkeypatch.setattr(backoff, lambda *_: 0.01)
    for client in (azure_store, google_store):
        monkeypatch.setattr(client, "_FIRST_PAUSE_SECONDS", 0.01)


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    with ExitStack() as stack:
        yield Servers(stack)


@pytest.fixture(scope="session")
def server(servers: Servers) -> str:
    return servers.of("s3")


@pytest.fixture
def proxy(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultProxy]:
    soon_again(monkeypatch)
    made = FaultProxy(server)
    yield made
    made.stop()


@pytest.fixture
def bucket(server: str) -> ObjectPath:
    return SYSTEMS["s3"].new_bucket(server)


@pytest.fixture
def store(proxy: FaultProxy) -> S3Store:
    return S3Store(settings_of(proxy.url))
