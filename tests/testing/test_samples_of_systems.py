"""The first records of sources of other systems, read from their servers as `penstock sample` does."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.common import Row, RowKind, SimpleStringSchema, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DiscardingSink, FileSource, Source
from penstock.datastream.connectors.delta import DeltaSource
from penstock.datastream.connectors.kafka import KafkaSource
from penstock.datastream.connectors.postgres import Change, PostgresSource
from penstock.datastream.connectors.redis import RedisSource
from penstock.errors import SourceError
from penstock.graph.logical import LogicalGraph
from penstock.testing import check
from penstock.testing.law.input_directory import samples_in
from penstock.testing.law.sample_files import SourceFiles, write_samples
from tests.kafka_broker import Broker
from tests.postgres_server import Database
from tests.redis_server import Server

NAMES = ("zero", "one", "two")


def of_kafka(request: pytest.FixtureRequest) -> Source:
    broker: Broker = request.getfixturevalue("kafka")
    topic = broker.topic()
    broker.add(topic, *(name.encode() for name in NAMES))
    builder = KafkaSource.builder().set_bootstrap_servers(broker.servers).set_topics(topic)
    return builder.set_value_only_deserializer(SimpleStringSchema()).build()


def of_redis(request: pytest.FixtureRequest) -> Source:
    server: Server = request.getfixturevalue("valkey")
    stream = server.name()
    server.add(stream, 0, 1, 2)
    return RedisSource.streams(server.url, stream).map_entries(
        lambda entry: NAMES[int(entry.fields["n"])], Types.STRING()
    )


def of_delta(request: pytest.FixtureRequest) -> Source:
    deltalake = pytest.importorskip("deltalake")
    path: Path = request.getfixturevalue("tmp_path") / "table"
    deltalake.write_deltalake(str(path), pa.table({"n": list(NAMES)}))
    return DeltaSource.table(str(path)).from_version(0)


NAMED = Types.ROW_NAMED(["n"], [Types.STRING()])


def tables(db: Database, *names: str, slot: str = "never_made") -> Any:
    return PostgresSource.builder().set_dsn(db.dsn).set_tables(*names).set_slot(slot)


def of_postgres(request: pytest.FixtureRequest) -> Source:
    db: Database = request.getfixturevalue("postgres")
    values = ", ".join(f"({at}, '{name}')" for at, name in enumerate(NAMES))
    db.run("create table t (id int primary key, n text)", f"insert into t values {values}")
    source: Source = tables(db, "t").set_upserts(NAMED).build()
    return source


def graph_of(env: StreamExecutionEnvironment) -> LogicalGraph:
    graph = env.plan().program
    assert graph is not None
    return graph


def read_by(source: Source) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    read: Any = env.from_source(source, WatermarkStrategy.no_watermarks(), "read")
    read.sink_to(DiscardingSink())
    return env


def sampled(source: Source, directory: Path, records: int, *masked: str) -> SourceFiles:
    (found,) = write_samples(graph_of(read_by(source)), directory, records, masked).sources
    return found


def test_no_records_are_an_error_before_a_masked_column(tmp_path: Path) -> None:
    graph = graph_of(read_by(FileSource.text(tmp_path / "nowhere")))
    with pytest.raises(SourceError, match="'read': it has no records"):
        write_samples(graph, tmp_path / "samples", 2, ["name"])


@pytest.mark.parametrize("make", [of_kafka, of_redis, of_delta, of_postgres])
def test_the_first_records_are_written(
    make: Callable[[pytest.FixtureRequest], Source], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    found = sampled(make(request), tmp_path / "samples", 2)
    assert (found.problem, found.records) == (None, 2)
    assert found.path is not None
    lines = found.path.read_text().splitlines()
    assert [any(name in line for line in lines) for name in NAMES] == [True, True, False]


ACCOUNTS = """create table accounts (owner text primary key, password text, id uuid, spent interval, at timestamptz)"""
LEFT = """
select (select count(*) from pg_replication_slots where database = current_database()),
       (select count(*) from pg_publication), (select count(*) from pg_prepared_xacts),
       (select sum(n_tup_ins + n_tup_upd + n_tup_del) from pg_stat_user_tables)"""


def test_a_table_is_sampled_as_changes_and_nothing_is_left(
    postgres: Database, tmp_path: Path
) -> None:
    uuids = [f"00000000-0000-0000-0000-00000000000{n}" for n in range(3)]
    rows = ", ".join(
        f"('owner{n}', 'p{n}', '{uuid}', '{n} h', '2024-01-0{n + 1}Z')"
        for n, uuid in enumerate(uuids)
    )
    postgres.run(ACCOUNTS, f"insert into accounts values {rows}")
    before = postgres.run(LEFT)
    source = tables(postgres, "accounts").build()
    found = sampled(source, tmp_path / "samples", 2, "owner")
    assert (found.problem, found.records) == (None, 2)
    assert postgres.run(LEFT) == before
    assert found.path is not None
    text = found.path.read_text()
    assert not [word for word in ("owner0", "owner1", '"p0"', '"p1"') if word in text]
    env = read_by(source)
    inputs = samples_in(tmp_path / "samples", graph_of(env), 10)
    changes = [element.value for element in inputs["read"][0]]
    assert {type(change) for change in changes} == {Change}
    assert [str(change.after["id"]) for change in changes] == uuids[:2]
    assert [change.after["spent"].seconds for change in changes] == [0, 3600]
    assert [change.after["at"] for change in changes] == [
        dt.datetime(2024, 1, day, tzinfo=dt.UTC) for day in (1, 2)
    ]
    assert [change.key for change in changes] == [(change.after["owner"],) for change in changes]
    assert {change.op for change in changes} == {RowKind.INSERT}
    assert check(env, inputs=inputs, ways=4).records == {"read": 2}


def test_partitions_and_publications_are_sampled_as_a_job_reads_them(
    postgres: Database, tmp_path: Path
) -> None:
    postgres.run(
        "create table p (id int primary key, n text) partition by range (id)",
        "create table p1 partition of p for values from (0) to (5)",
        "create table p2 partition of p for values from (5) to (500)",
        "insert into p select n, 'n' || n from generate_series(0, 99) n",
        "create publication few for table p where (id > 3) with (publish_via_partition_root = true)",
    )
    source = tables(postgres, "p").set_publication("few").set_upserts(NAMED).build()
    found = sampled(source, tmp_path / "samples", 6)
    assert (found.problem, found.records) == (None, 4)
    read = samples_in(tmp_path / "samples", graph_of(read_by(source)), 10)["read"]
    assert [[element.value for element in split] for split in read] == [
        [Row(n="n4")],
        [Row(n=f"n{n}") for n in (5, 6, 7)],
    ]


def test_a_server_that_refuses_is_named_without_the_password(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    builder = PostgresSource.builder().set_dsn("host=127.0.0.1 port=1 dbname=shop password=hunter2")
    source = builder.set_tables("orders").set_slot("s").build()
    with pytest.raises(SourceError, match="cannot sample postgres table") as failed:
        sampled(source, tmp_path / "samples", 2)
    assert "hunter2" not in str(failed.value)
