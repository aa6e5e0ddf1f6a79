"""Listeners: what they raise is theirs, and events say whose they are."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, get_args

import pytest

from penstock.observe.events import job_events, listeners
from penstock.observe.events.job_events import (
    ConfirmFailed,
    JobEnded,
    JobEvent,
    JobStarted,
    MicroBatch,
    Resumed,
    RunStarted,
)
from penstock.observe.events.job_view import JobViews
from penstock.observe.events.listeners import (
    JobEvents,
    JobListener,
    LogListener,
    Registration,
    add_listener,
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
def _listeners(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(listeners, "_lasting", [])
    yield
    set_listeners(LogListener())


@pytest.mark.parametrize(
    "error", [ValueError("mine"), SystemExit(3), StopIteration(), BaseException("base")]
)
def test_a_listener_that_raises_stops_nobody_and_is_told_once_and_dropped(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    raises, heard = Raises(error), Heard()
    set_listeners(raises, heard)
    jobs = [JobEvents("1", "first"), JobEvents("2", "second")]
    with caplog.at_level(logging.WARNING, logger="penstock"):
        for _ in range(3):
            for job in jobs:
                job.publish(HAPPENED)
    assert raises.calls == 1
    assert len(heard.events) == 6
    (record,) = caplog.records
    assert "first" in record.getMessage()
    assert type(raises).__name__ in record.getMessage()
    assert record.exc_info


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
    kinds = get_args(job_events.JobEvent)
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


def test_events_say_when_they_happened() -> None:
    heard = Heard()
    before = time.time_ns() // 1_000_000
    with also_listening(heard):
        JobEvents("1", "first").publish(HAPPENED)
    assert before <= heard.events[0].at_ms <= time.time_ns() // 1_000_000


def test_listeners_of_one_job_hear_only_that_one_and_are_closed() -> None:
    class Closes(Heard):
        is_closed = False

        def close(self) -> None:
            self.is_closed = True

    heard = Closes()
    job = JobEvents("1", "first", own=(Registration(heard),))
    JobEvents("2", "second").publish(HAPPENED)
    replace(job, pipeline="3").publish(HAPPENED)
    job.close()
    assert [(event.job_id, event.pipeline) for event in heard.events] == [("1", "3")]
    assert heard.is_closed


class Blocks(Heard):
    """Does not return before it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may_return = threading.Event()

    def on_event(self, event: JobEvent) -> None:
        self.may_return.wait(10)
        super().on_event(event)


def test_a_listener_that_blocks_does_not_hold_the_job() -> None:
    blocks = Blocks()
    add_listener(blocks)
    began = time.monotonic()
    for number in range(50):
        JobEvents("1", "first").publish(Resumed(str(number)))
        JobEvents("1", "first").publish(MicroBatch(number, 1, number + 1, 0.1, None))
    assert time.monotonic() - began < 1
    blocks.may_return.set()
    (registration,) = listeners._lasting
    registration.close()
    assert [event.step for event in blocks.events if isinstance(event, Resumed)] == [
        str(number) for number in range(50)
    ]
    details = [event for event in blocks.events if isinstance(event, MicroBatch)]
    assert details[-1].number == 49
    assert len(details) < 5


def test_a_listener_with_a_thread_of_its_own_that_raises_is_dropped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    raises = Raises(ValueError("mine"))
    add_listener(raises)
    for _ in range(3):
        publish(HAPPENED)
    (registration,) = listeners._lasting
    registration.close()
    assert raises.calls == 1
    assert len([each for each in caplog.records if each.levelno == logging.ERROR]) == 1


def test_a_quick_listener_is_called_at_once() -> None:
    class Quick(Heard):
        is_quick = True

    quick = Quick()
    add_listener(quick)
    publish(HAPPENED)
    assert quick.events == [HAPPENED]


def test_a_slow_listener_is_named_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(Heard):
        def on_event(self, event: JobEvent) -> None:
            time.sleep(0.02)

    monkeypatch.setattr(listeners, "SLOW_SECONDS", 0.01)
    with also_listening(Slow()), caplog.at_level(logging.WARNING, logger="penstock"):
        publish(HAPPENED)
        publish(HAPPENED)
    (message,) = caplog.messages
    assert "the job waited" in message


def test_of_many_jobs_those_that_run_are_shown() -> None:
    views = JobViews()
    views.on_event(JobStarted("0.1.0", "STREAMING", 2, job_id="long", job_name="long"))
    for number in range(100):
        told: dict[str, Any] = {"job_id": str(number), "job_name": f"job {number}"}
        views.on_event(JobStarted("0.1.0", "BATCH", 2, **told))
        views.on_event(JobEnded("FINISHED", **told))
    shown = views.views()
    assert len(shown) <= 20
    assert shown[0].job_name == "long"
    assert shown[0].started is not None
    views.on_event(JobStarted("0.1.0", "STREAMING", 2, job_id="long", job_name="long"))
    assert views.views()[-1].job_id == "long", "it has begun again"


def test_log_lines_are_sentences(caplog: pytest.LogCaptureFixture) -> None:
    set_listeners(LogListener())
    with caplog.at_level(logging.DEBUG, logger="penstock"):
        job = JobEvents("1", "visits", "2")
        job.publish(RunStarted("live", "live", "numbers", bounded=False))
        job.publish(MicroBatch(3, 10, 20, 0.5, None))
        job.publish(ConfirmFailed("orders", "no broker"))
        job.publish(JobEnded("FAILED", {"code": "SINK", "problem": "no room\nat all"}))
        job.publish(Resumed("again"))
    assert caplog.messages == [
        "visits pipeline 2: live: started, reads numbers",
        "visits pipeline 2: live: micro-batch 3, 10 records, 20 records/s, 20 in all",
        "visits pipeline 2: live: the confirmation of read positions to orders failed and is repeated, no broker",
        "visits pipeline 2: live: ended, failed, no room",
        "visits pipeline 2: resumed: again",
    ]
    assert [record.levelname for record in caplog.records] == [
        "INFO",
        "INFO",
        "WARNING",
        "INFO",
        "INFO",
    ]
    assert all(hasattr(record, "event") for record in caplog.records)
