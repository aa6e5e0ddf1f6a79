"""The jobs of the pictures were recorded: history at batch speed, the switch, live micro-batches, a restart, a failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.observe.events.job_events import (
    JobStarted,
    MicroBatch,
    Restarting,
    RunFinished,
    Switched,
)
from penstock.observe.events.job_view import JobView
from tools.support.recorded_job import FAILED, RECORDED, events_of, failed, recorded

NOW_MS = 1_800_000_000_000


def test_what_was_recorded_is_a_switch_of_one_job() -> None:
    events = recorded(NOW_MS)
    assert events[-1].at_ms == NOW_MS
    assert [event.at_ms for event in events] == sorted(event.at_ms for event in events)
    (finished,) = (event for event in events if isinstance(event, RunFinished))
    assert finished.records > 1_000_000, "a history that is worth a batch"
    assert finished.records / finished.seconds > 100_000, "and that ran as one"
    assert sum(isinstance(event, Switched) for event in events) == 1
    assert sum(isinstance(event, MicroBatch) and event.records > 0 for event in events) >= 40
    assert sum(isinstance(event, Restarting) for event in events) == 1
    assert JobView.of(events).status == "RUNNING"


def test_a_job_that_fails_was_recorded() -> None:
    events = failed(NOW_MS)
    assert events[-1].at_ms == NOW_MS
    assert sum(isinstance(event, Restarting) for event in events) == 2
    assert JobView.of(events).status == "FAILED"


@pytest.mark.parametrize("record", [RECORDED, FAILED])
def test_a_record_tells_nothing_of_the_machine(record: Path) -> None:
    (started,) = (event for event in events_of(record) if isinstance(event, JobStarted))
    assert started.settings == {}
    places = [str(node["origin"]) for node in started.nodes if node["origin"]]
    assert [place for place in places if not place.startswith("recorded_job.py:")] == []
    text = record.read_text(encoding="utf-8")
    assert "/tmp" not in text
    assert str(Path(__file__).parents[2]) not in text
