"""The epochs of sources with parts: part after part within a run, and a share for history beside live input."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.spark.live.epochs.epoch_journal import EpochPositions, PlannedEpoch
from penstock.spark.live.epochs.epoch_planner import EpochPlanner
from penstock.spark.sources.listing.file_readings import FileCaps, PinnedReading
from penstock.spark.sources.split_advance import Budgets, SplitReading
from tests.driver.test_epoch_planner import events_of, planner_of, rows_of

lengths = st.lists(st.integers(0, 9), max_size=3)


def parts_of(source: int, *parts: list[int]) -> list[SplitReading]:
    """Return the parts of a source, each with splits of so many records."""
    return [
        SplitReading(
            source,
            tuple((10 * number, 10 * number + length) for length in part),
            ends=True,
            part=number,
            is_history=number < len(parts) - 1,
        )
        for number, part in enumerate(parts)
    ]


def epochs_of(planner: EpochPlanner) -> list[tuple[EpochPositions, PlannedEpoch]]:
    """Run a planner to the end; return the positions before each epoch, and the epoch."""
    found: list[tuple[EpochPositions, PlannedEpoch]] = []
    at = planner.begin()
    while not planner.is_complete(at):
        planned = planner.next(at, is_first=not found)
        assert planned is not None
        found.append((at, planned))
        at = EpochPositions.from_json(planned.after.to_json())
        assert at == planned.after
    return found


@given(
    sources=st.lists(st.lists(lengths, min_size=1, max_size=3), min_size=1, max_size=3),
    most=st.integers(1, 9),
    share=st.sampled_from([0.01, 0.5, 0.99]),
)
def test_every_part_is_read_once_and_behind_the_one_before(
    sources: list[list[list[int]]], most: int, share: float
) -> None:
    readings = [each for n, parts in enumerate(sources) for each in parts_of(n, *parts)]
    planner = planner_of(*readings)
    planner.budgets = Budgets(most, history_share=share)
    found = epochs_of(planner)
    for source, parts in enumerate(sources):
        read: dict[tuple[int, int], list[int]] = {}
        in_epochs: dict[int, list[int]] = {}
        for number, (_, planned) in enumerate(found):
            for row in rows_of(planned):
                if row["event"] == "range" and row["source"] == source:
                    part = row.get("part", 0)
                    records = read.setdefault((part, row["split"]), [])
                    records += range(row["first"], row["last"])
                    in_epochs.setdefault(part, []).append(number)
                    assert row["finished"] is (row["last"] == 10 * part + parts[part][row["split"]])
        assert read == {
            (part, split): [*range(10 * part, 10 * part + length)]
            for part, splits in enumerate(parts)
            for split, length in enumerate(splits)
            if length
        }
        order = [(min(each), max(each)) for _, each in sorted(in_epochs.items())]
        assert all(one[1] < other[0] for one, other in itertools.pairwise(order))
        told = [n for n, (_, each) in enumerate(found) if ("next", source) in events_of(each)]
        assert len(told) == len(parts) - 1
        ended = [n for n, (_, each) in enumerate(found) if ("end", source) in events_of(each)]
        assert len(ended) == 1
        assert ended[0] >= max([*told, *in_epochs.get(len(parts) - 1, [])], default=0)


def files_of(
    source: int, part: int, sizes: list[int], usual: int = 2, *, is_history: bool = True
) -> PinnedReading:
    """Return a part in files of so many bytes."""
    files = {f"file:///{source}-{part}/{n}": (size, n) for n, size in enumerate(sizes)}
    return PinnedReading(
        source, FileCaps(usual), files, ends=True, part=part, is_history=is_history
    )


def run_with_files(planner: EpochPlanner, density: int = 3) -> list[PlannedEpoch]:
    """Run a planner to the end as the loop does; a byte of files has so many records."""
    found: list[PlannedEpoch] = []
    at = planner.begin()
    planner.open(at)
    while not planner.is_complete(at):
        planned = planner.next(at, is_first=not found)
        assert planned is not None
        found.append(planned)
        at = EpochPositions.from_json(planned.after.to_json())
        planner.note_recorded(at)
        planner.note_read(
            {source: density * bytes_of(planner, planned, source) for source in at.of_splits}
        )
    return found


def bytes_of(planner: EpochPlanner, planned: PlannedEpoch, source: int) -> int:
    files = {(each.source, each.part): each for each in planner.files}
    spans = [(files[key], span) for key, span in planned.files.items() if key[0] == source]
    return sum(file.size for each, span in spans for file in each.files(*span))


of_source = st.lists(st.tuples(st.booleans(), lengths), min_size=1, max_size=3)


@given(sources=st.lists(of_source, min_size=1, max_size=3), most=st.integers(1, 9))
def test_parts_in_files_and_by_positions_follow_each_other(
    sources: list[list[tuple[bool, list[int]]]], most: int
) -> None:
    readings: list[SplitReading] = []
    files: list[PinnedReading] = []
    for source, parts in enumerate(sources):
        of_positions = parts_of(source, *[sizes for _, sizes in parts])
        for number, (in_files, sizes) in enumerate(parts):
            if in_files:
                is_history = number < len(parts) - 1
                files.append(files_of(source, number, sizes, is_history=is_history))
            else:
                readings.append(of_positions[number])
    planner = planner_of(*readings, files=tuple(files))
    planner.budgets = Budgets(most)
    epochs = run_with_files(planner)
    for source, parts in enumerate(sources):
        seen: list[tuple[int, int, int]] = []
        for number, planned in enumerate(epochs):
            rows = [row for row in rows_of(planned) if row["event"] == "range"]
            seen += [
                (number, row.get("part", 0), row["last"] - row["first"])
                for row in rows
                if row["source"] == source
            ]
            seen += [
                (number, part, last - first)
                for (of, part), (first, last) in planned.files.items()
                if of == source
            ]
        for number, (in_files, sizes) in enumerate(parts):
            counted = sum(count for _, part, count in seen if part == number)
            assert counted == (len(sizes) if in_files else sum(sizes))
        assert [part for _, part, _ in seen] == sorted(part for _, part, _ in seen)
        assert all(
            one[0] < other[0] for one, other in itertools.pairwise(seen) if one[1] < other[1]
        )
        told = [n for n, each in enumerate(epochs) if ("next", source) in events_of(each)]
        ended = [n for n, each in enumerate(epochs) if ("end", source) in events_of(each)]
        assert len(told) == len(parts) - 1
        assert len(ended) == 1
        assert ended[0] >= max([*told, *(number for number, _, _ in seen)], default=0)


def test_history_in_files_has_its_share_once_it_is_known_what_a_byte_has() -> None:
    history = files_of(1, 0, [10] * 40, usual=9)
    live = SplitReading(2, ((0, 100_000),), ends=True)
    planner = planner_of(SplitReading(1, ((0, 1),), ends=True, part=1), live, files=(history,))
    planner.budgets = Budgets(100, 4, 0.5)
    epochs = run_with_files(planner, density=3)
    taken = [last - first for each in epochs for first, last in each.files.values()]
    # 30 records a file, and room for 100.
    assert taken[:4] == [1, 3, 3, 3]
    assert [records_of(each, 2) for each in epochs[:4]] == [100] * 4
    assert sum(taken) == 40


@pytest.mark.parametrize(("share", "of_history", "of_live"), [(0.5, 100, 100), (0.25, 50, 150)])
def test_live_files_have_what_history_leaves(share: float, of_history: int, of_live: int) -> None:
    live = files_of(2, 0, [10] * 60, usual=60, is_history=False)
    first, second = parts_of(1, [9], [1])
    first = replace(first, splits=((0, 5000),))
    planner = planner_of(first, second, files=(live,))
    planner.budgets = Budgets(100, 4, share)
    epochs = run_with_files(planner, density=1)
    assert [records_of(each, 1) for each in epochs[:3]] == [of_history] * 3
    assert [bytes_of(planner, each, 2) for each in epochs[:3]] == [10, of_live, of_live]


def test_backlog_and_files_that_wait_are_those_of_the_parts_that_are_left() -> None:
    first = files_of(1, 0, [1] * 3)
    last = files_of(1, 1, [1] * 2, is_history=False)
    planner = planner_of(files=(first, last))
    at, seen = planner.begin(), []
    planner.open(at)
    while not planner.is_complete(at):
        seen.append((planner.is_in_backlog(at), planner.files_left(at), at.parts))
        planned = planner.next(at)
        assert planned is not None
        at = planned.after
        planner.note_recorded(at)
    assert seen == [(True, 5, {}), (True, 3, {}), (False, 2, {1: 1})]


class Opened(PinnedReading):
    """Notes when it is opened, and what it is told."""

    def __init__(self, source: int, part: int) -> None:
        super().__init__(source, FileCaps(1), {"file:///a": (1, 1)}, ends=True, part=part)
        self.told: list[tuple[str, int]] = []

    def open(self, at: int) -> None:
        self.told.append(("open", at))

    def forget_before(self, position: int) -> None:
        self.told.append(("forget", position))


def test_files_are_opened_when_their_part_begins_also_by_the_next_driver() -> None:
    def made() -> tuple[EpochPlanner, Opened]:
        reading = Opened(1, 1)
        return planner_of(*parts_of(1, [4], [0])[:1], files=(reading,), most=2), reading

    planner, reading = made()
    at = planner.begin()
    planner.open(at)
    for _ in range(3):
        planned = planner.next(at)
        assert planned is not None
        at = planned.after
        planner.note_recorded(at)
    assert reading.told == [("open", 0), ("forget", 1)]
    planner, reading = made()
    planner.open(at)
    assert reading.told == [("open", 1)]


def records_of(planned: PlannedEpoch, source: int) -> int:
    rows = rows_of(planned)
    return sum(row["last"] - row["first"] for row in rows if row["source"] == source)


@pytest.mark.parametrize(
    ("share", "expected"), [(0.5, (10, 10)), (0.9, (18, 2)), (0.05, (1, 19)), (0.001, (1, 20))]
)
def test_history_has_its_share_beside_live_input(share: float, expected: tuple[int, int]) -> None:
    history, later = parts_of(1, [40], [0])
    history = replace(history, splits=((0, 40),))
    live = SplitReading(2, ((0, None),))
    planner = planner_of(history, later, live)
    planner.budgets = Budgets(10, 4, share)
    planned = planner.next(planner.begin())
    assert planned is not None
    assert (records_of(planned, 1), records_of(planned, 2)) == expected


def test_history_alone_and_live_input_alone_take_what_they_usually_take() -> None:
    def taken(*readings: SplitReading) -> list[int]:
        planner = planner_of(*readings)
        planner.budgets = Budgets(10, 4, 0.1)
        planned = planner.next(planner.begin())
        assert planned is not None
        return [records_of(planned, source) for source in (1, 2)]

    much = SplitReading(1, ((0, 10_000),), part=0, is_history=True)
    other = replace(much, source=2)
    assert taken(much, other) == [40, 40]
    assert taken(replace(much, is_history=False), replace(other, is_history=False)) == [40, 40]
    assert taken(much, replace(other, is_history=False)) == [2, 18]


def test_a_live_source_that_has_ended_leaves_all_to_history() -> None:
    much = SplitReading(1, ((0, 10_000),), part=0, is_history=True)
    ended = SplitReading(2, ((0, 3),), ends=True)
    planner = planner_of(much, ended)
    planner.budgets = Budgets(10, 4, 0.5)
    first = planner.next(planner.begin())
    assert first is not None
    second = planner.next(first.after)
    assert second is not None
    assert [records_of(first, 1), records_of(second, 1)] == [10, 40]


def test_a_rate_limits_the_share() -> None:
    history = SplitReading(1, ((0, 10_000),), 4.0, part=0, is_history=True)
    planner = planner_of(history, SplitReading(2, ((0, None),)))
    clock: Any = planner.now_seconds
    planner.budgets = Budgets(10)
    clock.now += 0.5
    planned = planner.next(planner.begin())
    assert planned is not None
    assert records_of(planned, 1) == 2


def test_backlog_and_pending_records_are_those_of_the_parts_that_are_left() -> None:
    planner = planner_of(*parts_of(1, [4], [0], [5]), *parts_of(2, [2]), most=4)
    seen = [(planner.is_in_backlog(at), planner.records_left(at)) for at, _ in epochs_of(planner)]
    assert seen == [(True, 11), (True, 5), (False, 5), (False, 1)]


def test_positions_have_the_ids_of_the_splits_of_every_part_that_was_begun() -> None:
    first, second = parts_of(1, [3], [4])
    named = [replace(first, names=("a",)), replace(second, names=("b",))]
    planner = planner_of(*named, *parts_of(2, [9]), most=3)
    found = [planner.by_name(at) for at, _ in epochs_of(planner)]
    assert found == [
        {(1, 0): {"a": 0}},
        {(1, 0): {"a": 3}, (1, 1): {"b": 10}},
        {(1, 0): {"a": 3}, (1, 1): {"b": 13}},
    ]


def test_a_drain_in_history_ends_the_source() -> None:
    planner = planner_of(*parts_of(1, [9], [9]), most=3)
    planned = planner.next(planner.begin(), savepoint="savepoint:x", drains=True)
    assert planned is not None
    assert events_of(planned) == [("end", 1), ("savepoint:x", -1)]
    assert planner.is_complete(planned.after)


def test_positions_of_a_run_without_parts_are_recorded_as_before() -> None:
    planner = planner_of(*parts_of(1, [3]))
    ((at, planned),) = epochs_of(planner)
    assert at.to_json() == {"at": {"1": [0]}, "ended": [], "handed_over": False}
    assert "part" not in rows_of(planned)[0]
