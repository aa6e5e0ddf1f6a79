"""Tables that are altered while a job reads their changes: what goes on goes on, and the rest is told.

Finds: a change of the schema that leaves rows out, gives a value to another column, or fails the job although the declared
columns are as they were.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.common import RowKind, Types
from penstock.connectors.postgres import slots
from penstock.datastream.connectors.postgres import Change, PostgresSource
from penstock.errors import PenstockError, SourceError, TypeMismatchError
from penstock.testing import Schedule, run_in_process
from tests.connectors.postgres.test_postgres_source import NO_TIME
from tests.postgres_server import Database
from tests.runtime.jobs import STREAMING, job

TABLE = "create table t (id int primary key, v int not null, s text)"
ROW = Types.ROW_NAMED(["id", "v"], [Types.INT(), Types.LONG()])


def rows_of(db: Database, *statements: str) -> list[tuple[Any, ...]]:
    """Return the rows of a job: the statements run while it reads the first row."""
    db.run(TABLE, "insert into t values (1, 10, 'a')")
    source = PostgresSource.builder().set_dsn(db.dsn).set_tables("t").set_slot(db.slot())

    def meanwhile(row: Any) -> tuple[Any, ...]:
        if row.id == 1:
            db.run(*statements)
        return row.id, row.v

    made = job(
        STREAMING, source.set_upserts(ROW).build(), lambda s: s.map(meanwhile), strategy=NO_TIME
    )
    return run_in_process(made, Schedule(batch_sizes=(1 << 30,))).of("out")


GOES_ON = {
    "added": ("alter table t add x int default 7", "insert into t values (2, 20, 'b', 8)"),
    "added with a default": (
        "alter table t add x int not null default 7",
        "insert into t values (2, 20)",
    ),
    "dropped": ("alter table t drop s", "insert into t values (2, 20)"),
    "wider": ("alter table t alter v type bigint", "insert into t values (2, 20)"),
    "renamed, not declared": ("alter table t rename s to other", "insert into t values (2, 20)"),
    "of another type, not declared": (
        "alter table t alter s type int using 7",
        "insert into t values (2, 20, 3)",
    ),
}


@pytest.mark.parametrize("change", GOES_ON)
def test_a_job_goes_on_if_its_columns_are_as_declared(postgres: Database, change: str) -> None:
    assert rows_of(postgres, *GOES_ON[change]) == [(1, 10), (2, 20)]


KEYS = {
    "primary key": ("create table t (id int, v int, s text, primary key (id) include (v))",),
    "index": (
        "create table t (id int not null, v int, s text)",
        "create unique index u on t (id) include (s)",
        "alter table t replica identity using index u",
    ),
    "whole row": (
        "create table t (id int, v int, s text, primary key (id) include (v))",
        "alter table t replica identity full",
    ),
    "several columns": ("create table t (v int, id int, s text, primary key (id, v) include (s))",),
}


@pytest.mark.parametrize("table", KEYS)
def test_a_row_has_the_same_key_captured_and_changed(postgres: Database, table: str) -> None:
    """What a unique index includes besides its columns is not of the key."""
    row = "insert into t (id, v, s) values"
    postgres.run(*KEYS[table], f"{row} (1, 10, 'a')")
    source = (
        PostgresSource.builder().set_dsn(postgres.dsn).set_tables("t").set_slot(postgres.slot())
    )

    def meanwhile(change: Change) -> tuple[Any, ...]:
        if change.commit_lsn and change.after == {"id": 1, "v": 10, "s": "a"}:
            postgres.run(f"{row} (2, 20, 'b')", "delete from t where id = 2")
        return change.op, change.key

    made = job(STREAMING, source.build(), lambda s: s.map(meanwhile), strategy=NO_TIME)
    found = run_in_process(made, Schedule(batch_sizes=(1 << 30,))).of("out")
    one, two = ((10, 1), (20, 2)) if table == "several columns" else ((1,), (2,))
    assert found == [(RowKind.INSERT, one), (RowKind.INSERT, two), (RowKind.DELETE, two)]


def test_a_declared_column_that_is_dropped_is_told(postgres: Database) -> None:
    with pytest.raises(SourceError, match="does not have column 'v': the table has id, s") as told:
        rows_of(postgres, "alter table t drop v", "insert into t (id) values (9)")
    assert "Declare columns that the table has" in told.value.hint


def test_a_declared_column_of_another_type_is_told(postgres: Database) -> None:
    with pytest.raises(PenstockError) as told:
        rows_of(postgres, "alter table t alter v type text", "insert into t values (2, 'x')")
    assert isinstance(told.value, TypeMismatchError)


def test_a_table_that_is_renamed_is_told(
    postgres: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slots, "_LOOK_SECONDS", 1e9)  # the change comes before the next look
    with pytest.raises(SourceError, match=r"table public\.u is in publication") as told:
        rows_of(postgres, "alter table t rename to u", "insert into u values (2, 20)")
    assert "rename" in told.value.hint


NOT_PUBLISHED = {
    "renamed": ("alter table t rename to u",),
    "dropped": ("drop table t",),
    "dropped and made anew": ("drop table t", TABLE, "insert into t values (2, 20)"),
    "taken out": ("alter publication {} drop table t", "insert into t values (2, 20)"),
}


@pytest.mark.parametrize("change", NOT_PUBLISHED)
def test_a_table_whose_changes_do_not_come_any_more_is_told(
    postgres: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setattr(slots, "_LOOK_SECONDS", 0.0)
    postgres.run(TABLE, "create table other (id int primary key)")
    named, slot = PostgresSource.builder().set_dsn(postgres.dsn), postgres.slot()
    source = named.set_tables("t", "other").set_slot(slot).build()
    at = source.snapshot(tmp_path).positions
    source.exact_discover(at)
    postgres.run(*(each.format(slot) for each in NOT_PUBLISHED[change]))
    with pytest.raises(SourceError, match=r"does not have public\.t any more") as told:
        source.exact_discover(at)
    assert "dropped and made anew" in told.value.hint
