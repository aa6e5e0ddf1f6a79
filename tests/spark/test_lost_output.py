"""What is done again after Spark lost output. How it comes to that is in `tests/faults`."""

from __future__ import annotations

import pytest

from penstock.observe.events.job_events import JobEvent, Repeating
from penstock.observe.events.listeners import JobEvents, JobListener, also_listening
from penstock.spark.driver.lost_output import MOST_IN_A_ROW, LostOutput

SPARK_SAID = (
    "org.apache.spark.SparkException: Job aborted due to stage failure: A shuffle map stage with "
    "indeterminate output was failed and retried. However, Spark cannot rollback the ResultStage 8"
)


class Heard(JobListener):
    def __init__(self) -> None:
        self.events: list[JobEvent] = []

    def on_event(self, event: JobEvent) -> None:
        self.events.append(event)


@pytest.fixture
def heard():
    listener = Heard()
    with also_listening(listener):
        yield listener.events


def test_lost_output_is_computed_again_so_often_in_a_row(heard):
    lost = LostOutput(JobEvents("id", "job"))
    failure = RuntimeError(SPARK_SAID)
    for _ in range(2):
        assert all(lost.is_cause_of(failure) for _ in range(MOST_IN_A_ROW))
        assert not lost.is_cause_of(failure)
        lost.succeeded()
    numbers = range(1, MOST_IN_A_ROW + 1)
    assert heard == [Repeating(n, MOST_IN_A_ROW) for _ in range(2) for n in numbers]


def test_other_failures_are_not_its_business(heard):
    assert not LostOutput(JobEvents("id", "job")).is_cause_of(
        RuntimeError("No space left on device")
    )
    assert heard == []
