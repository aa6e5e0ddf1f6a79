"""Rows are in the table once, whatever is repeated, and what cannot be written is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from penstock import failpoint
from penstock.common import Row, RowKind
from penstock.connectors.postgres import client, postgres_sink, staged_rows
from penstock.connectors.postgres.staged_rows import TableWrites
from penstock.datastream.connectors import DeliveryGuarantee
from penstock.datastream.connectors.postgres import PostgresSink
from penstock.errors import ArgumentError, JobFailedError, JobFencedError, SinkError
from penstock.graph.endpoints import Committer
from tests.connectors.conftest import MakeContext
from tests.postgres_server import Database

TABLE = "create table t (k int primary key, v text)"
SECRET = "s3cr3t-and-long"  # noqa: S105 - of nobody


class Job:
    """A sink with its committer, and what a job does with them."""

    def __init__(self, sink: PostgresSink, make_context: MakeContext) -> None:
        self.sink = sink
        self._make_context = make_context
        self.committer: Committer = self.started()

    def started(self) -> Committer:
        """Return the committer of a new driver."""
        return self.sink.create_committer(self._make_context())

    def stage(self, *tasks: list[Any]) -> list[Any]:
        """Return the committables of tasks, in the wrong order."""
        staged = []
        for number, rows in enumerate(tasks):
            writer = self.sink.create_writer(self._make_context(subtask=number))
            for row in rows:
                writer.write([row])
            staged += writer.prepare_commit()
        return staged[::-1]


@pytest.fixture
def job(postgres: Database, make_context: MakeContext) -> Iterator[Callable[..., Job]]:
    made: list[Job] = []

    def make(keys: str = "", guarantee: Any = None, columns: str = "k v") -> Job:
        builder = PostgresSink.builder().set_dsn(f"{postgres.dsn} password={SECRET}").set_table("t")
        builder.set_columns(*columns.split())
        if keys:
            builder.set_upsert_keys(*keys.split())
        if guarantee is not None:
            builder.set_delivery_guarantee(guarantee)
        made.append(Job(builder.build(), make_context))
        return made[-1]

    yield make
    for each in made:
        each.committer.close()


def rows(db: Database) -> list[Any]:
    return db.run("select * from t order by k")


def stages(db: Database) -> list[Any]:
    return db.run("select relname from pg_class where relname like 'stage%' and relkind = 'r'")


def test_an_epoch_is_appended_once(postgres: Database, job: Callable[..., Job]) -> None:
    postgres.run(TABLE)
    made = job()
    made.committer.recover()
    staged = made.stage([(2, "b"), (1, "a")], [], [Row(v="c", k=3), {"k": 4}])
    assert rows(postgres) == []
    assert len(stages(postgres)) == 2
    made.committer.commit("e1", staged)
    made.committer.commit("e1", staged)
    made.committer.commit("e1", made.stage([(1, "computed again")]))
    made.committer.commit("e2", [])
    assert rows(postgres) == [(1, "a"), (2, "b"), (3, "c"), (4, None)]
    assert stages(postgres) == []


def test_the_newest_row_of_a_key_is_written(postgres: Database, job: Callable[..., Job]) -> None:
    postgres.run(TABLE, "insert into t values (1, 'old'), (2, 'old'), (9, 'old')")
    made = job("k")
    made.committer.recover()
    gone, before = (
        Row.of_kind(RowKind.DELETE, 2, None),
        Row.of_kind(RowKind.UPDATE_BEFORE, 9, "old"),
    )
    again = Row.of_kind(RowKind.DELETE, 3, None)
    tasks = [(1, "a"), (1, "b"), (2, "x"), gone, before], [again, (3, "c"), (4, "d")]
    made.committer.commit("e1", made.stage(*tasks))
    assert rows(postgres) == [(1, "b"), (3, "c"), (4, "d"), (9, "old")]


def test_a_table_of_keys_only(postgres: Database, job: Callable[..., Job]) -> None:
    postgres.run("create table t (k int, l int, unique (k, l))")
    made = job("k l", columns="k l")
    made.committer.recover()
    for epoch in ("e1", "e2"):
        made.committer.commit(epoch, made.stage([(1, 1), (1, 2), (1, 1)]))
    assert postgres.run("select * from t order by k, l") == [(1, 1), (1, 2)]


def test_values_of_every_kind(postgres: Database, job: Callable[..., Job]) -> None:
    kinds = [
        "numeric(9",
        "2)",
        "timestamptz",
        "bytea",
        "jsonb",
        "int[]",
        "boolean",
        "double precision",
    ]
    kinds[0:2] = ["numeric(9, 2)"]
    values = [
        Decimal("1.50"),
        datetime(2026, 1, 2, tzinfo=UTC),
        b"\0\xff",
        {"a": [1]},
        [1, None],
        True,
        0.1,
    ]
    columns = [f"c{n}" for n in range(len(values))]
    kinds = [
        "numeric(9, 2)",
        "timestamptz",
        "bytea",
        "jsonb",
        "int[]",
        "boolean",
        "double precision",
    ]
    declared = ", ".join(f"{c} {kind}" for c, kind in zip(columns, kinds, strict=True))
    postgres.run(f"create table t ({declared})")
    made = job(columns=" ".join(columns))
    made.committer.recover()
    made.committer.commit("e1", made.stage([tuple(values), tuple([None] * len(values))]))
    assert postgres.run("select * from t") == [tuple(values), tuple([None] * len(values))]


STEPS = ["decided", "marked", "written", "committed"]


@pytest.mark.parametrize("keys", ["", "k"])
@pytest.mark.parametrize("step", STEPS)
def test_a_driver_that_ends_within_a_commit(
    postgres: Database,
    job: Callable[..., Job],
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    keys: str,
) -> None:
    postgres.run(TABLE)
    made = job(keys)
    made.committer.recover()
    made.committer.commit("e1", made.stage([(1, "a")]))
    staged = made.stage([(2, "b")], [(3, "c")])
    failpoint.count_anew()
    monkeypatch.setenv("PENSTOCK_FAILPOINT", f"postgres.{step}:1:raise")
    with pytest.raises(JobFailedError):
        made.committer.commit("e2", staged)
    made.committer.close()
    monkeypatch.delenv("PENSTOCK_FAILPOINT")
    assert len(rows(postgres)) == (3 if step == "committed" else 1)
    made.committer = made.started()
    made.committer.commit("e2", staged)  # as a driver does that finds the epoch recorded
    made.committer.recover()
    made.committer.commit("e3", made.stage([(4, "d")]))
    assert rows(postgres) == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    assert stages(postgres) == []


def test_a_backend_that_is_killed_within_the_transaction(
    postgres: Database, job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.run(TABLE)
    made = job()
    made.committer.recover()
    staged = made.stage([(1, "a")])
    original, kills = TableWrites.commit, iter([True, True, False])

    def killed(self: TableWrites, tables: Any) -> list[Any]:
        ending = ["select pg_terminate_backend(pg_backend_pid())"] if next(kills) else []
        return [*original(self, tables), *ending]

    monkeypatch.setattr(TableWrites, "commit", killed)
    made.committer.commit("e1", staged)
    assert next(kills, None) is None
    assert rows(postgres) == [(1, "a")]
    assert stages(postgres) == []


def test_a_driver_that_was_replaced_writes_nothing(
    postgres: Database, job: Callable[..., Job]
) -> None:
    postgres.run(TABLE)
    made = job()
    made.committer.recover()
    other = made.started()
    other.recover()
    staged = made.stage([(1, "a")])
    with pytest.raises(JobFencedError, match="another driver writes the epochs"):
        made.committer.commit("e1", staged)
    other.commit("e1", staged)
    other.close()
    assert rows(postgres) == [(1, "a")]


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the server end an idle transaction soon."""
    monkeypatch.setattr(postgres_sink, "LIMIT", staged_rows.LIMIT.replace("10s", "200ms"))


@pytest.mark.parametrize("step", ["marked", "written"])
@pytest.mark.usefixtures("soon")
def test_a_driver_that_is_frozen_in_its_transaction_blocks_no_other(
    postgres: Database, job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    postgres.run(TABLE)
    made = job()
    made.committer.recover()
    made.committer.commit("e1", made.stage([(1, "a")]))
    staged = made.stage([(2, "b")])
    other, original = made.started(), failpoint.failpoint

    def frozen(name: str) -> None:
        """Let another driver take over while this one stands still."""
        original(name)
        if name == f"postgres.{step}" and made.committer is not other:
            made.committer = other
            other.commit("e2", staged)

    first = made.committer
    monkeypatch.setattr(postgres_sink, "failpoint", frozen)
    with pytest.raises(JobFencedError, match="another driver writes the epochs"):
        first.commit("e2", staged)
    first.close()
    assert rows(postgres) == [(1, "a"), (2, "b")]
    other.recover()
    assert stages(postgres) == []


@pytest.mark.usefixtures("soon")
def test_a_driver_that_stood_still_commits_by_another_attempt(
    postgres: Database, job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.run(TABLE)
    made = job()
    made.committer.recover()
    open_ones = "select count(*) from pg_stat_activity where state = 'idle in transaction'"
    ended: list[str] = []

    def slow(name: str) -> None:
        if name == "postgres.written" and not ended:
            assert postgres.value(open_ones) == 1
            postgres.wait_for(lambda: postgres.value(open_ones) == 0, "the server ends it")
            ended.append(name)

    monkeypatch.setattr(postgres_sink, "failpoint", slow)
    made.committer.commit("e1", made.stage([(1, "a")]))
    assert ended
    assert rows(postgres) == [(1, "a")]
    assert stages(postgres) == []


def test_what_nobody_commits_is_dropped(postgres: Database, job: Callable[..., Job]) -> None:
    postgres.run(TABLE)
    made = job()
    made.committer.recover()
    made.stage([(1, "a")])
    aborted = made.sink.create_writer(made._make_context())
    aborted.write([(2, "b")])
    aborted.abort()
    assert len(stages(postgres)) == 1
    made.committer.recover()
    assert stages(postgres) == []
    assert rows(postgres) == []


def test_a_mark_that_is_lost(postgres: Database, job: Callable[..., Job]) -> None:
    postgres.run(TABLE)
    made = job()
    made.committer.recover()
    for epoch in ("e1", "e2"):
        made.committer.commit(epoch, made.stage([(len(epoch + epoch[1:]) + int(epoch[1]), "a")]))
    postgres.run("truncate penstock.epochs")
    made.committer.close()
    made.committer = made.started()
    with pytest.raises(SinkError, match="epoch number 2, and postgres has none"):
        made.committer.recover()


def test_at_least_once_tasks_write(postgres: Database, job: Callable[..., Job]) -> None:
    postgres.run(TABLE)
    made = job("k", DeliveryGuarantee.AT_LEAST_ONCE)
    made.committer.recover()
    for _ in range(2):
        assert made.stage([(1, "a"), (1, "b")], [(2, "c")]) == []
    assert rows(postgres) == [(1, "b"), (2, "c")]
    assert stages(postgres) == []


TABLES = [
    ("select 1", "", "42P01"),
    ("create table t (k int)", "", "42703"),
    ("create table t (k int, v text)", "k", r"has no unique index on the keys \(k\)"),
]


@pytest.mark.parametrize(("made", "keys", "problem"), TABLES)
def test_a_table_that_cannot_be_written(
    postgres: Database, job: Callable[..., Job], made: str, keys: str, problem: str
) -> None:
    postgres.run(made)
    sink = job(keys)
    with pytest.raises(SinkError, match=problem) as error:
        sink.committer.recover()
    assert SECRET not in f"{error.value} {sink.sink!r} {sink.sink.describe()}"


RECORDS: list[tuple[Any, str]] = [
    (7, "it is no Row, tuple, list or dict"),
    ((1, "a", 3), "it has 3 values, and 2 columns"),
    (Row.of_kind(RowKind.DELETE, 1, None), "a row of the kind DELETE cannot be appended"),
    (("x", "a"), "invalid input syntax for type integer"),
    ((object(), "a"), "cannot adapt type"),
]


@pytest.mark.parametrize(("record", "problem"), RECORDS, ids=[each[1] for each in RECORDS])
def test_a_record_that_is_no_row_of_the_table(
    postgres: Database, job: Callable[..., Job], record: Any, problem: str
) -> None:
    postgres.run(TABLE)
    made = job()
    made.committer.recover()
    writer = made.sink.create_writer(made._make_context())

    def staged() -> None:
        writer.write([(1, "a"), record])
        writer.prepare_commit()

    with pytest.raises(SinkError) as error:
        staged()
    assert problem in error.value.problem
    writer.abort()
    assert stages(postgres) == []


def test_a_row_that_the_table_refuses(postgres: Database, job: Callable[..., Job]) -> None:
    postgres.run(TABLE, "insert into t values (1, 'there')")
    made = job()
    made.committer.recover()
    with pytest.raises(SinkError, match="23505"):
        made.committer.commit("e1", made.stage([(1, "a")]))
    assert rows(postgres) == [(1, "there")]


def test_names_are_quoted(postgres: Database, make_context: MakeContext) -> None:
    postgres.run("""create table "T%s ""x" ("a b" int primary key, "c;d" text)""")
    sink = PostgresSink.builder().set_dsn(postgres.dsn).set_table('T%s "x')
    made = Job(sink.set_columns("a b", "c;d").set_upsert_keys("a b").build(), make_context)
    made.committer.recover()
    made.committer.commit("e1", made.stage([(1, "a")]))
    made.committer.close()
    assert postgres.run("""select * from "T%s ""x" """) == [(1, "a")]


def test_a_server_that_is_not_there(
    make_context: MakeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client.patiently, "__defaults__", (0.1,))
    sink = PostgresSink.builder().set_dsn(f"host=127.0.0.1 port=1 password={SECRET}").set_table("t")
    made = sink.set_columns("k").build()
    with pytest.raises(SinkError, match="cannot prepare table") as error:
        made.create_committer(make_context()).recover()
    assert SECRET not in str(error.value)


BUILDERS: list[tuple[Callable[[Any], Any], str]] = [
    (lambda b: b.set_table(""), "the table is"),
    (lambda b: b.set_columns(), "the columns are"),
    (lambda b: b.set_columns("a", "a"), "the columns are"),
    (lambda b: b.set_upsert_keys(7), "the keys are"),
    (lambda b: b.set_delivery_guarantee(DeliveryGuarantee.NONE), "set_delivery_guarantee got"),
    (lambda b: b.build(), "lacks the database"),
    (lambda b: b.set_dsn("dbname=x").build(), "lacks its table"),
    (lambda b: b.set_dsn("dbname=x").set_table("t").build(), "lacks its columns"),
    (
        lambda b: (
            b.set_dsn("dbname=x").set_table("t").set_columns("a").set_upsert_keys("b").build()
        ),
        "are not all among the columns",
    ),
]


@pytest.mark.parametrize(("call", "problem"), BUILDERS, ids=[each[1] for each in BUILDERS])
def test_what_a_builder_refuses(call: Callable[[Any], Any], problem: str) -> None:
    with pytest.raises(ArgumentError) as error:
        call(PostgresSink.builder())
    assert problem in error.value.problem
    assert error.value.origin is not None
    assert error.value.origin.filename == __file__


CONSTRAINED = """create table t (k int primary key, v smallint not null check (v > 0), s varchar(3),
    w int, constraint small check (w is null or w < k), at timestamp, j jsonb, extra int not null default 7)"""
REFUSED: list[tuple[Any, tuple[str, ...]]] = [
    ((1, None, "a", 0), ("23514", "not null")),
    ((1, -1, "a", 0), ("23514", "t_v_check", "-1")),
    ((1, 1, "a", 2), ("23514", "small")),
    ((1, 40_000, "a", 0), ("22003", "line 2")),
    ((1, 1, "long text", 0), ("22001", "line 2")),
    ((1, 1, "a\0", 0), ("cannot write (1, 1, 'a\\x00', 0)", "NUL")),
    ((1, 1, object(), 0), ("cannot adapt",)),
    ((None, 1, "a", 0), ("its key 'k' is None",)),
]


def refused(job: Job, *records: Any) -> Any:
    writer = job.sink.create_writer(job._make_context())

    def staged() -> None:
        writer.write([*records])
        writer.prepare_commit()

    with pytest.raises(SinkError) as error:
        staged()
    writer.abort()
    assert error.value.is_permanent
    return error


@pytest.mark.parametrize(("record", "words"), REFUSED)
def test_a_row_that_a_constraint_refuses_fails_its_task(
    postgres: Database, job: Callable[..., Job], record: Any, words: tuple[str, ...]
) -> None:
    postgres.run(CONSTRAINED)
    made = job("k", columns="k v s w")
    made.committer.recover()
    error = refused(made, (9, 1, "a", 0), record)
    assert "server is up" not in error.value.hint
    for each in words:
        assert each in error.value.problem
    made.committer.commit("e1", made.stage([(2, 1, "a", 0)]))
    deleted = Row.of_kind(RowKind.DELETE, 2, None, None, None)
    made.committer.commit("e2", made.stage([deleted]))
    assert rows(postgres) == []


def test_a_trigger_may_still_change_a_row(postgres: Database, job: Callable[..., Job]) -> None:
    postgres.run("create table t (k int, v text not null)")
    postgres.run(
        "create function filled() returns trigger language plpgsql as "
        "$$begin new.v := coalesce(new.v, 'none'); return new; end$$",
        "create trigger fills before insert on t for each row execute function filled()",
    )
    made = job()
    made.committer.recover()
    made.committer.commit("e1", made.stage([(1, None)]))
    assert rows(postgres) == [(1, "none")]


FIVE = timezone(timedelta(hours=5))
NOON = datetime(2026, 1, 1, 3, tzinfo=FIVE)
NAIVE = NOON.replace(tzinfo=None)
WRITTEN: list[tuple[str, list[Any]]] = [
    ("timestamp", [NOON, NAIVE, None]),
    ("timestamptz", [NOON, NAIVE]),
    ("date", [NOON, date(2026, 1, 2)]),
    (
        "text",
        [
            "a",
            True,
            NOON,
            1.0,
            1.5,
            1e22,
            float("nan"),
            float("-inf"),
            7,
            Decimal("1.50"),
            "",
            None,
        ],
    ),
    ("numeric(10, 2)", [Decimal("1.5"), 7, None]),
    ("int[]", [[1, None, 2], []]),
    ("bytea", [b"\0\xff", b""]),
]


@pytest.mark.parametrize(("kind", "values"), WRITTEN, ids=[each[0] for each in WRITTEN])
def test_values_are_those_of_an_insert(
    postgres: Database, job: Callable[..., Job], kind: str, values: list[Any]
) -> None:
    postgres.run(f"create table t (k int, v {kind})", f"create table u (k int, v {kind})")
    made = job()
    made.committer.recover()
    made.committer.commit("e1", made.stage([*enumerate(values)]))
    with postgres.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        for row in enumerate(values):
            connection.execute("insert into u values (%s, %s)", row)
    written = "select k, v::text from {} order by k"
    assert postgres.run(written.format("t")) == postgres.run(written.format("u"))


@pytest.mark.parametrize("kind", ["json", "jsonb"])
def test_lists_and_dicts_become_json(
    postgres: Database, job: Callable[..., Job], kind: str
) -> None:
    postgres.run(f"create table t (k int, v {kind})")
    made = job()
    made.committer.recover()
    values = [[1, "a", None], {"a": [1]}, [], True, 7, None]
    made.committer.commit("e1", made.stage([*enumerate(values)]))
    assert rows(postgres) == [*enumerate(values)]
    assert "its value of column 'v'" in refused(made, (1, [object()])).value.problem


def test_a_row_that_is_there_is_told_with_what_to_do(
    postgres: Database, job: Callable[..., Job]
) -> None:
    postgres.run("create table t (k int primary key, v text)", "insert into t values (1, 'there')")
    made = job()
    made.committer.recover()
    with pytest.raises(SinkError, match="23505") as error:
        made.committer.commit("e1", made.stage([(1, "a")]))
    assert error.value.is_permanent
    assert "set_upsert_keys" in error.value.hint
