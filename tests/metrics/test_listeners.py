"""Listeners: what they raise is theirs, and events say whose they are."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from dataclasses import fields
from typing import get_args

import pytest

from penstock.metrics import listener as listeners
from penstock.metrics.listener import (
    JobEvent,
    JobEvents,
    JobListener,
    LogListener,
    Resumed,
    also_listening,
    publish,
    set_listeners,
)

HAPPENED = Resumed("somewhere")


class Heard(JobListener):
    def __init__(self) -> None:
        self.events: list[JobEvent] = []

    def on_event(self, event: JobEvent) -> None:
        self.events.append(event)


class Raises(JobListener):
    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.calls = 0

    def on_event(self, event: JobEvent) -> None:
        self.calls += 1
        raise self.error


@pytest.fixture(autouse=True)
def _listeners() -> Iterator[None]:
    yield
    set_listeners(LogListener())


@pytest.mark.parametrize(
    "error", [ValueError("mine"), SystemExit(3), StopIteration(), BaseException("base")]
)
def test_a_listener_that_raises_stops_nobody_and_is_told_once_per_job(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    raises, heard = Raises(error), Heard()
    set_listeners(raises, heard)
    jobs = [JobEvents("1", "first"), JobEvents("2", "second")]
    with caplog.at_level(logging.WARNING, logger="penstock"):
        for _ in range(3):
            for job in jobs:
                job.publish(HAPPENED)
    assert raises.calls == len(heard.events) == 6
    assert ["first" in message for message in caplog.messages] == [True, False]
    assert all(type(raises).__name__ in message for message in caplog.messages)
    assert all(record.exc_info for record in caplog.records)


def test_ctrl_c_in_a_listener_reaches_the_program() -> None:
    set_listeners(Raises(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        publish(HAPPENED)


def test_a_listener_that_raises_does_so_in_every_thread() -> None:
    """Threads of a job are left alive, whichever of them publishes."""
    set_listeners(Raises(ValueError()))
    alive = []

    def run() -> None:
        publish(HAPPENED)
        alive.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert alive == [True]


def test_events_say_whose_they_are() -> None:
    heard = Heard()
    with also_listening(heard):
        JobEvents("1", "first").publish(HAPPENED)
        JobEvents("2", "second").publish(HAPPENED)
    assert [(event.job_id, event.job_name) for event in heard.events] == [
        ("1", "first"),
        ("2", "second"),
    ]
    assert heard.events == [HAPPENED, HAPPENED], "whose it is does not make it another event"


def test_every_event_can_say_it() -> None:
    kinds = get_args(listeners.JobEvent)
    assert len(kinds) > 10
    for kind in kinds:
        assert {"job_id", "job_name"} <= {field.name for field in fields(kind)}, kind


def test_a_listener_that_listens_twice_leaves_once() -> None:
    heard = Heard()
    with also_listening(heard):
        with also_listening(heard):
            publish(HAPPENED)
        publish(HAPPENED)
    publish(HAPPENED)
    assert len(heard.events) == 3
