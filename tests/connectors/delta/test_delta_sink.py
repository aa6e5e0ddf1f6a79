"""The Delta sink without Spark: what readers see after failures at every step of a commit.

Finds: a row lost or doubled by a crash in a commit, a driver that writes after it was replaced, a mark that was lost and
taken for a fresh start, a row of a key that is not the newest, a table that readers cannot read.
"""

from __future__ import annotations

import datetime as dt
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.common import Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import Committer, SinkContext
from penstock.datastream.connectors.delta import DeltaSink, DeltaSource
from penstock.errors import ArgumentError, GraphError, JobFencedError, SinkError
from penstock.types import TypeInformation
from penstock.types.arrow import arrow_schema
from penstock.types.row import Row, RowKind
from tests.connectors.conftest import MakeContext
from tests.connectors.sink_epochs import killed_in_commit, staged, started

deltalake = pytest.importorskip("deltalake")

ROW = Types.ROW_NAMED(["key", "n"], [Types.STRING(), Types.LONG()])
SINKS: dict[str, Callable[[Path], DeltaSink]] = {
    "append": DeltaSink.append,
    "partitioned": lambda path: DeltaSink.append(path, partition_by=["key"]),
    "upsert": lambda path: DeltaSink.upsert(path, keys=["key", "n"]),
}
STEPS = ("delta.decided", "delta.renamed", "delta.committed")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a table"


@pytest.fixture
def context(make_context: MakeContext) -> SinkContext:
    return make_context(ROW)


def named(epoch: str) -> list[tuple[str, int]]:
    return [(f"{epoch}:{n % 2}", n) for n in range(4)]


def rows(path: Path) -> list[tuple[Any, ...]]:
    found = deltalake.DeltaTable(path).to_pyarrow_table().select(["key", "n"]).to_pylist()
    return sorted(tuple(row.values()) for row in found)


def expected(*epochs: str) -> list[tuple[str, int]]:
    return sorted(row for epoch in epochs for row in named(epoch))


@pytest.mark.parametrize("form", SINKS)
def test_an_epoch_is_visible_as_a_whole_and_once(
    path: Path, context: SinkContext, form: str
) -> None:
    sink = SINKS[form](path)
    committer = started(sink, context)
    first = staged(sink, context, *named("1")[:2])
    second = staged(sink, context, *named("1")[2:], subtask=1)
    assert rows(path) == []
    committer.commit("1", [*second, *first])
    assert rows(path) == expected("1")
    version = deltalake.DeltaTable(path).version()
    committer.commit("1", [])
    committer.commit("1", staged(sink, context, *named("other")))
    committer.commit("empty", [])
    assert deltalake.DeltaTable(path).version() == version
    committer.commit("2", staged(sink, context, *named("2")))
    assert rows(path) == expected("1", "2")
    again = started(sink, context)
    again.commit("2", staged(sink, context, *named("2")))
    again.commit("3", staged(sink, context, *named("3")))
    assert rows(path) == expected("1", "2", "3")
    assert deltalake.DeltaTable(path).version() == version + 2
    assert list((path / "_penstock").rglob("*.parquet")) == []


@pytest.mark.parametrize("form", SINKS)
@pytest.mark.parametrize("step", STEPS)
def test_a_driver_that_is_killed_at_a_step_leaves_what_the_next_one_completes(
    path: Path, context: SinkContext, tmp_path: Path, step: str, form: str
) -> None:
    sink = SINKS[form](path)
    step = "delta.read" if form == "upsert" and step == "delta.renamed" else step
    started(sink, context).commit("1", staged(sink, context, *named("1")))
    handles = staged(sink, context, *named("2"))
    next_one = killed_in_commit(sink, context, handles, step, tmp_path)
    assert rows(path) == (expected("1", "2") if step == "delta.committed" else expected("1"))
    next_one.commit("2", handles)  # what a record names is committed before the rest is dropped
    next_one.recover()
    next_one.commit("3", staged(sink, context, *named("3")))
    assert rows(path) == expected("1", "2", "3")


def test_an_epoch_that_was_decided_and_not_written_may_be_another_one(
    path: Path, context: SinkContext
) -> None:
    sink = DeltaSink.append(path)
    committer = started(sink, context)
    committer.commit("1", staged(sink, context, *named("1")))
    handles = staged(sink, context, *named("2"))
    kept = path / "_penstock" / context.job_id / context.sink_id / "staging" / handles[0].name
    kept.unlink()
    with pytest.raises(SinkError):
        committer.commit("2", handles)
    following = started(sink, context)
    following.commit("other", staged(sink, context, *named("other")))
    assert rows(path) == expected("1", "other")


@pytest.mark.parametrize("form", SINKS)
def test_of_two_drivers_one_writes_an_epoch(path: Path, context: SinkContext, form: str) -> None:
    sink = SINKS[form](path)
    started(sink, context).commit("1", staged(sink, context, *named("1")))
    inner: list[Committer] = []

    def meanwhile() -> None:
        if inner:  # the other driver, at the last moment at which this one could be stopped
            inner.pop().commit("2", staged(sink, context, *named("2")))

    late = started(sink, replace(context, may_commit=meanwhile))
    inner.append(sink.create_committer(replace(context, subtask=-1)))
    handles = staged(sink, context, *named("2"))
    with pytest.raises(SinkError, match="cannot commit epoch 2 of sink 'out'"):
        late.commit("2", handles)
    late.commit("2", handles)
    assert rows(path) == expected("1", "2")


def test_a_driver_that_was_replaced_writes_nothing(path: Path, context: SinkContext) -> None:
    def replaced() -> None:
        raise JobFencedError("replaced", hint="Stop.")

    sink = DeltaSink.append(path)
    started(sink, context)
    late = sink.create_committer(replace(context, may_commit=replaced))
    with pytest.raises(JobFencedError):
        late.commit("1", staged(sink, context, *named("1")))
    assert rows(path) == []


def test_a_mark_that_is_lost_or_of_somebody_else_is_told(path: Path, context: SinkContext) -> None:
    sink = DeltaSink.append(path)
    committer = started(sink, context)
    for epoch in "123":
        committer.commit(epoch, staged(sink, context, *named(epoch)))
    record = context.mounted_scratch / "delta" / "s3" / "epoch.json"
    older = record.read_bytes()
    committer.commit("4", staged(sink, context, *named("4")))
    committer.commit("5", staged(sink, context, *named("5")))
    record.write_bytes(older)
    with pytest.raises(SinkError, match="epoch number 3, and delta has 5"):
        started(sink, context)
    shutil.rmtree(path)
    with pytest.raises(SinkError, match="epoch number 3, and delta has none"):
        started(sink, context)
    record.write_bytes(b"{}")
    with pytest.raises(SinkError, match="the record of the last epoch cannot be read"):
        started(sink, context)


def test_the_newest_row_of_a_key_is_there_and_deletions_delete(
    path: Path, context: SinkContext
) -> None:
    sink = DeltaSink.upsert(path, keys=["key"])
    committer = started(sink, context)
    kinds = RowKind

    def row(kind: RowKind, key: str, n: int) -> Row:
        return Row.of_kind(kind, key=key, n=n)

    committer.commit("1", staged(sink, context, ("a", 1), ("b", 1), ("a", 2)))
    assert rows(path) == [("a", 2), ("b", 1)]
    changes = [
        row(kinds.UPDATE_BEFORE, "a", 2),
        row(kinds.UPDATE_AFTER, "a", 3),
        row(kinds.DELETE, "b", 1),
        row(kinds.INSERT, "c", 1),
        row(kinds.DELETE, "c", 1),
        row(kinds.DELETE, "nobody", 1),
    ]
    committer.commit("2", staged(sink, context, *changes))
    assert rows(path) == [("a", 3)]
    committer.commit("3", staged(sink, context, row(kinds.DELETE, "nobody", 1)))
    committer.commit("4", staged(sink, context, ("b", 7)))
    assert rows(path) == [("a", 3), ("b", 7)]
    with pytest.raises(SinkError, match="merges by 'key', but a record has a null there"):
        staged(sink, context, (None, 1))
    with pytest.raises(SinkError, match="appends rows, but got one that removes"):
        staged(DeltaSink.append(path), context, row(kinds.DELETE, "a", 1))


@pytest.mark.parametrize("form", SINKS)
def test_columns_are_rows_of_the_table(path: Path, context: SinkContext, form: str) -> None:
    sink = SINKS[form](path)
    committer = started(sink, context)
    committer.commit("1", staged(sink, context, ("a", 1), ("b", 1)))
    writer = sink.create_writer(context)
    batch = pa.record_batch([["a", "c", "c"], [2, 3, 4]], schema=arrow_schema(ROW))
    assert writer.write_columns(batch)
    assert writer.write_columns(batch.slice(0, 0))
    assert not writer.write_columns(batch.rename_columns(["key", "other"]))
    committer.commit("2", writer.prepare_commit())
    assert rows(path) == [("a", 1), ("a", 2), ("b", 1), ("c", 3), ("c", 4)]


def test_every_partition_value_is_read_back(path: Path, make_context: MakeContext) -> None:
    names = ["text", "flag", "small", "day", "n"]
    types = [Types.STRING(), Types.BOOLEAN(), Types.INT(), Types.SQL_DATE(), Types.LONG()]
    context = make_context(Types.ROW_NAMED(names, types))
    sink = DeltaSink.append(path, partition_by=names[:4])
    texts = ["a/b", "c=d%20 e", "ü\n", "..", "null", None]
    wanted: list[tuple[Any, ...]] = [
        (t, n % 2 == 0, n, dt.date(2020, 1, n + 1), n) for n, t in enumerate(texts)
    ]
    wanted.append((None, None, None, None, 99))
    started(sink, context).commit("1", staged(sink, context, *wanted))
    found = deltalake.DeltaTable(path).to_pyarrow_table().select(names).to_pylist()
    assert sorted(map(str, (tuple(row.values()) for row in found))) == sorted(map(str, wanted))
    source = DeltaSource.table(path)
    (split,) = source.exact_discover({})
    ours = [
        tuple(row)
        for batch in source.exact_batches(split.id, 0, split.head, 10)
        for row in batch[0]
    ]
    assert sorted(map(str, ours)) == sorted(map(str, wanted))
    with pytest.raises(SinkError, match="empty string in 'text'"):
        staged(sink, context, ("", True, 1, None, 1))


def test_many_partitions_are_not_all_open(
    path: Path, context: SinkContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.connectors.files.staged_files.MountedFiles.most_open", 3)
    sink = DeltaSink.append(path, partition_by=["key"])
    committer = started(sink, context)
    values = [(f"k{n % 7}", n) for n in range(70)]
    handles = staged(sink, context, *values)
    assert len(handles) > 7
    committer.commit("1", handles)
    assert rows(path) == sorted(values)


def test_a_writer_that_is_aborted_leaves_nothing(path: Path, context: SinkContext) -> None:
    sink = DeltaSink.append(path, partition_by=["key"])
    started(sink, context)
    writer = sink.create_writer(context)
    writer.write([("a", 1), ("b", 1)])
    writer.abort()
    assert list(path.rglob("*.parquet")) == []


def test_a_table_that_does_not_fit_is_told(path: Path, make_context: MakeContext) -> None:
    context = make_context(ROW)
    started(DeltaSink.append(path), context)
    other = make_context(Types.ROW_NAMED(["key", "m"], [Types.LONG(), Types.LONG()]))
    with pytest.raises(SinkError) as error:
        started(DeltaSink.append(path), other)
    assert "its column 'key' is string, and the stream's int64" in error.value.problem
    assert "its column 'm' is missing" in error.value.problem
    with pytest.raises(SinkError, match="it is partitioned by"):
        started(DeltaSink.append(path, partition_by=["key"]), context)


REFUSED: dict[str, tuple[DeltaSink, TypeInformation]] = {
    "need columns": (DeltaSink.append("/t"), Types.LONG()),
    "has a time of day": (DeltaSink.append("/t"), Types.ROW_NAMED(["t"], [Types.SQL_TIME()])),
    "'t' has a time of day": (
        DeltaSink.append("/t"),
        Types.ROW_NAMED(["t"], [Types.LIST(Types.SQL_TIME())]),
    ),
    "cannot be called 'a b'": (DeltaSink.append("/t"), Types.ROW_NAMED(["a b"], [Types.INT()])),
    "by case only": (
        DeltaSink.append("/t"),
        Types.ROW_NAMED(["a", "A"], [Types.INT(), Types.INT()]),
    ),
    "there is no field 'x'": (DeltaSink.append("/t", partition_by=["x"]), ROW),
    "there is no field 'k'": (DeltaSink.upsert("/t", keys=["k"]), ROW),
    "cannot be partitioned by": (
        DeltaSink.append("/t", partition_by=["d"]),
        Types.ROW_NAMED(["d", "n"], [Types.DOUBLE(), Types.INT()]),
    ),
    "every column is one": (DeltaSink.append("/t", partition_by=["key", "n"]), ROW),
    "the key 'l' is list": (
        DeltaSink.upsert("/t", keys=["l"]),
        Types.ROW_NAMED(["l"], [Types.LIST(Types.INT())]),
    ),
}


@pytest.mark.parametrize("problem", REFUSED)
def test_what_a_table_cannot_hold_is_told_when_the_program_is_written(problem: str) -> None:
    sink, type_info = REFUSED[problem]
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([], type_info)
    with pytest.raises(GraphError, match=problem) as error:
        stream.sink_to(sink)
    assert error.value.origin is not None
    assert error.value.origin.filename == __file__


def test_a_wrong_call_is_refused_where_it_is_made() -> None:
    wrong: tuple[Callable[[], Any], ...] = (
        lambda: DeltaSink.append("s3://bucket/t"),
        lambda: DeltaSink.append("/t", partition_by="day"),
        lambda: DeltaSink.upsert("/t", keys=[]),
        lambda: DeltaSink.upsert("/t", keys=[1]),  # type: ignore[list-item]
    )
    for call in wrong:
        with pytest.raises(ArgumentError) as error:
            call()
        assert error.value.origin is not None
        assert error.value.origin.filename == __file__


def test_rules_of_a_table_that_appended_files_would_not_keep_are_told(
    path: Path, context: SinkContext
) -> None:
    rows_of = pa.schema([("key", pa.string()), ("n", pa.int64())])
    table = deltalake.DeltaTable.create(path / "checked", rows_of)
    table.alter.add_constraint({"positive": "n > 0"})
    needed = pa.schema([pa.field("key", pa.string(), nullable=False), ("n", pa.int64())])
    deltalake.DeltaTable.create(path / "needed", needed)
    mapped = {"delta.columnMapping.mode": "name"}
    log = path / "mapped" / "_delta_log"
    deltalake.DeltaTable.create(path / "mapped", rows_of)
    first = log / f"{0:020}.json"
    lines = [json.loads(line) for line in first.read_text().splitlines()]
    next(line for line in lines if "metaData" in line)["metaData"]["configuration"] = mapped
    first.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    problems = {
        "checked": "it has the constraint 'positive'",
        "needed": "its column 'key' must not be null",
        "mapped": "it maps columns to other names",
    }
    for name, problem in problems.items():
        with pytest.raises(SinkError, match=problem):
            started(DeltaSink.append(path / name), context)
    upsert = DeltaSink.upsert(path / "checked", keys=["key"])
    committer = started(upsert, context)
    with pytest.raises(SinkError, match="cannot commit epoch 1"):
        committer.commit("1", staged(upsert, context, ("a", -1)))  # the library checks a merge
    assert rows(path / "checked") == []
