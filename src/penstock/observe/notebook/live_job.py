"""The live view of a job in the notebook that this process is the kernel of: one output, updated until the job is over.

    submit       shows the view below the cell that started the job
    on_event     notes that something has changed
    its thread   shows the view again, at most twice a second

Kernels route updates by the id of the output, so no script is needed, and it works wherever notebooks are shown.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from penstock.observe.events.job_events import JobEvent
from penstock.observe.events.job_view import JobView
from penstock.observe.events.listeners import JobListener
from penstock.observe.events.run_view import RunView
from penstock.observe.events.sentences import human_duration
from penstock.observe.notebook.card import Card, CardTable, ShownAsCard

_is_unseen: ContextVar[bool] = ContextVar("is_unseen", default=False)


@contextmanager
def unseen() -> Iterator[None]:
    """Hide jobs that are started inside the context: they are a part of another job."""
    before = _is_unseen.set(True)
    try:
        yield
    finally:
        _is_unseen.reset(before)


def shows_jobs() -> bool:
    """Return whether jobs that are started here have a live view."""
    return not _is_unseen.get() and display_of_notebook() is not None


def display_of_notebook() -> Any:
    """Return IPython's `display`, None if this is no kernel of a notebook.

    IPython is not imported: who is in a notebook has it imported.
    """
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None and hasattr(module, "get_ipython") else None
    if getattr(shell, "kernel", None) is None:
        return None
    return sys.modules["IPython.display"].display


INTERVAL_SECONDS = 0.5
"""Least time between two updates."""

_MOST_RUNS = 12

_logger = logging.getLogger("penstock")


class LiveJob(JobListener, ShownAsCard):
    """The view of one job. Thread-safe."""

    def __init__(self, display: Any, job_id: str, job_name: str) -> None:
        """Show the job."""
        self._view = JobView(job_id)
        self._view.job_name = job_name
        self._changed = threading.Event()
        self._closing = threading.Event()
        self._shown = display(self, display_id=True)
        self._thread = threading.Thread(
            target=self._update_until_closed, name="penstock-notebook", daemon=True
        )
        self._thread.start()

    def on_event(self, event: JobEvent) -> None:
        """Add an event."""
        self._view.on_event(event)
        self._changed.set()

    def close(self) -> None:
        """Show how the job has ended, and end the thread."""
        self._closing.set()
        self._changed.set()
        self._thread.join()

    def __repr__(self) -> str:
        return self._card().to_text()

    def _update_until_closed(self) -> None:
        is_last = False
        while not is_last:
            self._changed.wait()
            self._changed.clear()
            is_last = self._closing.is_set()  # before the update, which then shows the end
            try:
                self._shown.update(self)
            except Exception as cause:  # noqa: BLE001 - the job goes on without the view
                _logger.warning("the view of the job is not updated any more: %s", cause)
                return
            self._closing.wait(INTERVAL_SECONDS)

    def _card(self) -> Card:
        return job_card(self._view, time.time_ns() // 1_000_000)


def live_job(job_id: str, job_name: str) -> LiveJob | None:
    """Show a job that begins; None if this is no notebook, or if it is a part of something else (`unseen`)."""
    return LiveJob(display_of_notebook(), job_id, job_name) if shows_jobs() else None


def job_card(view: JobView, now_ms: int) -> Card:
    """Return the card of a job in a notebook."""
    with view.lock:
        behind = view.behind_seconds(now_ms)
        facts = {
            "records": f"{view.records():,}",
            "behind": None if behind is None else human_duration(behind),
            "restarts": view.restarts or None,
        }
        error = view.error
        problem = "\n".join(
            error[part] for part in ("code", "problem", "hint", "origin") if error.get(part)
        )
        rows = [list(_run_row(run, now_ms)) for run in view.runs[-_MOST_RUNS:]]
    runs = CardTable("", ("run", "reads", "progress", "records", "per second", "time"), rows)
    return Card(f"{view.job_name} · {view.state.lower()}", facts, problem, (runs,))


def _run_row(run: RunView, now_ms: int) -> Iterator[object]:
    progress, speed = run.progress(), run.speed(now_ms)
    is_known = run.kind == "live" or run.finished_ms is not None
    records = run.records if is_known else run.records_so_far
    until = now_ms if run.finished_ms is None else run.finished_ms
    yield " ".join(part for part in (run.pipeline, run.name) if part)
    yield run.reads
    yield run.outcome if progress is None or run.outcome != "running" else f"{progress:.0%}"
    yield "" if records is None else f"{records:,}"
    yield "" if speed is None else f"{speed:,.0f}"
    yield human_duration(max(0, until - run.started_ms) / 1000)
