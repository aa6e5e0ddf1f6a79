"""The job of the README's picture was recorded: history at batch speed, the switch, live micro-batches."""

from __future__ import annotations

from penstock.observe.events.job_events import JobStarted, MicroBatch, RunFinished, Switched
from penstock.observe.events.job_view import JobView
from tools.support.recorded_job import RECORDED, recorded

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
    assert JobView.of(events).status == "RUNNING"


def test_the_record_tells_nothing_of_the_machine() -> None:
    (started,) = (event for event in recorded(NOW_MS) if isinstance(event, JobStarted))
    assert started.settings == {}
    places = [str(node["origin"]) for node in started.nodes if node["origin"]]
    assert [place for place in places if not place.startswith("recorded_job.py:")] == []
    assert "/tmp" not in RECORDED.read_text(encoding="utf-8")
