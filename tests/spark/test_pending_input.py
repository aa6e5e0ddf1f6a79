"""The pending input of a live run, and how much it takes at a time. Nothing here needs Spark."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Configuration
from penstock.config.options import MAX_FILES_PER_BATCH
from penstock.plan.phases.backlog import catch_up_factor
from penstock.spark.live import live_progress
from penstock.spark.live.live_progress import KnownPendingInput, PendingInput
from penstock.spark.sources.split_advance import taken_at_once


@given(waiting=st.integers(0, 10**9), usual=st.integers(1, 10**6), factor=st.integers(1, 20))
def test_what_is_taken_is_bounded_and_comes_down_by_itself(
    waiting: int, usual: int, factor: int
) -> None:
    taken = taken_at_once(waiting, usual, factor)
    assert usual <= taken <= usual * factor
    if waiting <= usual * factor:
        assert taken == usual
    if waiting >= usual * factor * factor:
        assert taken == usual * factor
    assert taken_at_once(waiting + 1, usual, factor) >= taken


def test_records_that_are_left_and_the_time_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(live_progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    pending = KnownPendingInput()
    assert pending.current == PendingInput()
    pending.note(900, None, None)
    assert pending.current == PendingInput(records=900)
    now[0] += 10
    pending.note(500, None, None)
    assert pending.current.records == 500
    assert pending.current.seconds == pytest.approx(12.5)
    now[0] += 1
    pending.note(400, None, None)
    assert pending.current.records == 400
    assert pending.current.seconds == pytest.approx(12.5), "the last estimate was only just"
    pending.note(0, None, None)
    assert pending.current == PendingInput(records=0, seconds=0.0)


def test_without_counts_only_event_time_gives_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(live_progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    pending = KnownPendingInput()
    pending.note(None, None, 110_000)
    now[0] += 10
    pending.note(None, None, 60_000)
    assert pending.current.records is pending.current.files is None
    assert pending.current.seconds == pytest.approx(10.0)
    now[0] += 10
    pending.note(None, None, 5_000)
    assert pending.current == PendingInput(seconds=0.0)


@pytest.mark.parametrize(
    ("settings", "factor"),
    [
        ({}, 4),
        ({"execution.live.max-files-per-batch": 8}, 1),
        ({"execution.live.max-records-per-batch": 8}, 4),
        ({"execution.live.max-files-per-batch": 8, "execution.live.catch-up-factor": 3}, 3),
    ],
)
def test_a_limit_that_is_set_is_a_limit(settings: dict[str, int], factor: int) -> None:
    configuration = Configuration.from_dict(settings)
    assert catch_up_factor(configuration, MAX_FILES_PER_BATCH) == factor
