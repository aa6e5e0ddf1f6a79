"""Threads of pipelines: the first failure stops the others and is the failure of the job."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.errors import JobCancelledError
from penstock.spark import pipelines
from penstock.spark.pipelines import Pipelines


class Part:
    """The context of one pipeline."""

    pool = None

    def __init__(self, cancelled: threading.Event) -> None:
        self.cancelled = cancelled

    def wait(self, seconds: float = 10) -> None:
        """Wait until the pipeline is stopped, as a run does.

        Raises:
            JobCancelledError: It was.
        """
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.cancelled.is_set():
                raise JobCancelledError("stopped", hint="")
            time.sleep(0.005)


def started(
    monkeypatch: pytest.MonkeyPatch, *runs: Callable[[Part], None]
) -> tuple[Pipelines, threading.Event]:
    """Return pipelines that call a function each, and the event that cancels the job."""
    cancelled = threading.Event()
    job: Any = SimpleNamespace(
        cancelled=cancelled,
        plan=SimpleNamespace(pipelines=[SimpleNamespace(index=n) for n in range(len(runs))]),
        of_pipeline=lambda _, stop: Part(stop),
    )

    def made(part: Part, number: int, *_: Any) -> Any:
        return SimpleNamespace(execute=lambda: runs[number](part))

    monkeypatch.setattr(pipelines, "PipelineRuns", made)
    none: Any = None
    return Pipelines(job, none, none), cancelled


def test_all_pipelines_run_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    together = threading.Barrier(3, timeout=10)
    met: list[threading.Thread] = []

    def meets(_: Part) -> None:
        together.wait()
        met.append(threading.current_thread())

    made, _ = started(monkeypatch, meets, meets, meets)
    made.execute()
    assert len(set(met)) == 3
    assert not any(thread.is_alive() for thread in met), "the job has waited for all"


def test_the_first_failure_stops_the_others_and_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = []

    def fails(_: Part) -> None:
        time.sleep(0.02)
        raise ValueError("first")

    def waits(part: Part) -> None:
        try:
            part.wait()
        except JobCancelledError:
            stopped.append(part)
            raise

    made, cancelled = started(monkeypatch, waits, fails, waits)
    began = time.monotonic()
    with pytest.raises(ValueError, match="first"):
        made.execute()
    assert time.monotonic() - began < 5
    assert len(stopped) == 2
    assert not cancelled.is_set(), "the job itself is not cancelled: it may be restarted"


def test_cancellation_of_the_job_stops_every_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    made, cancelled = started(monkeypatch, Part.wait, Part.wait)
    threading.Timer(0.02, cancelled.set).start()
    with pytest.raises(JobCancelledError):
        made.execute()


def test_one_pipeline_runs_in_the_thread_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []
    made, _ = started(monkeypatch, lambda _: threads.append(threading.current_thread()))
    made.execute()
    assert threads == [threading.current_thread()]
