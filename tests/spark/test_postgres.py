"""PostgreSQL on Spark: a table as it is, then its changes, over failures, restarts and savepoints.

Every test compares with what one uninterrupted run would have written.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from penstock.api.environment.job import JobClient
from penstock.common import Types, WatermarkStrategy
from penstock.connectors.postgres.client import close_sessions
from penstock.connectors.postgres.slots import slot_state
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import FileSink, FileSource
from penstock.datastream.connectors.postgres import Change, PostgresSink, PostgresSource
from penstock.errors import SourceError
from tests.postgres_server import Database
from tests.spark.conftest import Environment, Failures
from tests.spark.test_clients import written
from tests.spark.test_kafka import files_with_the_secret, final
from tests.spark.test_logs import stop
from tests.spark.waiting import wait_for

ROW = Types.ROW_NAMED(["key", "n"], [Types.STRING(), Types.LONG()])
NO_TIME = WatermarkStrategy.no_watermarks()
SECRET = "s3cr3t-and-long"  # noqa: S105 - of nobody
SMALL: dict[str, object] = {"execution.live.max-records-per-batch": 10}


@pytest.fixture(autouse=True)
def closed() -> Any:
    yield
    close_sessions()


@pytest.fixture
def table(postgres: Database) -> Database:
    postgres.run("create table orders (id int primary key, key text not null)")
    return postgres


def add(db: Database, first: int, last: int) -> None:
    db.run(f"insert into orders select n, 'k' || n % 5 from generate_series({first}, {last - 1}) n")


def source(db: Database, slot: str, *, bounded: bool = False) -> PostgresSource:
    made = PostgresSource.builder().set_dsn(f"{db.dsn} password={SECRET}").set_tables("orders")
    if bounded:
        return made.set_bounded().build()
    return made.set_slot(slot).build()


def keys(change: Change) -> list[tuple[str, int]]:
    return [] if change.after is None else [(change.after["key"], 1)]


def start(env: StreamExecutionEnvironment, read: PostgresSource, out: Path) -> JobClient:
    """Start a job that counts the rows that were ever written of every key."""
    records = env.from_source(read, NO_TIME, "orders").uid("orders")
    ones = records.flat_map(keys).key_by(lambda one: one[0])
    ones.sum(1).uid("counts").map(lambda r: r, ROW).sink_to(FileSink.parquet(out)).uid("out")
    return env.execute_async("orders")


def totals(count: int) -> dict[str, int]:
    return {f"k{n}": count // 5 for n in range(5)}


def test_a_batch_run_reads_the_rows_that_there_are(
    environment: Environment, tmp_path: Path, table: Database
) -> None:
    add(table, 0, 5000)
    client = start(environment("batch"), source(table, "", bounded=True), tmp_path / "out")
    client.get_job_execution_result().result()
    assert final(written(tmp_path / "out")) == totals(5000)


STEPS = ["begun", "published", "slot-made", "range-captured", "captured"]


@pytest.mark.parametrize("mode", ["streaming", "mixed"])
def test_rows_and_changes_are_read_once_whatever_fails(
    environment: Environment, tmp_path: Path, table: Database, failures: Failures, mode: str
) -> None:
    slot, out = table.slot(), tmp_path / "out"
    add(table, 0, 50)
    places = [f"postgres.{step}:1:raise" for step in STEPS]
    places += ["snapshot.captured:1:raise", "snapshot.recorded:1:raise"]
    client = start(environment(mode, **SMALL, **failures.at(*places)), source(table, slot), out)
    wait_for(client, lambda: final(written(out)) == totals(50))
    failures.check_all_happened()
    add(table, 50, 70)
    wait_for(client, lambda: final(written(out)) == totals(70))
    wait_for(client, lambda: is_confirmed(table, slot))
    stop(client)
    add(table, 70, 100)
    client = start(environment(mode, **SMALL), source(table, slot), out)
    wait_for(client, lambda: final(written(out)) == totals(100))
    stop(client)
    assert set(written(out).values()) == {1}
    assert files_with_the_secret(tmp_path / "job") == []


def is_confirmed(db: Database, slot: str) -> bool:
    with db.connect() as connection:
        state = slot_state(connection, slot)
    return state.confirmed == state.head


def test_a_job_goes_on_from_a_savepoint_with_its_slot(
    environment: Environment, tmp_path: Path, table: Database
) -> None:
    slot, out = table.slot(), tmp_path / "out"
    add(table, 0, 50)
    client = start(environment("mixed"), source(table, slot), out)
    wait_for(client, lambda: final(written(out)) == totals(50))
    taken = client.stop_with_savepoint(False, str(tmp_path / "savepoint")).result()
    client.get_job_execution_result().result()
    add(table, 50, 70)
    go_on: dict[str, object] = {
        "execution.checkpointing.dir": str(tmp_path / "next"),
        "execution.state-recovery.path": taken,
    }
    client = start(environment("mixed", **go_on), source(table, slot), out)
    wait_for(client, lambda: final(written(out)) == totals(70))
    stop(client)
    assert not (tmp_path / "next" / "snapshots").exists()
    # Another job may not have the slot.
    other = {"execution.checkpointing.dir": str(tmp_path / "other")}
    client = start(environment("mixed", **other), source(table, slot), tmp_path / "out2")
    with pytest.raises(SourceError, match="is there already, and this job has not made it"):
        client.get_job_execution_result().result()


def test_a_slot_that_is_gone_stops_the_job(
    environment: Environment, tmp_path: Path, table: Database
) -> None:
    slot, out = table.slot(), tmp_path / "out"
    add(table, 0, 10)
    client = start(environment("streaming"), source(table, slot), out)
    wait_for(client, lambda: final(written(out)) == totals(10))
    stop(client)
    source(table, slot).drop()
    client = start(environment("streaming"), source(table, slot), out)
    with pytest.raises(SourceError, match=f"replication slot '{slot}' is gone"):
        client.get_job_execution_result().result()


def test_a_table_is_joined_as_upserts(
    environment: Environment, tmp_path: Path, table: Database
) -> None:
    add(table, 0, 5)
    row = Types.ROW_NAMED(["id", "key"], [Types.INT(), Types.STRING()])
    made = PostgresSource.builder().set_dsn(table.dsn).set_tables("orders").set_slot(table.slot())
    env, out = environment("mixed", **SMALL), tmp_path / "out"
    rows = env.from_source(made.set_upserts(row).build(), NO_TIME, "orders").uid("orders")
    told = rows.map(lambda r: (f"{r.get_row_kind()}{r.key}", r.id), ROW)
    told.sink_to(FileSink.parquet(out)).uid("out")
    client = env.execute_async("orders")
    wait_for(client, lambda: written(out).total() == 5)
    table.run("update orders set key = 'new' where id = 1", "delete from orders where id = 2")
    more = Counter({("+Unew", 1): 1, ("-DNone", 2): 1})
    wait_for(client, lambda: written(out).total() == 7)
    stop(client)
    assert more <= written(out)


SINK_STEPS = [f"postgres.{step}:2:raise" for step in ("decided", "marked", "written", "committed")]


def to_table(
    env: StreamExecutionEnvironment, db: Database, slot: str, *, bounded: bool
) -> JobClient:
    """Start a job that keeps how many orders there are of each key, in a table, and every count in another."""
    records = env.from_source(source(db, slot, bounded=bounded), NO_TIME, "orders").uid("orders")
    counts = records.flat_map(keys).key_by(lambda one: one[0]).sum(1).uid("counts")
    for table, key in (("totals", "key"), ("history", "")):
        sink = PostgresSink.builder().set_dsn(f"{db.dsn} password={SECRET}").set_table(table)
        sink.set_columns("key", "n")
        if key:
            sink.set_upsert_keys(key)
        counts.sink_to(sink.build()).uid(table)
    return env.execute_async("orders")


@pytest.mark.parametrize("mode", ["batch", "streaming", "mixed"])
def test_totals_of_a_table_are_in_another_once_whatever_fails(
    environment: Environment, tmp_path: Path, table: Database, failures: Failures, mode: str
) -> None:
    slot, bounded = table.slot(), mode == "batch"
    table.run("create table totals (key text primary key, n bigint)")
    table.run("create table history (key text, n bigint)")
    add(table, 0, 50)
    places = [each.replace(":2:", ":1:") for each in SINK_STEPS] if bounded else SINK_STEPS
    settings = SMALL | failures.at(*places)
    client = to_table(environment(mode, **settings), table, slot, bounded=bounded)
    if bounded:
        client.get_job_execution_result().result()
        failures.check_all_happened()
        assert totals_in(table) == totals(50)
        return
    wait_for(client, lambda: totals_in(table) == totals(50))
    for first in range(50, 100, 10):
        add(table, first, first + 10)
        wait_for(client, lambda: totals_in(table) == totals(first + 10))  # noqa: B023
    failures.check_all_happened()
    stop(client)
    add(table, 100, 120)
    client = to_table(environment(mode, **SMALL), table, slot, bounded=False)
    wait_for(client, lambda: totals_in(table) == totals(120))
    stop(client)
    history = Counter(table.run("select key, n from history"))
    assert set(history.values()) == {1}
    if mode == "streaming":
        assert history == Counter((f"k{n % 5}", n // 5 + 1) for n in range(120))
    assert files_with_the_secret(tmp_path / "job") == []


def totals_in(db: Database) -> dict[str, int]:
    return dict(db.run("select key, n from totals"))


def test_a_first_start_that_is_refused_leaves_no_mark(
    environment: Environment, tmp_path: Path, postgres: Database
) -> None:
    postgres.run("create table totals (key text primary key, n bigint)")
    env = environment("batch")
    rows = env.from_source(FileSource.csv(tmp_path / "nowhere", ROW), NO_TIME, "rows").uid("rows")
    sink = PostgresSink.builder().set_dsn(postgres.dsn).set_table("totals")
    rows.sink_to(sink.set_columns("key", "n").build()).uid("totals")
    with pytest.raises(SourceError, match="there is no"):
        env.execute()
    assert not (tmp_path / "job" / "job.json").exists()
    assert postgres.run("select * from penstock.epochs") == []
