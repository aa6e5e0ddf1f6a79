"""A server of S3 for the tests of a process, and a bucket per test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.s3_client import s3_client
from penstock.filesystem.s3_store import S3Store
from tests.s3_server import FaultProxy, s3_server, settings_of


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with s3_server() as url:
        yield url


@pytest.fixture
def proxy(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultProxy]:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "4")
    made = FaultProxy(server)
    yield made
    made.stop()


@pytest.fixture
def bucket(server: str) -> ObjectPath:
    made = ObjectPath(f"b-{uuid.uuid4().hex[:12]}")
    s3_client(settings_of(server)).create_bucket(Bucket=made.bucket)
    return made


@pytest.fixture
def store(proxy: FaultProxy) -> S3Store:
    return S3Store(settings_of(proxy.url))
