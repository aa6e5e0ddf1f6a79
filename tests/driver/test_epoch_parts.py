"""The epochs of sources with parts: part after part within a run, and a share for history beside live input."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.spark.live.epochs.epoch_planner import EpochPlanner, EpochPositions, PlannedEpoch
from penstock.spark.sources.split_advance import Budgets, SplitReading
from penstock.spark.sources.split_reads import offset_of, parts_reached
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
        assert parts_reached(offset_of(at.to_json())) == at.parts
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
    assert offset_of(at.to_json()) == '{"1": [0]}'
