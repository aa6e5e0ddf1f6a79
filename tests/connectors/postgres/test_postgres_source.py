"""Reads tables and their changes, compared with what the tables are in the end."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest

from penstock.common import Row, RowKind, Types, WatermarkStrategy
from penstock.connectors.postgres import capture, changes
from penstock.connectors.postgres.values import text_of
from penstock.datastream.connectors.postgres import Change, PostgresSource
from penstock.errors import SourceError
from penstock.testing import Schedule, check_log_source, run_in_process
from tests.postgres_server import Database
from tests.runtime.jobs import BATCH, MIXED, STREAMING, job

NO_TIME = WatermarkStrategy.no_watermarks()
TABLE = "create table t (id int primary key, v bigint not null, s text)"


def builder(db: Database, *tables: str) -> Any:
    made = PostgresSource.builder().set_dsn(db.dsn).set_tables(*(tables or ("t",)))
    return made.set_slot(db.slot())


def source(db: Database, *tables: str) -> PostgresSource:
    made: PostgresSource = builder(db, *tables).build()
    return made


class Taken:
    """A source whose snapshot is taken, read by hand."""

    def __init__(self, of: PostgresSource, directory: Path) -> None:
        self.source = of
        self.directory = directory
        directory.mkdir(exist_ok=True)
        self.snapshot = of.snapshot(directory)
        ((self.split, self.at),) = self.snapshot.positions.items()

    def rows(self) -> list[Any]:
        """Return the records of the snapshot."""
        found: list[Any] = []
        for name, count in self.snapshot.files.items():
            at = 0
            while at < count:
                batch = self.source.read_snapshot(self.directory / name, at, count)
                found += batch.records
                at = batch.next_position
        return found

    def changes(self, share: float = 1.0) -> list[Any]:
        """Return the records since the last call, of a share of the positions that there are."""
        (split,) = self.source.exact_discover({self.split: self.at})
        end = self.at + round((split.head - self.at) * share)
        found = [
            record
            for _, batch in self.source.batches(split.id, self.at, end)
            for record in batch.records
        ]
        self.at = end
        return found

    def confirm(self) -> None:
        self.source.confirm({self.split: self.at})


@pytest.fixture
def take(tmp_path: Path) -> Callable[[PostgresSource], Taken]:
    return lambda of: Taken(of, tmp_path / "snapshot")


Take = Callable[[PostgresSource], Taken]


def test_rows_that_are_there_come_first_and_changes_follow(postgres: Database, take: Take) -> None:
    postgres.run(TABLE, "insert into t values (1, 10, 'a'), (2, 20, null), (3, 30, '')")
    taken = take(source(postgres))
    rows = taken.rows()
    assert [(row.op, row.key, row.after) for row in rows] == [
        (RowKind.INSERT, (1,), {"id": 1, "v": 10, "s": "a"}),
        (RowKind.INSERT, (2,), {"id": 2, "v": 20, "s": None}),
        (RowKind.INSERT, (3,), {"id": 3, "v": 30, "s": ""}),
    ]
    assert abs(rows[0].commit_timestamp - time.time() * 1000) < 60_000
    assert taken.changes() == []
    postgres.run("insert into t values (4, 40, 'd')", "update t set v = 11 where id = 1")
    postgres.run("update t set id = 5 where id = 2", "delete from t where id = 3")
    found = taken.changes()
    assert [tuple(change[:4]) for change in found] == [
        (RowKind.INSERT, (4,), None, {"id": 4, "v": 40, "s": "d"}),
        (RowKind.UPDATE_AFTER, (1,), None, {"id": 1, "v": 11, "s": "a"}),
        (RowKind.UPDATE_AFTER, (5,), {"id": 2}, {"id": 5, "v": 20, "s": None}),
        (RowKind.DELETE, (3,), {"id": 3}, None),
    ]
    assert [change.previous_key for change in found] == [None, None, (2,), None]
    assert {change.table for change in found} == {"public.t"}
    positions = [change.commit_lsn for change in found]
    assert positions == sorted(set(positions))


class Writers:
    """Clients that change a table as long as a test wants."""

    def __init__(self, db: Database, count: int, keys: int) -> None:
        self._db = db
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._write, args=(db, seed, keys)) for seed in range(count)
        ]
        self.commits = 0

    def wait_for(self, commits: int) -> None:
        self._db.wait_for(lambda: self.commits > commits, "nobody writes")

    @contextmanager
    def writing(self) -> Iterator[None]:
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in self._threads:
                thread.join()

    def _write(self, db: Database, seed: int, keys: int) -> None:
        chance = random.Random(seed)  # noqa: S311
        with psycopg.connect(db.dsn) as connection:
            while not self._stop.is_set():
                try:
                    for _ in range(chance.randint(1, 5)):
                        connection.execute(_some_change(chance, keys))
                    if chance.random() < 0.1:
                        connection.rollback()
                    else:
                        connection.commit()
                        self.commits += 1
                except (psycopg.errors.DeadlockDetected, psycopg.errors.UniqueViolation):
                    connection.rollback()


def _some_change(chance: random.Random, keys: int) -> Any:
    key, what = chance.randint(1, keys), chance.random()
    if what < 0.6:
        return (
            f"insert into t values ({key}, {key}, 'n') on conflict (id) do update set v = t.v + 1"
        )
    if what < 0.75:
        return f"delete from t where id = {key}"
    if what < 0.85:
        return f"update t set id = {key + keys} where id = {key}"
    return f"update t set s = 'u' where id = {key}"


def applied(state: dict[Any, Any], found: list[Change]) -> None:
    """Apply changes to rows by key, and refuse one that cannot be."""
    for change in found:
        if change.previous_key is not None:
            del state[change.previous_key]
        if change.op is RowKind.DELETE:
            del state[change.key]
        else:
            assert (change.op is RowKind.INSERT) == (
                change.key not in state and change.previous_key is None
            )
            assert change.after is not None
            state[change.key] = tuple(change.after.values())


def test_snapshot_and_changes_are_the_table_whoever_writes(
    postgres: Database, take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture, "_RANGE_PAGES", 3)
    monkeypatch.setattr(changes, "_MOST_MESSAGES", 50)
    filler = "insert into t select i, i, repeat('x', 50) from generate_series(1, 5000) i"
    postgres.run(TABLE, filler)
    writers = Writers(postgres, 3, 6_000)
    with writers.writing():
        writers.wait_for(20)
        taken = take(source(postgres))
        at_snapshot = writers.commits
        state: dict[Any, Any] = {}
        applied(state, taken.rows())
        for round_ in range(20):
            writers.wait_for(at_snapshot + 8)
            at_snapshot = writers.commits
            begin = taken.at
            found = taken.changes(1.0 if round_ % 4 == 0 else 0.9)
            end, taken.at = taken.at, begin
            again = [
                record
                for _, batch in taken.source.batches(taken.source.slot, begin, end)
                for record in batch.records
            ]
            assert found == again
            taken.at = end
            applied(state, found)
            if chance_of(end):
                taken.confirm()
    applied(state, taken.changes())
    assert state == {(row[0],): row for row in postgres.run("select id, v, s from t")}
    assert len(taken.snapshot.files) > 5


def chance_of(position: int) -> bool:
    """Return whether to confirm here: not always, so that ranges begin behind what is confirmed."""
    return position % 3 != 0


VALUES = {
    "boolean": ["true", "false"],
    "smallint": ["-7"],
    "bigint": ["9223372036854775807"],
    "real": ["1.5"],
    "double precision": ["0.1", "'NaN'"],
    "numeric(20, 3)": ["12345678901234567.890"],
    "text": ["'a,b\"c'", "E'two\\nlines\\r\\n'", "'\\N'", "' '", "'ünï€'", "''"],
    "varchar(5)": ["'x'"],
    "bytea": ["'\\x00ff0a'"],
    "date": ["'2026-02-28'"],
    "time": ["'12:34:56.789'"],
    "timestamp": ["'2026-02-28 12:34:56.789012'"],
    "timestamptz": ["'2026-02-28 12:34:56+05'"],
    "interval": ["'1 day 02:03:04'"],
    "uuid": ["'6ba7b810-9dad-11d1-80b4-00c04fd430c8'"],
    "jsonb": ["'{\"a\": [1, null]}'"],
    "int[]": ["'{1,NULL,3}'"],
    "text[]": ["'{a,\"b c\"}'"],
    "color": ["'red'"],
    "positive": ["7"],
}


def test_values_are_those_of_a_query_captured_or_changed(postgres: Database, take: Take) -> None:
    postgres.run(
        "create type color as enum ('red', 'green')",
        "create domain positive as int check (value > 0)",
    )
    columns = ", ".join(f"c{n} {kind}" for n, kind in enumerate(VALUES))
    postgres.run(f"create table t (id serial primary key, {columns})")
    most = max(map(len, VALUES.values()))
    for number in range(most):
        row = ", ".join(each[number % len(each)] for each in VALUES.values())
        postgres.run(f"insert into t values (default, {row})")
    postgres.run("insert into t (id) values (default)")
    taken = take(source(postgres))
    captured = [change.after for change in taken.rows()]
    postgres.run("update t set id = id + 100")
    changed = [change.after | {"id": change.after["id"] - 100} for change in taken.changes()]
    with postgres.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        cursor = connection.execute("select * from t order by id")
        names = [each.name for each in cursor.description]
        asked = [
            dict(zip(names, row, strict=True)) | {"id": row[0] - 100} for row in cursor.fetchall()
        ]
    assert repr(sorted(captured, key=_id)) == repr(asked) == repr(sorted(changed, key=_id))
    assert isinstance(captured[0]["c5"], Decimal)


def _id(row: dict[str, Any]) -> int:
    number: int = row["id"]
    return number


def test_a_table_of_one_column_with_nulls_and_empty_texts(postgres: Database, take: Take) -> None:
    postgres.run("create table t (s text)", "alter table t replica identity full")
    postgres.run("insert into t values (null), (''), ('x'), (null)")
    rows = take(source(postgres)).rows()
    assert [row.after["s"] for row in rows] == [None, "", "x", None]
    assert [row.key for row in rows] == [(None,), ("",), ("x",), (None,)]


def test_full_identity_tells_the_row_before_and_large_values(
    postgres: Database, take: Take
) -> None:
    large = "".join(f"{number:07d}" for number in range(3_000))
    for identity in ("default", "full"):
        postgres.run("drop table if exists t", TABLE, f"alter table t replica identity {identity}")
        postgres.run("alter table t alter s set storage external")
        postgres.run(f"insert into t values (1, 1, '{large}')")
        taken = take(source(postgres))
        assert taken.rows()[0].after["s"] == large
        postgres.run("update t set v = 2")
        (change,) = taken.changes()
        assert change.key == (1,)
        if identity == "full":
            assert change.before == {"id": 1, "v": 1, "s": large}
            assert change.after == {"id": 1, "v": 2, "s": large}
        else:
            assert change.before is None
            assert change.after == {"id": 1, "v": 2}
        taken.source.drop()
        (taken.directory / "attempt").unlink()


ROW = Types.ROW_NAMED(["id", "v"], [Types.INT(), Types.LONG()])


def test_a_range_may_end_within_the_record_of_a_commit(postgres: Database, take: Take) -> None:
    """The server skips commits that begin before what was confirmed, also those that end behind it."""
    postgres.run(TABLE, "insert into t values (1, 10, 'a'), (2, 20, 'b')")
    taken = take(source(postgres))
    postgres.run("update t set v = 11 where id = 1", "insert into t values (3, 30, 'c')")
    postgres.run("delete from t where id = 2")
    (split,) = taken.source.exact_discover({taken.split: taken.at})
    found: list[tuple[RowKind, tuple[Any, ...]]] = []
    for end in (*range(taken.at + 4, split.head, 4), split.head):
        for _, batch in taken.source.batches(split.id, taken.at, end):
            found += [(change.op, change.key) for change in batch.records]
        taken.at = end
        taken.confirm()
    assert found == [
        (RowKind.UPDATE_AFTER, (1,)),
        (RowKind.INSERT, (3,)),
        (RowKind.DELETE, (2,)),
    ]


def test_upserts_are_rows_with_the_kind_of_the_change(postgres: Database, take: Take) -> None:
    postgres.run(TABLE, "insert into t values (1, 10, 'a'), (2, 20, 'b')")
    taken = take(builder(postgres).set_upserts(ROW).build())
    assert taken.rows() == [Row(id=1, v=10), Row(id=2, v=20)]
    postgres.run("update t set v = 11 where id = 1", "update t set id = 3 where id = 2")
    postgres.run("delete from t where id = 1")
    assert [(row.get_row_kind(), row.id, row.v) for row in taken.changes()] == [
        (RowKind.UPDATE_AFTER, 1, 11),
        (RowKind.DELETE, 2, None),
        (RowKind.UPDATE_AFTER, 3, 20),
        (RowKind.DELETE, 1, None),
    ]
    postgres.run("alter table t rename v to w", "insert into t values (9, 9, '')")
    with pytest.raises(SourceError, match="does not have column 'v': the table has id, w, s"):
        taken.changes()


def test_columns_that_are_added_are_in_later_changes(postgres: Database, take: Take) -> None:
    postgres.run(TABLE)
    taken = take(source(postgres))
    with psycopg.connect(postgres.dsn) as connection:
        connection.execute("insert into t values (1, 1, 'a')")
        connection.execute("alter table t add x int default 7, drop s")
        connection.execute("insert into t values (2, 2)")
    assert [change.after for change in taken.changes()] == [
        {"id": 1, "v": 1, "s": "a"},
        {"id": 2, "v": 2, "x": 7},
    ]


def test_a_truncated_table_is_told_or_ignored(postgres: Database, take: Take) -> None:
    postgres.run(TABLE, "create table other (id int primary key)", "insert into t values (1, 1)")
    taken = take(source(postgres))
    postgres.run("truncate other", "insert into t values (2, 2)")
    assert len(taken.changes()) == 1
    postgres.run("truncate t, other", "insert into t values (3, 3)")
    with pytest.raises(SourceError, match=r"table public.t was truncated \(at "):
        taken.changes()
    made = PostgresSource.builder().set_dsn(postgres.dsn).set_tables("t")
    ignoring = made.set_slot(taken.source.slot).set_truncate_ignored().build()
    found = [
        r
        for _, b in ignoring.batches(taken.source.slot, 0, taken_head(ignoring))
        for r in b.records
    ]
    assert [change.key for change in found] == [(2,), (3,)]


def taken_head(of: PostgresSource) -> int:
    (split,) = of.discover({})
    return split.head


def test_the_kit_finds_nothing_wrong(postgres: Database) -> None:
    postgres.run(TABLE, "insert into t select i, i from generate_series(1, 100) i")
    check_log_source(source(postgres))


@pytest.mark.parametrize("mode", [BATCH, STREAMING, MIXED], ids=["batch", "streaming", "mixed"])
def test_rows_are_read_once_in_every_mode(postgres: Database, mode: dict[str, str]) -> None:
    postgres.run(TABLE, "insert into t select i, i from generate_series(1, 300) i")
    made = PostgresSource.builder().set_dsn(postgres.dsn).set_tables("public.t").set_bounded()
    keys = job(
        mode, made.build(), lambda s: s.map(lambda change: (change.key[0], 0)), strategy=NO_TIME
    )
    seen = run_in_process(keys, Schedule(batch_sizes=(7,))).of("out")
    assert sorted(seen) == [(n, 0) for n in range(1, 301)]
    assert (
        postgres.run(
            "select slot_name from pg_replication_slots where database = current_database()"
        )
        == []
    )


def test_a_publication_of_its_own_says_which_columns_and_rows(
    postgres: Database, take: Take
) -> None:
    postgres.run(TABLE, "insert into t values (1, 10, 'a'), (2, 20, 'b')")
    postgres.run("create publication parts for table t (id, v) where (id > 1)")
    taken = take(builder(postgres).set_publication("parts").build())
    assert [row.after for row in taken.rows()] == [{"id": 2, "v": 20}]
    postgres.run("insert into t values (0, 1, 'x'), (3, 30, 'y')")
    assert [change.after for change in taken.changes()] == [{"id": 3, "v": 30}]
    taken.source.drop()
    assert postgres.value("select count(*) from pg_publication") == 1


def test_names_are_quoted(postgres: Database, take: Take) -> None:
    name = """O"r'd%er.s"""
    postgres.run("""create schema "my Schema" """)
    quoted = name.replace('"', '""')
    postgres.run(
        f"""create table "my Schema"."{quoted}" ("I d" int primary key, "select" text)""",
        f"""insert into "my Schema"."{quoted}" values (1, 'x')""",
    )
    taken = take(source(postgres, f"my Schema.{name}"))
    assert [row.after for row in taken.rows()] == [{"I d": 1, "select": "x"}]
    postgres.run(f"""insert into "my Schema"."{quoted}" values (2, 'y')""")
    assert [change.after for change in taken.changes()] == [{"I d": 2, "select": "y"}]


def test_several_tables_are_one_stream_in_order_of_commits(postgres: Database, take: Take) -> None:
    postgres.run(TABLE, "create table u (id int primary key)", "insert into u values (1)")
    taken = take(source(postgres, "t", "u"))
    assert [row.table for row in taken.rows()] == ["public.u"]
    with psycopg.connect(postgres.dsn) as connection:
        connection.execute("insert into t values (1, 1)")
        connection.execute("insert into u values (2)")
    one, other = taken.changes()
    assert (one.table, other.table) == ("public.t", "public.u")
    assert one.commit_lsn == other.commit_lsn


def test_a_slot_moves_on_although_nothing_of_the_tables_changes(
    postgres: Database, take: Take
) -> None:
    postgres.run(TABLE, "create table other (id int)")
    taken = take(source(postgres))
    before = confirmed(postgres, taken)
    postgres.run("insert into other select generate_series(1, 1000)")
    assert taken.changes() == []
    taken.confirm()
    taken.confirm()
    assert confirmed(postgres, taken) == text_of(taken.at) != before
    taken.source.confirm({taken.source.slot: 1})
    assert confirmed(postgres, taken) == text_of(taken.at)


def confirmed(postgres: Database, taken: Taken) -> Any:
    asked = "select confirmed_flush_lsn from pg_replication_slots where slot_name = "
    return postgres.value(f"{asked}'{taken.source.slot}'")
