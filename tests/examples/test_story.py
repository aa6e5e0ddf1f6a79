"""The listener: what it makes of the events of a job."""

from __future__ import annotations

import pytest

from examples.demo.story import Story, StoryListener
from penstock.observe.events.job_events import (
    BatchProgress,
    MicroBatch,
    Resumed,
    RunFinished,
    RunStarted,
    Switched,
)


@pytest.fixture
def listener():
    seconds = iter(range(100))
    return StoryListener(100, lambda: float(next(seconds)))


def test_the_story_of_a_job(listener):
    for event in (
        RunStarted("history", "batch", "files of history", bounded=True),
        BatchProgress(1, 2, 0.5),
        RunFinished("history", "batch", 900, 3.0),
        Switched(0.5, 1234),
    ):
        listener.on_event(event)
    listener.on_event(RunStarted("live", "live", "files of live", bounded=False))
    listener.on_event(MicroBatch(0, 0, 0, 9.0, None))
    assert not listener.first_processed.is_set()
    listener.on_event(MicroBatch(1, 60, 60, 1.0, None))
    assert listener.first_processed.is_set()
    assert not listener.all_processed.is_set()
    listener.on_event(MicroBatch(2, 40, 100, 1.5, None))
    assert listener.all_processed.is_set()
    listener.on_event(RunFinished("live", "live", 100, 20.0))

    story = listener.story
    assert (story.history_records, story.history_seconds) == (900, 3.0)
    assert (story.live_records, story.live_seconds, story.live_batches) == (100, 2.5, 2)
    # That of the event: lines of progress say the same.
    assert (story.switch_seconds, story.switch_watermark_ms) == (0.5, 1234)


def test_events_it_does_not_know_are_no_news(listener):
    listener.on_event(Resumed("history is done"))
    assert listener.story == Story()
