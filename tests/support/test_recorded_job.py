"""The jobs of the pictures were recorded: history at batch speed, the switch, live micro-batches, a restart, a failure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.observe.events.job_events import (
    JobStarted,
    MicroBatch,
    Restarting,
    RunFinished,
    RunStarted,
    Switched,
)
from penstock.observe.events.job_view import JobView
from tools.support import recorded_switch
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


def test_the_switch_of_the_readme_was_recorded() -> None:
    spans = recorded_switch.spans_of(recorded_switch.RECORDED)
    runs = {job: {span.run for span in spans if span.job == job} for job in recorded_switch.OPTIONS}
    assert runs[recorded_switch.BOTH] == {"history", "switch", "live"}
    assert runs[recorded_switch.BATCH] == {"history"}
    assert "history" not in runs[recorded_switch.LIVE]
    history = {span.job: span for span in spans if span.run == "history"}
    assert all(span.records >= 10_000_000 for span in history.values())
    size = recorded_switch.RECORDED.stat().st_size
    assert size < 30_000, "the record is small enough to be kept"


def test_a_job_without_events_of_every_micro_batch_is_counted_by_its_totals() -> None:
    whose: dict[str, Any] = {"job_id": "j", "job_name": "orders"}

    def batch(at_ms: int, records: int, total: int) -> MicroBatch:
        return MicroBatch(0, records, total, 0.5, None, None, None, None, {}, at_ms=at_ms, **whose)

    def started(name: str, at_ms: int) -> RunStarted:
        return RunStarted(name, "live", "files", bounded=False, at_ms=at_ms, **whose)

    events = [
        started("history", 1_000),
        batch(2_000, 10, 10),
        batch(5_000, 10, 40),
        started("live", 5_000),
        Switched(0.25, None, at_ms=5_250, **whose),
        batch(6_000, 7, 7),
    ]
    spans = list(recorded_switch._spans(events, "job", 1.0, 0))
    assert [(span.run, span.begin, span.end, span.records) for span in spans] == [
        ("live", 0.5, 1.0, 10),
        ("live", 1.0, 4.0, 30),
        ("switch", 4.0, 4.25, 0),
        ("live", 4.5, 5.0, 7),
    ]
