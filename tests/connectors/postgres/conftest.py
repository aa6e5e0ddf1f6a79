"""Connections that a test leaves are closed, so that its database can be dropped."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.connectors.postgres.client import close_sessions


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    close_sessions()
