"""What cannot be read is told before or while it is read, with what to do about it, and never with a password."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from examples.postgres.server import PostgresServer, program
from penstock import failpoint
from penstock.connectors.postgres import changes, client, postgres_source, slots
from penstock.connectors.postgres.client import PostgresAddress, close_sessions
from penstock.connectors.postgres.deserializing import ChangeFunction
from penstock.datastream.connectors.postgres import Change, PostgresSource
from penstock.errors import ArgumentError, JobFailedError, MissingConnectorError, SourceError
from penstock.types import Types
from penstock.types.row import RowKind
from tests.postgres_server import Database

SECRET = "s3cr3t-and-long"  # noqa: S105 - of nobody
TABLE = "create table t (id int primary key, v bigint)"


def source(db: Database, table: str = "t", slot: str | None = None) -> PostgresSource:
    made = PostgresSource.builder().set_dsn(db.dsn).set_tables(table)
    return made.set_slot(slot or db.slot()).build()


def snapshot(of: PostgresSource, directory: Path) -> Any:
    directory.mkdir(exist_ok=True)
    return of.snapshot(directory)


TABLES = [
    ("select 1", "there is no table public.t", "with its schema"),
    ("create view t as select 1 as id", "public.t is a view", "Pass tables"),
    ("create unlogged table t (id int primary key)", "unlogged", "SET LOGGED"),
    ("create table t (id int)", "has no primary key", "REPLICA IDENTITY FULL"),
    ('create table "T t" (id int)', "has no primary key", 'ALTER TABLE public."T t" REPLICA'),
    (
        "create table t (id int primary key); alter table t replica identity nothing",
        "has REPLICA IDENTITY NOTHING",
        "USING INDEX",
    ),
]


@pytest.mark.parametrize(("made", "problem", "hint"), TABLES, ids=[each[0] for each in TABLES])
def test_a_table_whose_changes_cannot_be_read(
    postgres: Database, tmp_path: Path, made: str, problem: str, hint: str
) -> None:
    postgres.run(*made.split("; "))
    with pytest.raises(SourceError) as error:
        snapshot(source(postgres, "T t" if "T t" in made else "t"), tmp_path / "s")
    assert problem in error.value.problem
    assert hint in error.value.hint
    assert not of_database(postgres)


def of_database(db: Database) -> Any:
    return db.run("select * from pg_replication_slots where database = current_database()")


def test_a_publication_without_the_table(postgres: Database, tmp_path: Path) -> None:
    postgres.run(TABLE, "create table u (id int primary key)", "create publication p for table u")
    made = PostgresSource.builder().set_dsn(postgres.dsn).set_tables("t").set_slot(postgres.slot())
    with pytest.raises(
        SourceError, match=r"publication 'p' does not have table public\.t"
    ) as error:
        snapshot(made.set_publication("p").build(), tmp_path / "s")
    assert "ADD TABLE public.t" in error.value.hint


def test_a_slot_of_somebody_else_is_not_taken(postgres: Database, tmp_path: Path) -> None:
    postgres.run(TABLE)
    one = source(postgres)
    snapshot(one, tmp_path / "one")
    with pytest.raises(SourceError, match="is there already, and this job has not") as error:
        snapshot(one, tmp_path / "two")
    assert slots.drop_hint(one.slot) in error.value.hint
    other = postgres.slot()
    postgres.run(f"select pg_create_logical_replication_slot('{other}', 'test_decoding')") if (
        has_test_decoding(postgres)
    ) else postgres.run(f"select pg_create_physical_replication_slot('{other}')")
    with pytest.raises(SourceError, match=r"not of this source|is gone"):
        source(postgres, slot=other).discover({})
    one.drop()
    one.drop()
    snapshot(one, tmp_path / "two")


def test_a_publication_of_somebody_else_is_not_replaced(postgres: Database, tmp_path: Path) -> None:
    postgres.run(TABLE, "create table u (id int primary key)")
    made = source(postgres)
    postgres.run(f"create publication {made.slot} for table u")
    with pytest.raises(
        SourceError, match=r"publication .* is there already, and this job"
    ) as error:
        snapshot(made, tmp_path / "s")
    assert "set_publication" in error.value.hint
    assert postgres.value("select tablename from pg_publication_tables") == "u"
    assert not of_database(postgres)


@pytest.mark.parametrize("step", ["begun", "published"])
def test_what_somebody_else_makes_meanwhile_stays_theirs(
    postgres: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    postgres.run(TABLE)
    made = source(postgres)

    def meanwhile(place: str) -> None:
        if place == f"postgres.{step}":
            other = source(postgres, slot=made.slot)
            other = replace(other, publication="" if step == "begun" else "p")
            monkeypatch.setattr(postgres_source, "failpoint", lambda _: None)
            snapshot(other, tmp_path / "other")

    postgres.run("create publication p for table t")
    monkeypatch.setattr(postgres_source, "failpoint", meanwhile)
    with pytest.raises(SourceError, match="42710"):
        snapshot(made, tmp_path / "s")
    with pytest.raises(
        SourceError, match=r"slot .* is there already, and this job has not made it"
    ):
        snapshot(made, tmp_path / "s")
    assert [name for name, *_ in of_database(postgres)] == [made.slot]


def has_test_decoding(db: Database) -> bool:
    try:
        db.run("select pg_create_logical_replication_slot('probe', 'test_decoding')")
    except psycopg.Error:
        return False
    db.run("select pg_drop_replication_slot('probe')")
    return True


def test_an_attempt_that_was_cut_off_is_removed_by_the_next(
    postgres: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.run(TABLE, "insert into t values (1, 1)")
    made = source(postgres)
    monkeypatch.setattr(PostgresSource, "_remove", lambda _: None)  # as if it had been killed
    for step in ("begun", "published", "slot-made", "range-captured", "captured"):
        monkeypatch.setenv("PENSTOCK_FAILPOINT", f"postgres.{step}:1:raise")
        failpoint.count_anew()
        with pytest.raises(JobFailedError):
            snapshot(made, tmp_path / "s")
    monkeypatch.delenv("PENSTOCK_FAILPOINT")
    postgres.run("insert into t values (2, 2)")
    assert list(snapshot(made, tmp_path / "s").files.values()) == [2]
    assert len(of_database(postgres)) == 1


def test_an_attempt_that_fails_leaves_nothing(
    postgres: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.run(TABLE, "insert into t values (1, 1)")
    monkeypatch.setenv("PENSTOCK_FAILPOINT", "postgres.range-captured:1:raise")
    failpoint.count_anew()
    with pytest.raises(JobFailedError):
        snapshot(source(postgres), tmp_path / "s")
    assert not of_database(postgres)
    assert postgres.value("select count(*) from pg_publication") == 0


def test_a_slot_that_was_dropped(postgres: Database, tmp_path: Path) -> None:
    postgres.run(TABLE)
    made = source(postgres)
    taken = snapshot(made, tmp_path / "s")
    made.drop()
    at = next(iter(taken.positions.values()))
    calls: list[Callable[[], Any]] = [
        lambda: made.discover({}),
        lambda: made.read(made.slot, at, at + 100),
        lambda: made.confirm({made.slot: at}),
    ]
    for call in calls:
        with pytest.raises(SourceError, match="is gone: it was dropped") as error:
            call()
        assert "new checkpoint directory" in error.value.hint


def test_a_slot_that_somebody_uses(
    postgres: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.run(TABLE)
    made = source(postgres)
    taken = snapshot(made, tmp_path / "s")
    at = next(iter(taken.positions.values()))
    postgres.run("insert into t values (1, 1)")
    monkeypatch.setattr(slots, "_RELEASE_SECONDS", 0.2)
    monkeypatch.setattr(client.patiently, "__defaults__", (0.2,))
    other = psycopg.connect(
        postgres.dsn, replication="database", autocommit=True, application_name="other"
    )
    try:
        options = f"(proto_version '1', publication_names '{made.slot}')"
        other.pgconn.exec_(f"START_REPLICATION SLOT {made.slot} LOGICAL 0/0 {options}".encode())
        with pytest.raises(SourceError, match="is active for PID"):
            made.read(made.slot, at, at + 1000)
        with pytest.raises(SourceError, match=r"is used by process \d+ of the server \(other\)"):
            made.drop()
        with pytest.raises(SourceError, match="is used by process"):
            snapshot(made, tmp_path / "two")
    finally:
        other.close()


class OneMessage:
    """A connection, and its cursor, to a server whose slot gives one message."""

    def __init__(self, message: bytes) -> None:
        self.message = message

    @contextmanager
    def cursor(self, *, binary: bool) -> Iterator[OneMessage]:
        assert binary
        yield self

    def execute(self, statement: str, values: tuple[object, ...]) -> None:
        assert "peek" in statement
        assert values[0] == "slot"

    def __iter__(self) -> Iterator[tuple[bytes]]:
        return iter([(self.message,)])


def test_a_message_that_is_none() -> None:
    address = PostgresAddress.of("dbname=shop")
    connection = OneMessage(b"R\x00\x00")
    reader = changes.ChangeReader(
        connection, address, "slot", "p", {}, ignores_truncate=False, owns_publication=False
    )
    with pytest.raises(SourceError, match="sent data that is no change"):
        reader.read(0, 10)


def test_values_that_python_lacks(postgres: Database, tmp_path: Path) -> None:
    postgres.run("create table t (id int primary key, at date)")
    postgres.run("insert into t values (0, null), (1, '2026-01-01'), (2, 'infinity')")
    made = source(postgres)
    taken = snapshot(made, tmp_path / "s")
    (file,) = taken.files
    with pytest.raises(SourceError, match=r"a value of column 'at' is none in Python: .*infinity"):
        made.read_snapshot(tmp_path / "s" / file, 0, 3)
    postgres.run("insert into t values (3, 'infinity')")
    head = made.discover({})[0].head
    with pytest.raises(SourceError, match="a value of column 'at' is none in Python"):
        made.read(made.slot, next(iter(taken.positions.values())), head)


def test_a_capture_that_begins_anew_is_read_anew(postgres: Database, tmp_path: Path) -> None:
    """A process that has read a file reads the one that another job has put there under the same name."""
    postgres.run(TABLE, "insert into t values (1, 10)")
    found = []
    for value in (10, 20):
        postgres.run(f"update t set v = {value}")
        made = source(postgres)
        (file,) = snapshot(made, tmp_path / "s").files
        found += [
            change.after["v"] for change in made.read_snapshot(tmp_path / "s" / file, 0, 1).records
        ]
        made.drop()
        shutil.rmtree(tmp_path / "s")
    assert found == [10, 20]


def test_a_deserializer_that_fails(postgres: Database, tmp_path: Path) -> None:
    postgres.run(TABLE, "insert into t values (7, 1)")
    made = PostgresSource.builder().set_dsn(postgres.dsn).set_tables("t").set_slot(postgres.slot())
    failing = made.set_deserializer(lambda change: 1 // (change.key[0] - 7)).build()
    taken = snapshot(failing, tmp_path / "s")
    (file,) = taken.files
    with pytest.raises(SourceError, match=r"refuses a change of table public.t with key \(7,\)"):
        failing.read_snapshot(tmp_path / "s" / file, 0, 1)


def test_a_role_without_the_right(postgres: Database, tmp_path: Path) -> None:
    role = f"r_{postgres.name}"
    postgres.run(TABLE, f"create role {role} login", f"grant select on t to {role}")
    try:
        dsn = f"{postgres.dsn} user={role} password={SECRET}"
        made = PostgresSource.builder().set_dsn(dsn).set_tables("t").set_slot(postgres.slot())
        with pytest.raises(SourceError, match="may not make replication slots") as error:
            snapshot(made.build(), tmp_path / "s")
        assert "REPLICATION" in error.value.hint
        once = PostgresSource.builder().set_dsn(dsn).set_tables("t").set_bounded().build()
        snapshot(once, tmp_path / "once")
        for text in (repr(made.build()), str(error.value), made.build().describe()):
            assert SECRET not in text
    finally:
        close_sessions()
        postgres.run(f"drop owned by {role}", f"drop role {role}")


def test_a_server_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client.patiently, "__defaults__", (0.1,))
    dsn = f"host=127.0.0.1 port=1 dbname=shop password={SECRET}"
    made = PostgresSource.builder().set_dsn(dsn).set_tables("t").set_slot("s").build()
    for call in (lambda: snapshot(made, tmp_path / "s"), lambda: made.discover({})):
        with pytest.raises(SourceError, match=r"of shop at 127\.0\.0\.1:1") as error:
            call()
        assert SECRET not in str(error.value)


@pytest.mark.skipif(program() is None, reason="there is no server that can be started")
def test_a_server_that_does_not_write_what_changes_need(tmp_path: Path) -> None:
    server = PostgresServer({"wal_level": "replica"})
    try:
        server.start()
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute(TABLE)
        made = PostgresSource.builder().set_dsn(server.dsn).set_tables("t").set_slot("s")
        with pytest.raises(SourceError, match="wal_level=replica") as error:
            snapshot(made.build(), tmp_path / "s")
        assert "ALTER SYSTEM SET wal_level = logical" in error.value.hint
        close_sessions()
    finally:
        server.remove()


def test_a_server_that_is_too_old(
    postgres: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.run(TABLE)
    monkeypatch.setattr(slots, "LEAST_VERSION", 990_000)
    with pytest.raises(SourceError, match=r"the server is PostgreSQL \d+"):
        snapshot(source(postgres), tmp_path / "s")


BUILDERS: list[tuple[Callable[[Any], Any], str]] = [
    (lambda b: b.set_dsn("host='x password=hidden"), "connection string"),
    (lambda b: b.set_dsn(""), "connection string"),
    (lambda b: b.set_dsn(7), "connection string"),
    (lambda b: b.set_tables(), "the tables are"),
    (lambda b: b.set_tables("t", 7), "the tables are"),
    (lambda b: b.set_slot("With Space"), "the slot is"),
    (lambda b: b.set_publication(""), "the publication is"),
    (lambda b: b.set_deserializer(7), "set_deserializer got 7"),
    (lambda b: b.set_upserts(Types.STRING()), "set_upserts got"),
    (lambda b: b.set_snapshot_connections(0), "connections are 0"),
    (lambda b: b.set_records_per_second(True), "records per second are True"),
    (lambda b: b.build(), "lacks the database"),
    (lambda b: b.set_dsn("dbname=x").build(), "lacks its tables"),
    (lambda b: b.set_dsn("dbname=x").set_tables("t").build(), "name of its replication slot"),
    (
        lambda b: (
            b.set_dsn("dbname=x")
            .set_tables("t", "u")
            .set_slot("s")
            .set_upserts(Types.ROW_NAMED(["id"], [Types.INT()]))
            .build()
        ),
        "upserts are of one table",
    ),
]


@pytest.mark.parametrize(("call", "problem"), BUILDERS, ids=[each[1] for each in BUILDERS])
def test_what_a_builder_refuses(call: Callable[[Any], Any], problem: str) -> None:
    with pytest.raises(ArgumentError) as error:
        call(PostgresSource.builder())
    assert problem in error.value.problem
    assert "hidden" not in str(error.value)
    assert error.value.origin is not None
    assert error.value.origin.filename == __file__


def test_without_the_library_a_builder_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("penstock.extras.find_spec", lambda _: None)
    with pytest.raises(MissingConnectorError, match="psycopg") as error:
        PostgresSource.builder()
    assert "pip install 'psycopg[binary]>=" in error.value.hint


@pytest.mark.parametrize(
    "raised", [StopIteration, GeneratorExit, SystemExit, KeyboardInterrupt, ValueError]
)
def test_whatever_a_deserializer_raises_is_told(raised: type[BaseException]) -> None:
    def failing(_: Change) -> None:
        raise raised

    change = Change(RowKind.INSERT, (7,), None, {"id": 7}, 23_456, 0, "public.t")
    with pytest.raises(SourceError, match=f"refuses a change .*{raised.__name__}") as error:
        ChangeFunction(failing, Types.PICKLED_BYTE_ARRAY()).deserialized([change])
    assert error.value.origin is not None
    assert error.value.origin.function == "failing"
