"""The plan of an epoch: every record once, every end with the last records, events where they belong."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Types
from penstock.errors import SourceError
from penstock.graph.endpoints import SplitSource
from penstock.spark.live.epochs.epoch_journal import EpochPositions, PlannedEpoch
from penstock.spark.live.epochs.epoch_pace import EpochPace
from penstock.spark.live.epochs.epoch_planner import EpochPlanner
from penstock.spark.sources.listing.file_readings import FileCaps, PinnedReading
from penstock.spark.sources.split_advance import Budgets, SplitReading


class Clock:
    """A monotonic clock that only moves when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def planner_of(*readings: SplitReading, most: int = 10, **settings: Any) -> EpochPlanner:
    how: dict[str, Any] = {"hands_over": False, "max_tasks": 2, "now_seconds": Clock(), **settings}
    return EpochPlanner(readings, budgets=Budgets(most), **how)


def rows_of(planned: PlannedEpoch) -> list[dict[str, Any]]:
    return [row for task in planned.tasks for row in task]


def events_of(planned: PlannedEpoch) -> list[tuple[str, int]]:
    return [(row["event"], row["source"]) for row in rows_of(planned) if row["event"] != "range"]


readings = st.lists(st.integers(0, 12), min_size=1, max_size=3)


@given(
    sources=st.lists(readings, min_size=1, max_size=3),
    most=st.integers(1, 9),
    tasks=st.integers(1, 3),
    hands_over=st.booleans(),
)
def test_every_position_is_read_once_and_every_end_comes_with_the_last_ones(
    sources: list[list[int]], most: int, tasks: int, *, hands_over: bool
) -> None:
    described = [
        SplitReading(number, tuple((5, 5 + length) for length in lengths), None, not hands_over)
        for number, lengths in enumerate(sources)
    ]
    planner = planner_of(*described, most=most, max_tasks=tasks, hands_over=hands_over)
    at = EpochPositions.before(planner.readings)
    epochs: list[PlannedEpoch] = []
    while not planner.is_complete(at):
        planned = planner.next(at, is_first=not epochs)
        assert planned is not None
        assert len(planned.tasks) <= tasks
        again = EpochPositions.from_json(planned.after.to_json())
        assert again == planned.after
        epochs.append(planned)
        at = again
    assert planner.next(at) is None
    for number, reading in enumerate(described):
        ranges = [
            row
            for each in epochs
            for row in rows_of(each)
            if row["event"] == "range" and row["source"] == number
        ]
        for split, (start, stop) in enumerate(reading.splits):
            parts = [(r["first"], r["last"]) for r in ranges if r["split"] == split]
            ends = [r["finished"] for r in ranges if r["split"] == split]
            assert stop is not None
            if start < stop:
                assert parts[0][0] == start
                assert parts[-1][1] == stop
                assert ends == [False] * (len(parts) - 1) + [True]
            assert all(one[1] == other[0] for one, other in pairwise(parts))
        told = [n for n, each in enumerate(epochs) if ("end", number) in events_of(each)]
        read = [
            n
            for n, each in enumerate(epochs)
            if any(r["event"] == "range" and r["source"] == number for r in rows_of(each))
        ]
        assert told == ([] if hands_over else [max(read, default=0)])
    told_over = [n for n, each in enumerate(epochs) if each.event == "handover"]
    assert told_over == ([len(epochs) - 1] if hands_over else [])


def test_a_task_keeps_its_number_while_others_have_nothing() -> None:
    planner = planner_of(SplitReading(1, ((0, 0), (0, 5))))
    planned = planner.next(EpochPositions.before(planner.readings))
    assert planned is not None
    assert [len(rows) for rows in planned.tasks] == [0, 1]


def test_an_epoch_without_records_is_planned_first_when_a_timer_is_due_and_for_a_savepoint() -> (
    None
):
    planner = planner_of(SplitReading(1, ((0, None),), 1.0))
    at = EpochPositions.before(planner.readings)
    assert planner.next(at) is None
    for asked in ({"is_first": True}, {"is_due": True}, {"savepoint": "savepoint:x"}):
        planned = planner.next(at, **asked)
        assert planned is not None
        assert planned.after == at
        assert planned.event == asked.get("savepoint")
        assert len(events_of(planned)) == 1


def test_a_drain_ends_every_source_that_has_not_ended() -> None:
    planner = planner_of(SplitReading(1, ((0, None),)), SplitReading(2, ((0, 3),), None, ends=True))
    at = EpochPositions({1: (7,), 2: (3,)}, frozenset({2}))
    planned = planner.next(at, savepoint="savepoint:x", drains=True)
    assert planned is not None
    assert events_of(planned) == [("end", 1), ("savepoint:x", -1)]


def test_a_hand_over_waits_for_the_savepoint_in_progress() -> None:
    planner = planner_of(SplitReading(1, ((0, 3),)), hands_over=True)
    at = EpochPositions.before(planner.readings)
    with_savepoint = planner.next(at, savepoint="savepoint:x")
    assert with_savepoint is not None
    assert with_savepoint.event == "savepoint:x"
    assert not planner.is_complete(with_savepoint.after)
    last = planner.next(with_savepoint.after)
    assert last is not None
    assert (last.event, planner.is_complete(last.after)) == ("handover", True)


def test_a_source_with_a_rate_gives_what_it_saved_and_says_when_it_has_more() -> None:
    clock = Clock()
    planner = planner_of(SplitReading(1, ((0, None),), 4.0), most=3, now_seconds=clock)
    at = EpochPositions.before(planner.readings)
    taken = []
    for wait in (0.1, 0.15, 0.5, 10.0):
        clock.now += wait
        planned = planner.next(at)
        after = at if planned is None else planned.after
        taken.append(after.of_splits[1][0] - at.of_splits[1][0])
        at = after
    assert taken == [0, 1, 2, 3]
    assert planner.seconds_to_next(at) == 0.25


def test_much_state_makes_the_first_epoch_small() -> None:
    planner = planner_of(SplitReading(1, ((0, 100),)), most=50, first_records=4)
    at = EpochPositions.before(planner.readings)
    first = planner.next(at, is_first=True)
    assert first is not None
    assert first.after.of_splits[1] == (4,)
    second = planner.next(first.after)
    assert second is not None
    assert second.after.of_splits[1] == (54,)
    assert planner.records_left(second.after) == 46


def test_the_pace_keeps_the_interval_and_wakes_for_records_and_timers() -> None:
    clock = Clock()
    pace = EpochPace(0.12, clock, clock.sleep)
    assert pace.is_first
    assert not pace.is_early()
    pace.begin()
    begun = clock.now
    while pace.is_early():
        assert clock.now - begun <= 0.121
    assert abs(clock.now - begun - 0.12) < 1e-6
    for records, timer, expected in (
        (None, None, 0.002),
        (None, None, 0.004),
        (0.0, None, 0.002),
        (None, -5.0, 0.002),
        (0.02, None, 0.02),
        (3.0, 0.01, 0.01),
        (None, None, 0.1),
        (None, None, 0.1),
    ):
        before = clock.now
        pace.idle(records, timer)
        assert abs(clock.now - before - expected) < 1e-6


def test_nothing_is_read_behind_the_head_and_a_head_that_falls_is_an_error() -> None:
    heads = {0: 3, 1: None}
    source = Noticed(heads)
    planner = planner_of(SplitReading(1, ((0, None), (0, 4)), head=source.exact_head))
    at = EpochPositions.before(planner.readings)
    planned = planner.next(at)
    assert planned is not None
    assert planned.after.of_splits[1] == (3, 4)
    assert planner.next(planned.after) is None
    assert planner.seconds_to_next(planned.after) is None
    heads[0] = 5
    again = planner.next(planned.after)
    assert again is not None
    assert again.after.of_splits[1] == (5, 4)
    heads[0] = 4
    with pytest.raises(SourceError, match="up to position 4, and the job has read up to 5"):
        planner.next(again.after)


class Noticed(SplitSource):
    """A source whose heads are told by the test."""

    kind = "noticed"

    def __init__(self, heads: dict[int, int | None]) -> None:
        self.heads = heads

    @property
    def is_bounded(self) -> bool:
        return False

    def get_produced_type(self) -> Any:
        return Types.LONG()

    def splits(self, parallelism: int) -> Sequence[tuple[int, int | None]]:
        return [(0, None)]

    def read(self, split: int, start: int, end: int) -> Sequence[int]:
        return range(start, end)

    def head(self, split: int) -> int | None:
        return self.heads[split]


def test_few_records_are_read_by_one_task_once_their_cost_is_known() -> None:
    planner = planner_of(SplitReading(1, ((0, 100), (0, 100))), most=10)
    at = EpochPositions.before(planner.readings)
    tasks = []
    for cost in (None, 0.0001, 0.001, 0.0011):
        planner.work.record_seconds = cost
        planned = planner.next(at)
        assert planned is not None
        tasks.append([len(rows) for rows in planned.tasks])
        at = planned.after
    assert tasks == [[1, 1], [2], [2], [1, 1]]


def file_reading(source: int, count: int, *, ends: bool = True) -> PinnedReading:
    files = {f"file:///{n}": (1, n) for n in range(count)}
    return PinnedReading(source, FileCaps(2), files, ends=ends)


def test_files_are_planned_beside_positions() -> None:
    planner = planner_of(
        SplitReading(1, ((0, 3),), None, ends=True), files=(file_reading(2, 5),), most=2
    )
    at = planner.begin()
    planner.open(at)
    assert at.of_splits == {1: (0,), 2: (0,)}
    assert planner.may_block
    assert (planner.records_left(at), planner.files_left(at)) == (3, 5)
    taken: list[tuple[int, int] | None] = []
    ends: list[list[int]] = []
    while not planner.is_complete(at):
        planned = planner.next(at, is_first=not taken)
        assert planned is not None
        taken.append(planned.files.get((2, 0)))
        ends.append([source for name, source in events_of(planned) if name == "end"])
        at = EpochPositions.from_json(planned.after.to_json())
        planner.note_recorded(at)
    assert taken == [(0, 2), (2, 4), (4, 5)]
    assert ends == [[], [1], [2]]
    assert (planner.files_left(at), planner.seconds_to_next(at)) == (0, None)
    assert planner.next(at) is None


def test_an_epoch_may_have_files_only() -> None:
    planner = planner_of(files=(file_reading(2, 3, ends=False),), hands_over=True)
    at = planner.begin()
    first = planner.next(at)
    assert first is not None
    assert (first.tasks, first.files, first.event) == (((),), {(2, 0): (0, 2)}, None)
    assert planner.seconds_to_next(first.after) == 0.0
    last = planner.next(first.after)
    assert last is not None
    assert (last.files, last.event) == ({(2, 0): (2, 3)}, "handover")
    assert planner.is_complete(last.after)


def test_a_drain_ends_files_that_never_end() -> None:
    planner = planner_of(files=(file_reading(2, 9, ends=False),))
    at = planner.begin()
    planned = planner.next(at, savepoint="savepoint:1", drains=True)
    assert planned is not None
    assert (planned.files, planned.event) == ({(2, 0): (0, 2)}, "savepoint:1")
    assert events_of(planned) == [("end", 2), ("savepoint:1", -1)]


def test_without_files_nothing_is_said_of_them() -> None:
    planner = planner_of(SplitReading(1, ((0, 3),)))
    at = EpochPositions.before(planner.readings)
    planned = planner.next(at)
    assert planned is not None
    assert (planned.files, planner.files_left(at), planner.may_block) == ({}, None, False)
