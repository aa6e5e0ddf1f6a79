"""Which epochs are one task: those whose work, told from earlier ones, is less than Spark's for stages."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.metrics.task_clock import OTHER, SINKS, START, STATE, WAIT, WRITE, level_place
from penstock.runtime.task.report import Report
from penstock.spark.live.epochs.epoch_journal import EpochPositions
from penstock.spark.live.epochs.epoch_pace import EpochWork
from penstock.spark.sources.split_advance import SplitReading
from tests.driver.test_epoch_planner import planner_of

MS = 1_000_000


def report(records: int, reading_ms: float = 0, later_ms: float = 0) -> Report:
    """Return the report of an epoch; waiting, opening and the driver are no work."""
    times = {
        f"{level_place(0)}.{OTHER}": reading_ms,
        f"{level_place(0)}.{WAIT}": 5000,
        f"{level_place(1)}.{STATE}": later_ms / 2,
        f"{level_place(1)}.{START}": 5000,
        f"{SINKS}.{WRITE}": later_ms / 2,
        "driver.job": 9000,
    }
    return Report(
        source_records={1: records}, times={name: round(ms * MS) for name, ms in times.items()}
    )


def work_of(*reports: Report, limit_ms: float = 30) -> EpochWork:
    work = EpochWork(limit_ms / 1000)
    for each in reports:
        work.note(each)
    return work


def test_nothing_is_known_before_the_first_usual_epoch() -> None:
    work = EpochWork(0.03)
    assert not work.is_single_task(1)
    work.note(report(10, 1, 5000), is_usual=False)
    assert work.has_one_reader(10)
    assert not work.is_single_task(1)
    work.note(report(10, 1, 5))
    assert work.is_single_task(10)


@pytest.mark.parametrize(("records", "is_single"), [(100, True), (140, True), (160, False)])
def test_work_grows_with_records(records: int, is_single: bool) -> None:
    work = work_of(report(100, 1, 19), report(200, 2, 38))  # 0.2 ms a record
    assert work.is_single_task(records) is is_single


def test_many_records_to_read_are_read_by_several_tasks() -> None:
    work = work_of(report(100, 20, 1), limit_ms=1000)
    assert work.is_single_task(50)
    assert not work.has_one_reader(51)
    assert not work.is_single_task(51)


def test_a_large_epoch_is_no_burst() -> None:
    work = work_of(report(100, 1, 10), report(100_000, 1000, 10_000))
    assert work.burst_seconds == pytest.approx(0)
    assert work.is_single_task(100)


def test_a_burst_keeps_the_stages_for_some_thousand_epochs() -> None:
    work = work_of(*[report(100, 1, 10)] * 5)
    assert work.is_single_task(100)
    work.note(report(0, 0, 1000))  # windows fire
    epochs = 0
    while not work.is_single_task(100):
        work.note(report(100, 1, 10))
        epochs += 1
    assert 2000 < epochs < 10_000


def test_a_little_noise_changes_nothing() -> None:
    work = work_of(*[report(100, 1, 10)] * 5, report(100, 1, 30), report(100, 1, 10))
    assert work.is_single_task(100)


def test_0_always_uses_stages() -> None:
    assert not work_of(report(100, 0, 0), limit_ms=0).is_single_task(0)


def test_the_first_epoch_and_savepoints_have_stages() -> None:
    planner = planner_of(SplitReading(1, ((0, 100),)), work=work_of(report(100, 1, 1)))
    at = EpochPositions.before(planner.readings)
    how: tuple[dict[str, Any], ...] = (
        {"is_first": True},
        {},
        {"savepoint": "savepoint:1"},
        {"is_due": True},
    )
    planned = [planner.next(at, **each) for each in how]
    assert [each and each.is_single_task for each in planned] == [False, True, False, True]


def test_the_hand_over_has_stages() -> None:
    planner = planner_of(
        SplitReading(1, ((0, 5),)), work=work_of(report(100, 1, 1)), hands_over=True
    )
    planned = planner.next(EpochPositions.before(planner.readings))
    assert planned is not None
    assert planned.event is not None
    assert not planned.is_single_task
