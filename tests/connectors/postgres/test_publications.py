"""A publication that was another one for a while, partitions, children, names with dots and open transactions."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

import psycopg
import pytest

from penstock.connectors.postgres import slots
from penstock.datastream.connectors.postgres import PostgresSource
from penstock.errors import ArgumentError, SourceError
from tests.connectors.postgres.test_postgres_source import Taken
from tests.postgres_server import Database

TABLE = "create table t (id int primary key, v bigint)"


def builder(db: Database, *tables: str) -> Any:
    made = PostgresSource.builder().set_dsn(db.dsn).set_tables(*(tables or ("t",)))
    return made.set_slot(db.slot())


@pytest.fixture(autouse=True)
def _always_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "_LOOK_SECONDS", 0.0)


PUT_BACK = [
    (("alter publication p drop table t", "alter publication p add table t"), "taken out"),
    (("drop publication p", "create publication p for table t"), "dropped and made again"),
    (
        (
            "alter publication p set (publish = 'insert')",
            "alter publication p set (publish = 'insert, update, delete, truncate')",
        ),
        "was altered",
    ),
    (
        ("alter table t drop constraint t_pkey", "alter table t add primary key (id, v)"),
        "whose key",
    ),
]


@pytest.mark.parametrize(("steps", "words"), PUT_BACK, ids=[each[1] for each in PUT_BACK])
def test_a_publication_that_was_put_back_between_two_looks(
    postgres: Database, tmp_path: Path, steps: tuple[str, str], words: str
) -> None:
    postgres.run(TABLE, "create publication p for table t")
    made = builder(postgres).set_publication("p")
    taken = Taken(made.build(), tmp_path / "s")
    postgres.run("insert into t values (1, 1)")
    assert len(taken.changes()) == 1
    postgres.run(steps[0], "insert into t values (2, 2)", steps[1])
    with pytest.raises(SourceError, match=words) as error:
        taken.changes()
    assert error.value.is_permanent
    assert "never read" in error.value.problem
    if words == "whose key":
        return  # what came without a key cannot be accepted
    text = error.value.hint.partition("accepted('")[2].partition("'")[0]
    taken.source = made.set_publication_accepted(text).build()
    postgres.run("insert into t values (3, 3)")
    assert [change.key[0] for change in taken.changes()][-1] == 3


KINDS = ["insert", "update", "delete", "truncate"]


@pytest.mark.parametrize("lacking", KINDS)
def test_a_publication_without_a_kind_of_changes(
    postgres: Database, tmp_path: Path, lacking: str
) -> None:
    others = [kind for kind in KINDS if kind != lacking]
    has = ", ".join(others)
    postgres.run(TABLE, f"create publication p for table t with (publish = '{has}')")
    made = builder(postgres).set_publication("p")
    with pytest.raises(SourceError, match=f"does not have {lacking}, so such changes") as error:
        Taken(made.build(), tmp_path / "s")
    assert "set_publish" in error.value.hint
    assert (
        postgres.value(
            "select count(*) from pg_replication_slots where database = current_database()"
        )
        == 0
    )
    Taken(made.set_publish(*others).build(), tmp_path / "t")


def test_kinds_of_changes_of_its_own_publication(postgres: Database, tmp_path: Path) -> None:
    postgres.run(TABLE)
    made = builder(postgres)
    taken = Taken(made.set_publish("insert", "delete").build(), tmp_path / "s")
    postgres.run("insert into t values (1, 1)", "update t set v = 2", "delete from t")
    assert [change.op.name for change in taken.changes()] == ["INSERT", "DELETE"]
    with pytest.raises(ArgumentError, match="kinds of changes"):
        made.set_publish("upsert")


def test_children_of_a_table_are_not_read(postgres: Database, tmp_path: Path) -> None:
    postgres.run(TABLE, "create table child (primary key (id)) inherits (t)")
    taken = Taken(builder(postgres).build(), tmp_path / "s")
    postgres.run("insert into child values (1, 1)", "insert into t values (2, 2)")
    assert [(change.table, change.key) for change in taken.changes()] == [("public.t", (2,))]


@pytest.mark.parametrize("is_own", [True, False])
def test_a_partitioned_table_with_partitions_that_come_later(
    postgres: Database, tmp_path: Path, is_own: bool
) -> None:
    postgres.run(
        "create table t (id int primary key, v bigint) partition by range (id)",
        "create table a partition of t for values from (0) to (10)",
        "create table b partition of t for values from (10) to (20) partition by range (id)",
        "create table b1 partition of b for values from (10) to (20)",
        "insert into t values (1, 1), (11, 11)",
    )
    made = builder(postgres)
    if not is_own:
        postgres.run("create publication p for table t")
        with pytest.raises(SourceError, match="as those of partitions"):
            Taken(made.set_publication("p").build(), tmp_path / "refused")
        postgres.run("alter publication p set (publish_via_partition_root = true)")
    taken = Taken(made.build(), tmp_path / "s")
    assert sorted(change.key for change in taken.rows()) == [(1,), (11,)]
    postgres.run("create table c partition of t for values from (20) to (30)")
    postgres.run("insert into t values (2, 2), (21, 21)", "update t set v = 0 where id = 11")
    postgres.run("delete from t where id = 1")
    found = [(change.op.name, change.key, change.table) for change in taken.changes()]
    assert sorted(found) == [
        ("DELETE", (1,), "public.t"),
        ("INSERT", (2,), "public.t"),
        ("INSERT", (21,), "public.t"),
        ("UPDATE_AFTER", (11,), "public.t"),
    ]


def test_a_table_that_was_renamed_and_renamed_back_misses_nothing(
    postgres: Database, tmp_path: Path
) -> None:
    postgres.run(TABLE, "create publication p for table t")
    taken = Taken(builder(postgres).set_publication("p").build(), tmp_path / "s")
    postgres.run("alter table t rename to u", "insert into u values (1, 1)")
    postgres.run("alter table u rename to t")
    assert [(change.table, change.key) for change in taken.changes()] == [("public.t", (1,))]


LOST = [
    ("alter table t drop constraint t_pkey", "whose key"),
    ("alter table t replica identity nothing", "replica identity or primary key"),
]


@pytest.mark.parametrize(("step", "words"), LOST)
def test_a_key_that_is_taken_away_while_it_runs(
    postgres: Database, tmp_path: Path, step: str, words: str
) -> None:
    postgres.run(TABLE)
    taken = Taken(builder(postgres).build(), tmp_path / "s")
    postgres.run(step, "insert into t values (1, 1)")
    with pytest.raises(SourceError, match=words) as error:
        taken.changes()
    assert error.value.is_permanent


def test_names_with_dots(postgres: Database, tmp_path: Path) -> None:
    postgres.run('create schema "a.b"', 'create table "a.b"."c.""d" (id int primary key)')
    taken = Taken(builder(postgres, '"a.b"."c.""d"').build(), tmp_path / "s")
    postgres.run('insert into "a.b"."c.""d" values (7)')
    (change,) = taken.changes()
    assert change.key == (7,)
    assert change.table == '"a.b"."c.""d"'


def test_waiting_for_an_open_transaction_names_it(
    postgres: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(slots, "_WATCH_SECONDS", 0.05)
    postgres.run(TABLE)
    with psycopg.connect(postgres.dsn, application_name="nightly") as other:
        other.execute("insert into t values (1, 1)")
        pid = other.info.backend_pid
        source = builder(postgres).build()
        found: list[Taken] = []
        taking = threading.Thread(target=lambda: found.append(Taken(source, tmp_path / "s")))
        with caplog.at_level(logging.WARNING, "penstock"):
            taking.start()
            postgres.wait_for(lambda: "waits for the end of" in caplog.text, "nobody tells")
        other.commit()
        taking.join()
    assert f"process {pid} (nightly, user " in caplog.text
    assert [change.key for change in found[0].rows()] == [(1,)]
