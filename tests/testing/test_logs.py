"""Logs in every mode, in process: transcripts of what may happen to a log while it is read, and the law.

Finds records that are lost or doubled where a range is cut, at holes, at the switch and at new splits. Cannot find
what only the driver of a real job does: see `tests/driver/test_log_tail.py` and `tests/spark/test_logs.py`.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Row, Time, Types
from penstock.datastream.connectors import HybridSource, LogBatch
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import SourceError
from penstock.graph.source import Source
from penstock.testing import Schedule, check_log_source, run_in_process
from tests.log_world import AppendedLog, World, WorldLog
from tests.runtime.jobs import BATCH, MIXED, STREAMING, job

SPARSE = {
    "a": {at: ("xyz"[at % 3], at, at) for at in (0, 1, 7, 8, 9, 30, 64)},
    "b": {at: ("xy"[at % 2], at, 100 + at) for at in (5, 6, 40)},
}


def all_of(*worlds: Any) -> Counter[Any]:
    return Counter(r for world in worlds for records in world.values() for r in records.values())


def run(source: Source, mode: dict[str, str], schedule: Schedule | None = None) -> list[Any]:
    env = job(mode, source, lambda stream: stream)
    return run_in_process(env, schedule).of("out")


@pytest.mark.parametrize("mode", [BATCH, STREAMING, MIXED], ids=["batch", "streaming", "mixed"])
@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_every_record_is_read_once_in_every_mode(mode: dict[str, str], size: int) -> None:
    source = WorldLog.of(SPARSE, bounded=True)
    assert Counter(run(source, mode, Schedule(batch_sizes=(size,)))) == all_of(SPARSE)


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize("mode", [STREAMING, MIXED], ids=["streaming", "mixed"])
def test_what_is_there_at_the_start_is_history_and_what_comes_is_live(
    mode: dict[str, str], size: int
) -> None:
    source = WorldLog.of(SPARSE)
    added = {"b": {41: ("x", 41, 1)}, "c": {3: ("z", 3, 3), 4: ("z", 4, 4)}}

    def add(world: World) -> None:
        for split, records in added.items():
            world.splits.setdefault(split, {}).update(records)

    source.world.script = [lambda _: None, add]  # when the end of history is decided, and then
    found = run(HybridSource.until_head(source), mode, Schedule(batch_sizes=(size,)))
    assert Counter(found) == all_of(SPARSE, added)


def test_a_new_split_starts_at_its_earliest_position_and_is_numbered_behind_the_others() -> None:
    source = WorldLog.of(SPARSE)

    def add(world: World) -> None:
        world.splits = {"0": {2: ("early", 2, 2), 9: ("late", 9, 9)}, **world.splits}
        world.earliest["0"] = 5

    source.world.script = [lambda _: None, lambda _: None, add]
    found = run(source, STREAMING, Schedule(batch_sizes=(4,)))
    assert Counter(found) == all_of(SPARSE, {"0": {9: ("late", 9, 9)}})
    assert list(source.world.known[-1]) == ["a", "b", "0"]


def test_a_hole_up_to_the_head_is_passed() -> None:
    source = WorldLog.of({"a": {0: ("x", 0, 0), 3: ("x", 3, 3)}})
    source.world.heads["a"] = 50
    source.world.script = [lambda _: None, lambda _: None, lambda world: world.heads.update(a=70)]
    assert len(run(source, STREAMING, Schedule(batch_sizes=(2,)))) == 2
    assert source.world.confirmed[-1] == {"a": 70}


def test_an_empty_log_waits_for_its_first_split() -> None:
    source = WorldLog.of({})
    source.world.script = [
        lambda _: None,
        lambda _: None,
        lambda world: world.splits.update(a={4: ("x", 4, 4)}),
    ]
    found = run(source, STREAMING, Schedule(stop_after=4))
    assert found == [("x", 4, 4)]
    assert source.world.confirmed == [{}, {"a": 5}, {"a": 5}, {"a": 5}]


def test_nothing_yet_is_no_end_while_the_schedule_says_so() -> None:
    source = WorldLog.of({"a": {0: ("x", 0, 0)}})

    def adds(at: int, world: World) -> None:
        world.splits["a"][at] = ("x", at, at)

    source.world.script = [partial(adds, at) for at in (1, 1, 5, 5, 9)]
    assert [r[1] for r in run(source, STREAMING, Schedule(stop_after=6))] == [0, 1, 5, 9]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            lambda world: world.heads.update(a=1),
            "a head must not fall|has records up to position 1",
        ),
        (lambda world: world.earliest.update(a=60), "begins at position 60"),
        (lambda world: world.splits.pop("a"), "is gone"),
    ],
    ids=["falling head", "retention", "vanished"],
)
def test_what_is_gone_fails_the_run(change: Any, problem: str) -> None:
    source = WorldLog.of(SPARSE)
    source.world.script = [lambda _: None, lambda _: None, change]
    with pytest.raises(SourceError, match=problem):
        run(source, STREAMING, Schedule(batch_sizes=(10,)))


def test_confirmations_follow_commits_and_repeat() -> None:
    source = WorldLog.of({"a": {at: ("x", at, at) for at in range(6)}}, bounded=True)
    run(source, STREAMING, Schedule(batch_sizes=(2,)))
    assert source.world.confirmed == [{"a": 2}, {"a": 4}, {"a": 6}, {"a": 6}]
    history = WorldLog.of({"a": {at: ("x", at, at) for at in range(6)}}, bounded=True)
    run(history, BATCH)
    assert history.world.confirmed == [{"a": 6}]


def test_reading_that_fails_half_way_gives_the_same_when_it_is_repeated() -> None:
    source = WorldLog.of(SPARSE, most=2)
    first = next(source.exact_batches("a", 0, 65, 100))
    again = list(source.exact_batches("a", 0, 65, 100))
    assert again[0] == first
    assert sum(len(records) for records, _ in again) == 7


class ColumnLog(WorldLog):
    """Gives records as columns, and their timestamps as one."""

    as_table = False

    def get_produced_type(self) -> Any:
        return Types.ROW_NAMED(["key", "at", "tags"], COLUMN_TYPES)

    def read(self, split: str, start: int, end: int) -> LogBatch:
        found = WorldLog.read(self, split, start, end)
        keys, times, _ = zip(*found.records, strict=True) if found.records else ((), (), ())
        columns = {
            "key": pa.array(keys, pa.string()),
            "at": pa.array(times, pa.int64()),
            "tags": pa.array([[key] for key in keys], pa.list_(pa.string())),
        }
        table = pa.table(columns)
        batches = table.to_batches(max_chunksize=2)
        made = pa.Table.from_batches(batches, table.schema) if self.as_table else None
        whole = table.combine_chunks().to_batches()
        batch = whole[0] if whole else pa.RecordBatch.from_pylist([], table.schema)
        stamps = table["at"] if self.as_table else columns["at"]
        return LogBatch(batch if made is None else made, found.next_position, stamps)


class TableLog(ColumnLog):
    as_table = True


COLUMN_TYPES = [Types.STRING(), Types.LONG(), Types.LIST(Types.STRING())]


@pytest.mark.parametrize("mode", [BATCH, STREAMING, MIXED], ids=["batch", "streaming", "mixed"])
@pytest.mark.parametrize("log", [ColumnLog, TableLog])
def test_columns_are_read_as_rows(mode: dict[str, str], log: type[ColumnLog]) -> None:
    source = log.of(SPARSE, bounded=True, most=5)
    check_log_source(source)
    found = run(source, mode, Schedule(batch_sizes=(3,)))
    wanted = [Row(key=key, at=at, tags=[key]) for key, at, _ in all_of(SPARSE).elements()]
    assert sorted(map(repr, found)) == sorted(map(repr, wanted))
    assert {type(row["at"]) for row in found} == {int}
    (records, times), *_ = source.exact_batches("a", 0, 65, 100)
    assert times == [row["at"] for row in records]


@pytest.mark.parametrize(
    ("batch", "problem"),
    [
        (LogBatch(pa.table({"n": [1, 2, 3]}), 2), "gave 3 records for the 2 positions"),
        (LogBatch(pa.table({"n": [1]}), 2, pa.array([1, 2])), "gave 2 timestamps for 1 records"),
        (LogBatch(pa.table({"n": [1]}), 2, pa.array([None], pa.int64())), "NoneType"),
        (LogBatch(pa.table({"n": [1]}), 2, pa.array([1], pa.timestamp("ms"))), "datetime"),
    ],
)
def test_columns_that_cannot_be_right_are_refused(batch: LogBatch, problem: str) -> None:
    class Given(WorldLog):
        def read(self, split: str, start: int, end: int) -> LogBatch:
            return batch

    with pytest.raises(SourceError, match=problem):
        list(Given.of(SPARSE).exact_batches("a", 0, 65, 100))


def test_windows_follow_the_watermark_of_every_split() -> None:
    source = WorldLog.of(
        {
            "a": {at: ("k", at * 10, 1) for at in range(8)},
            "b": {at: ("k", at * 10, 1) for at in range(8)},
        },
        bounded=True,
    )
    found = {}
    for name, mode in (("batch", BATCH), ("streaming", STREAMING), ("mixed", MIXED)):
        env = job(
            mode,
            source,
            lambda stream: (
                stream.key_by(lambda r: r[0])
                .window(TumblingEventTimeWindows.of(Time.milliseconds(30)))
                .reduce(lambda one, other: (one[0], min(one[1], other[1]), one[2] + other[2]))
            ),
        )
        found[name] = sorted(run_in_process(env, Schedule(batch_sizes=(1, 3))).of("out"))
    assert found["batch"] == [("k", 0, 6), ("k", 30, 6), ("k", 60, 4)]
    assert found["streaming"] == found["mixed"] == found["batch"]


positions = st.sets(st.integers(0, 60), max_size=12)


@settings(deadline=None, max_examples=40)
@given(
    contents=st.lists(positions, min_size=1, max_size=3),
    cut=st.integers(0, 61),
    sizes=st.lists(st.integers(0, 9), min_size=1, max_size=3).filter(any),
    most=st.integers(1, 4),
    tasks=st.integers(1, 4),
)
def test_the_law_holds_for_sparse_logs(
    contents: list[set[int]], cut: int, sizes: list[int], most: int, tasks: int
) -> None:
    splits = {
        f"s{number}": {at: (at % 3, at, 1) for at in content}
        for number, content in enumerate(contents)
    }
    expected = Counter(r[0] for records in splits.values() for r in records.values())
    for mode in (BATCH, STREAMING, MIXED):
        for bounded in (WorldLog.of(splits, bounded=True, most=most),):
            for source in (bounded, HybridSource.until_position(bounded, cut)):
                env = job(
                    mode,
                    source,
                    lambda s: s.map(lambda r: (r[0], r[2])).key_by(lambda r: r[0]).sum(1),
                )
                schedule = Schedule(batch_sizes=tuple(sizes), tasks=tasks)
                found = dict(sorted(run_in_process(env, schedule).of("out")))
                assert found == expected


def test_bytes_of_files_are_positions(tmp_path: Any) -> None:
    source = AppendedLog(str(tmp_path), bounded=True)
    records = [(f"k{n % 3}", n, "x" * n) for n in range(20)]
    source.add("a", *records[:12])
    source.add("b", *records[12:])
    for mode in (BATCH, STREAMING, MIXED):
        for size in (1, 17):
            found = run(source, mode, Schedule(batch_sizes=(size,), tasks=3))
            assert Counter(found) == Counter(records)


def test_a_bounded_log_of_one_split_is_read_by_all_tasks() -> None:
    source = WorldLog.of({"a": {at: ("x", at, at) for at in range(40)}}, bounded=True, most=100)
    run_in_process(job(BATCH, source, lambda stream: stream, parallelism=4))
    assert source.world.reads == [("a", at, at + 10) for at in range(0, 40, 10)]
