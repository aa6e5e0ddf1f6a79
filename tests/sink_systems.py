"""The systems that have sinks with exactly-once delivery: what tests of all such sinks run on.

A target is a place of its own for one test. Programs in other processes get it as three texts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Types
from penstock.datastream.connectors import FileSink, Sink
from penstock.datastream.connectors.delta import DeltaSink
from penstock.datastream.connectors.kafka import DeliveryGuarantee, KafkaRecord, KafkaSink
from penstock.datastream.connectors.postgres import PostgresSink
from penstock.datastream.connectors.redis import RedisSink
from tests.kafka_broker import Broker
from tests.redis_server import Server

with suppress(ImportError):  # the fixture of the server skips the test
    import psycopg
with suppress(ImportError):  # its target skips the test
    import deltalake

Count = tuple[str, int]
ROW = Types.ROW_NAMED(["key", "n"], [Types.STRING(), Types.LONG()])


@dataclass(frozen=True, slots=True)
class SinkTarget:
    """A place that a sink writes.

    Attributes:
        system: Name in `SINKS` or `BY_KEY`.
        address: Of the server; empty without one.
        name: The topic, table, stream or directory.
    """

    system: str
    address: str
    name: str

    def sink(self) -> Sink:
        """Return a sink of rows `ROW`."""
        return _system(self.system).sink(self.address, self.name)

    def rows(self) -> Counter[Count]:
        """Return the rows that a reader sees."""
        return Counter(_system(self.system).read(self.address, self.name))


@dataclass(frozen=True, slots=True)
class SinkSystem:
    """A system.

    Attributes:
        target: Makes address and name of a target, with the fixtures of a test.
        sink: Makes the sink.
        read: Returns the rows that a reader sees.
        steps: The failpoints of a commit, in order.
        sleeps_at: The step at which a driver that does not go on blocks no other.
    """

    target: Callable[[pytest.FixtureRequest], tuple[str, str]]
    sink: Callable[[str, str], Sink]
    read: Callable[[str, str], Iterable[Count]]
    steps: tuple[str, ...]
    sleeps_at: str


def new_target(system: str, request: pytest.FixtureRequest) -> SinkTarget:
    """Return a new target of a system, whose server is started."""
    return SinkTarget(system, *_system(system).target(request))


def _system(name: str) -> SinkSystem:
    return SINKS[name] if name in SINKS else BY_KEY[name]


def _directory(request: pytest.FixtureRequest) -> tuple[str, str]:
    path: Path = request.getfixturevalue("tmp_path")
    return "", str(path / "target")


def _read_files(_: str, directory: str) -> Iterable[Count]:
    for path in Path(directory).glob("*.json"):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            yield row["key"], row["n"]


def _table(request: pytest.FixtureRequest) -> tuple[str, str]:
    pytest.importorskip("deltalake")
    return _directory(request)


def _read_delta(_: str, directory: str) -> Iterable[Count]:
    if not deltalake.DeltaTable.is_deltatable(directory):
        return []
    rows = deltalake.DeltaTable(directory).to_pyarrow_table().to_pylist()
    return [(row["key"], row["n"]) for row in rows]


def _topic(request: pytest.FixtureRequest) -> tuple[str, str]:
    broker: Broker = request.getfixturevalue("kafka")
    return broker.servers, broker.topic(2)


def _kafka_sink(servers: str, topic: str) -> Sink:
    def record(row: Any) -> KafkaRecord:
        return KafkaRecord(row[0].encode(), b"%d" % row[1], topic)

    builder = KafkaSink.builder().set_bootstrap_servers(servers).set_record_serializer(record)
    return builder.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build()


def _read_topic(servers: str, topic: str) -> Iterable[Count]:
    return [(m.key().decode(), int(m.value())) for m in Broker(servers).messages(topic)]


def _database(request: pytest.FixtureRequest) -> tuple[str, str]:
    database = request.getfixturevalue("postgres")
    database.run("create table history (key text, n bigint)")
    return database.dsn, "history"


def _postgres_sink(dsn: str, table: str) -> Sink:
    return PostgresSink.builder().set_dsn(dsn).set_table(table).set_columns("key", "n").build()


def _read_postgres(dsn: str, table: str) -> Iterable[Count]:
    assert table == "history"
    with psycopg.connect(dsn) as connection:
        return connection.execute("select key, n from history").fetchall()


def _stream(request: pytest.FixtureRequest) -> tuple[str, str]:
    server: Server = request.getfixturevalue("valkey")
    return server.url, server.name()


def _read_stream(url: str, stream: str) -> Iterable[Count]:
    return Server(url).seen(stream)


def _steps(system: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{system}.{name}" for name in names)


SINKS = {
    "files": SinkSystem(
        _directory,
        lambda _, directory: FileSink.json(directory),
        _read_files,
        _steps("sink", "manifest-written", "renamed-first"),
        "sink.manifest-written",
    ),
    "kafka": SinkSystem(
        _topic,
        _kafka_sink,
        _read_topic,
        _steps("kafka", "decided", "produced", "marked", "committed"),
        "kafka.marked",
    ),
    "postgres": SinkSystem(
        _database,
        _postgres_sink,
        _read_postgres,
        _steps("postgres", "decided", "marked", "written", "committed"),
        "postgres.decided",  # behind it, its transaction holds the row of the sink for ten seconds
    ),
    "delta": SinkSystem(
        _table,
        lambda _, directory: DeltaSink.append(directory),
        _read_delta,
        _steps("delta", "decided", "renamed", "committed"),
        "delta.renamed",
    ),
    "redis": SinkSystem(
        _stream,
        RedisSink.to_stream,
        _read_stream,
        _steps("redis", "decided", "read", "committed"),
        "redis.read",
    ),
}

BY_KEY = {
    "delta by key": SinkSystem(
        _table,
        lambda _, directory: DeltaSink.upsert(directory, ["key"]),
        _read_delta,
        _steps("delta", "decided", "renamed", "committed"),
        "delta.renamed",
    ),
}
"""Those whose rows replace others."""
