"""A log source keeps its promises or is refused, with the user's line: see also `tests/testing/test_logs`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from penstock.datastream.connectors import HybridSource, LogBatch, LogSplit, NumberSequenceSource
from penstock.errors import SourceError
from penstock.graph.backlog_end import BacklogEnd, Cut, LogSourcePart, SplitSourcePart
from penstock.graph.hybrid import SnapshotPart
from penstock.graph.log_source import LogSource
from penstock.graph.source_switch import SwitchColumns, SwitchedSource
from penstock.graph.split_source import SplitSource
from penstock.types import Types
from tests.log_world import AppendedLog, WorldLog

DEMO = {"a": {0: ("x", 1, 1), 5: ("y", 2, 2), 6: ("z", 3, 3)}, "b": {2: ("w", 9, 4)}}


def log_of(**methods: Callable[..., Any]) -> WorldLog:
    """Return a log some of whose methods are replaced."""
    made = WorldLog.of(DEMO)
    changed: Any = type("Changed", (WorldLog,), methods)
    log: WorldLog = changed(made.world_name)
    return log


def gives(value: Any) -> Callable[..., Any]:
    def method(self: Any, *arguments: Any) -> Any:
        return value

    return method


def refused(call: Callable[[], Any]) -> SourceError:
    with pytest.raises(SourceError) as error:
        call()
    assert error.value.origin is not None
    assert error.value.origin.filename == __file__
    assert error.value.hint
    return error.value


WRONG_SPLITS = [
    [("a", 0, 1)],
    [LogSplit("", 0, 1)],
    [LogSplit(7, 0, 1)],  # type: ignore[arg-type]
    [LogSplit("a", 3, 1)],
    [LogSplit("a", -1, 1)],
    [LogSplit("a", 0, 2**63)],
    [LogSplit("a", 2, 9, start=1)],
    [LogSplit("a", 2, 9, start=10)],
    [LogSplit("a", 0, "9")],  # type: ignore[arg-type]
    [LogSplit("a", 0, 1), LogSplit("a", 0, 2)],
    None,
    7,
]


@pytest.mark.parametrize("found", WRONG_SPLITS, ids=repr)
def test_what_is_no_split_is_refused(found: Any) -> None:
    source = log_of(discover=gives(found))
    if isinstance(found, list):
        assert "discover() of world returned" in refused(lambda: source.exact_discover({})).problem
    else:
        with pytest.raises(SourceError, match="world failed on discover"):
            source.exact_discover({})


WRONG_BATCHES = [
    (["r"], "returned ['r']"),
    (None, "returned None"),
    (LogBatch([], 3), "has next position 3"),
    (LogBatch([], 21), "has next position 21"),
    (LogBatch(range(4), 13), "gave 4 records for the 3 positions up to 13"),
    (LogBatch(["r"], 10), "gave 1 records for the 0 positions"),
    (LogBatch(["r"], 12, [1, 2]), "gave 2 timestamps for 1 records"),
    (LogBatch(["r"], 12, [True]), "of types ['bool']"),
    (LogBatch(["r"], 12, ["1"]), "of types ['str']"),
]


@pytest.mark.parametrize(
    ("batch", "problem"), WRONG_BATCHES, ids=[each for _, each in WRONG_BATCHES]
)
def test_what_is_no_batch_of_the_range_is_refused(batch: Any, problem: str) -> None:
    source = log_of(read=gives(batch))
    error = refused(lambda: list(source.exact_batches("a", 10, 20, 100)))
    assert problem in error.problem
    assert "called for positions [10, 20) of split 'a'" in error.problem


def test_records_that_cannot_be_consumed_are_told() -> None:
    def records() -> Any:
        yield 1
        next(iter(()))

    for batch in (LogBatch(records(), 12), LogBatch([1], "12"), LogBatch(3, 12)):  # type: ignore[arg-type]
        source = log_of(read=gives(batch))
        with pytest.raises(SourceError, match=r"world failed on positions \[10, 20\) of split 'a'"):
            list(source.exact_batches("a", 10, 20, 100))


def test_a_range_is_read_on_until_its_end_and_holes_are_of_nobody() -> None:
    source = WorldLog.of({"a": {at: ("k", at, at) for at in (0, 3, 4, 5, 90)}}, most=2)
    assert list(source.exact_batches("a", 0, 200, 8192)) == [
        ([("k", 0, 0), ("k", 3, 3)], [0, 3]),
        ([("k", 4, 4), ("k", 5, 5)], [4, 5]),
        ([("k", 90, 90)], [90]),
    ]
    assert source.world.reads == [("a", 0, 200), ("a", 4, 200), ("a", 6, 200)]
    assert list(source.exact_batches("a", 6, 90, 8192)) == []
    assert list(source.exact_batches("a", 7, 7, 8192)) == []


def test_a_dense_log_is_asked_for_few_positions_at_a_time() -> None:
    class Dense(WorldLog):
        is_dense = True

    source = Dense(WorldLog.of({"a": {at: ("k", at, at) for at in range(9)}}).world_name)
    assert [len(records) for records, _ in source.exact_batches("a", 0, 9, 4)] == [3, 3, 3]
    assert source.world.reads == [("a", 0, 4), ("a", 3, 7), ("a", 6, 9)]


def test_records_that_are_not_there_yet_are_waited_for_and_not_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    answers = iter([LogBatch([], 0), LogBatch([], 0), LogBatch(["r"], 3), LogBatch([], 9)])
    source = log_of(read=lambda *_: next(answers))
    assert list(source.exact_batches("a", 0, 9, 100)) == [(["r"], None)]
    assert slept == [0.005, 0.01]
    silent = log_of(read=gives(LogBatch([], 4)))
    error = refused(lambda: list(silent.exact_batches("a", 4, 9, 100)))
    assert (
        "has returned no records of positions [4, 9) of split 'a' for 60 seconds" in error.problem
    )
    assert max(slept) == 0.5


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda world: world.splits.pop("a"), "split 'a' of world, which the job has read up to"),
        (lambda world: world.heads.update(a=4), "has records up to position 4, and the job has"),
        (lambda world: world.earliest.update(a=6), "begins at position 6, and the job has read up"),
    ],
    ids=["vanished", "fell", "removed"],
)
def test_what_is_gone_before_it_was_read_is_told(change: Any, problem: str) -> None:
    source = WorldLog.of(DEMO)
    assert [each.id for each in source.exact_discover({"b": 1, "a": 5})] == ["b", "a"]
    change(source.world)
    with pytest.raises(SourceError) as error:
        source.exact_discover({"b": 1, "a": 5})
    assert problem in error.value.problem
    assert "position 5" in error.value.problem or "up to 5" in error.value.problem
    assert "new checkpoint directory" in error.value.hint
    assert error.value.origin is not None
    assert error.value.origin.function == "discover"


def test_known_splits_come_first_and_new_ones_as_they_are_found() -> None:
    source = WorldLog.of({name: {} for name in "dacb"})
    assert [each.id for each in source.exact_discover({})] == ["d", "a", "c", "b"]
    assert [each.id for each in source.exact_discover({"c": 0, "a": 0})] == ["c", "a", "d", "b"]


def test_splits_of_a_job_that_found_none_begin_at_their_first_record() -> None:
    latest = log_of(discover=lambda _, known: [LogSplit("a", 1, 9, None if known else 9)])
    assert latest.exact_discover({})[0].start == 9
    assert latest.exact_discover({}, is_again=True)[0].start == 1
    told = log_of(discover=gives([LogSplit("a", 1, 9), LogSplit("b", 1, 9, start=4)]))
    known, new = told.exact_discover({"a": 5}, is_again=True)
    assert (known.id, new.start) == ("a", 4)  # the source knows that the job has begun


def test_a_log_starts_where_it_says_and_a_bounded_one_ends_at_its_heads() -> None:
    for bounded, ends in ((False, (None, None)), (True, (7, 3))):
        start = WorldLog.of(DEMO, bounded=bounded).exact_start(2)
        assert start.ranges == ((0, ends[0]), (0, ends[1]))
        assert (start.names, start.heads) == (("a", "b"), (7, 3))
    source = log_of(discover=gives([LogSplit("a", 1, 9, start=4)]))
    assert source.exact_start(1).ranges == ((4, None),)


@pytest.mark.parametrize(("time", "position"), [(0, 0), (1, 0), (2, 5), (3, 6), (4, 7)])
def test_the_position_of_a_time_is_found_by_reading(time: int, position: int) -> None:
    for most in (1, 2, 9):
        source = WorldLog.of(DEMO, most=most)
        assert source.exact_position_at("a", time, 0, 7) == position


def test_the_position_of_a_time_and_costs_must_be_possible() -> None:
    for name, value in (("position_at", 8), ("position_at", -1), ("cost", -1)):
        source = log_of(**{name: gives(value)})
        time = (3,) if name == "position_at" else ()
        error = refused(partial(getattr(source, f"exact_{name}"), "a", *time, 0, 7))
        assert f"{name}() of world returned {value}" in error.problem
    for name in ("position_at", "cost"):
        source = log_of(**{name: gives("many")})
        with pytest.raises(SourceError, match=f"world failed on {name} of split 'a'"):
            getattr(source, f"exact_{name}")("a", *((3,) if name == "position_at" else ()), 0, 7)
    untimed = WorldLog.of(DEMO, stamped=False)
    with pytest.raises(SourceError, match="its records have no timestamps when they are read"):
        untimed.exact_position_at("a", 2, 0, 7)


def test_costs_are_positions_unless_the_log_knows_better() -> None:
    assert WorldLog.of(DEMO).exact_cost("a", 2, 7) == 5
    assert log_of(cost=gives(2)).exact_cost("a", 2, 7) == 2
    assert log_of(cost=gives(2)).exact_cost("a", 7, 7) == 0


def cuts_of(source: Any, end: BacklogEnd) -> list[Cut]:
    return list(end.cuts(source, 2))


def test_a_backlog_ends_at_a_position_a_time_or_the_heads() -> None:
    source = WorldLog.of(DEMO)
    assert cuts_of(source, BacklogEnd()) == [(0, 7, None, "a"), (0, 3, None, "b")]
    assert cuts_of(source, BacklogEnd((6, 1))) == [(0, 6, None, "a"), (0, 1, None, "b")]
    assert cuts_of(source, BacklogEnd((99,))) == [(0, 7, None, "a"), (0, 3, None, "b")]
    assert cuts_of(source, BacklogEnd(timestamp_ms=3)) == [(0, 6, None, "a"), (0, 2, None, "b")]
    with pytest.raises(SourceError, match="ends at 3 positions, but the source has 2 splits"):
        cuts_of(source, BacklogEnd((1, 2, 3)))


def test_the_parts_of_a_log_share_their_cuts() -> None:
    source = WorldLog.of(DEMO)
    history, live = HybridSource.until_head(source).parts
    assert (history.is_bounded, live.is_bounded) == (True, False)
    assert history.describe() == "world up to what is there at the start"
    assert history.as_split is not None
    assert history.as_split.exact_start(2).ranges == ((0, 7), (0, 3))
    assert live.as_split is not None
    start = live.as_split.exact_start(2)
    assert (start.ranges, start.names) == (((7, None), (3, None)), ("a", "b"))


def test_a_backlog_needs_heads_or_an_end() -> None:
    parts = HybridSource.until_head(NumberSequenceSource(1, 5)).parts
    assert [part.as_split.exact_start(1).ranges for part in parts if part.as_split] == [
        ((0, 5),),
        ((5, 5),),
    ]


def test_appended_files_are_a_log_of_bytes(tmp_path: Any) -> None:
    source = AppendedLog(str(tmp_path))
    source.add("a", ["x", 1], ["yy", 2], ["z", 3])
    head = source.exact_discover({})[0].head
    whole = [record for records, _ in source.exact_batches("a", 0, head, 9) for record in records]
    assert whole == [("x", 1), ("yy", 2), ("z", 3)]
    for cut in range(head + 1):
        parts = [*source.exact_batches("a", 0, cut, 9), *source.exact_batches("a", cut, head, 9)]
        assert [record for records, _ in parts for record in records] == whole


OF_A_PART = {
    "as_split": "a part is read by positions itself",
    "asks_driver": "the same for every log",
    "gives_results": "no source of the API",
    "has_head": "every log has heads",
    "is_internal": "made by the engine",
    "is_log": "so is a part",
    "is_written_first": "of DataFrames",
    "is_bounded": "that is what a part is about",
    "is_backlog": "that is what a part is about",
    "kind": "parts have one of their own",
    "known_records": "of sources that end and are no logs",
    "read_in_batch_by": "of files",
    "read_in_epochs_by": "of files",
    "record_function": "of sources that are no logs",
    "query_parts": "no log is a query",
    "takes_snapshot": "the snapshot is a part",
    "unprojected_because": "Spark reads no log as columns",
}
"""Facts that a part of a log does not take from the log, and why."""


OF_A_SWITCH = {
    "gives_timestamps": "the plan asks before the source is made",
    "has_declared_form": "the same; a truth value then",
}
"""Facts that a source which is made at a switch has not from the one that was made."""


OF_A_SPLIT_PART = OF_A_PART.keys() - {"record_function", "has_head"} | {"asks_driver"}
"""Facts that a part of a source of numbered records does not take from it: as of a log, but it may have a generator."""


def facts(source: type) -> list[str]:
    """Return what a source says of itself: properties and constants, not methods."""
    return sorted(
        name
        for name in dir(source)
        if not name.startswith("_")
        and not callable(inspect.getattr_static(source, name))
        and not isinstance(inspect.getattr_static(source, name), classmethod | staticmethod)
    )


@pytest.mark.parametrize("fact", facts(LogSource))
def test_a_part_says_of_itself_what_its_log_says(fact: str) -> None:
    if fact in OF_A_PART:
        return
    told = object()
    log = type("Telling", (WorldLog,), {fact: told})("no world")
    if fact in vars(log):
        object.__setattr__(log, fact, told)
    end, asks = BacklogEnd((1,)), SwitchColumns()
    assert getattr(LogSourcePart(log, end, is_backlog=True), fact) is told
    assert getattr(LogSourcePart(log, end, is_backlog=False), fact) is told
    if fact not in OF_A_SWITCH:
        made = SwitchedSource(
            lambda _: log, asks, Types.LONG(), ends=False, origin=None, decided=log
        )
        assert getattr(made, fact) is told


@pytest.mark.parametrize("fact", sorted({*facts(SplitSource)} - OF_A_SPLIT_PART))
def test_a_part_of_numbered_records_says_of_itself_what_its_source_says(fact: str) -> None:
    told = object()
    source: Any = type("Telling", (NumberSequenceSource,), {"__slots__": (), fact: told})(1, 5)
    assert getattr(SplitSourcePart(source, BacklogEnd((1,)), is_backlog=False), fact) is told


def test_another_way_of_reading_withdraws_the_promise_of_new_records() -> None:
    class Promising(WorldLog):
        makes_records_anew = True

    class Reading(LogSourcePart):
        def read(self, split: str, start: int, end: int) -> LogBatch:
            return LogBatch(KEPT[start:end], end)

    class Capturing(Promising):
        def read_snapshot(self, file: Path, start: int, end: int) -> LogBatch:
            del file
            return LogBatch(KEPT[start:end], end)

    log, end = Promising("no world"), BacklogEnd((1,))
    assert LogSourcePart(log, end, is_backlog=True).makes_records_anew
    assert not Reading(log, end, is_backlog=True).makes_records_anew
    assert not LogSourcePart(WorldLog("no world"), end, is_backlog=True).makes_records_anew
    assert SnapshotPart(log).makes_records_anew
    assert not SnapshotPart(Capturing("no world")).makes_records_anew


KEPT = [[1], [2]]
