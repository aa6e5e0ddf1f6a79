"""State of a job now: its events, folded; and the views of all jobs of a process.

`JobView` is the model behind `penstock status`, `penstock top` and the metrics for monitoring systems. It is a
listener, and can be made of a log of events just as well; both give the same view. Counts are those of the driver
that runs the job, or ran it last: they begin again when another driver goes on with the job.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from penstock.observe.events.job_events import (
    FAILED,
    STOPPED,
    BatchProgress,
    JobEnded,
    JobEvent,
    JobStarted,
    MetricsReported,
    MicroBatch,
    PendingInputMeasured,
    Repeating,
    Restarting,
    RoundFinished,
    RoundProgress,
    RunFinished,
    RunStarted,
    SavepointFailed,
    SavepointTaken,
    Switched,
)
from penstock.observe.events.listeners import JobListener
from penstock.observe.events.round_view import RoundViews
from penstock.observe.events.run_view import RunView

_MOST_JOBS = 20


class JobViews(JobListener):
    """Folds the events of each job. Thread-safe. It remembers the last ones of the jobs that are over."""

    is_quick = True

    def __init__(self) -> None:
        self._views: dict[str, JobView] = {}
        self._lock = threading.Lock()

    def on_event(self, event: JobEvent) -> None:
        """Add an event to the view of its job."""
        with self._lock:
            begins = isinstance(event, JobStarted)
            # A job that begins again is the last one in order.
            known = self._views.pop(event.job_id, None) if begins else self._views.get(event.job_id)
            view = self._views[event.job_id] = known or JobView(event.job_id)
            if begins:
                self._forget_some()
        view.on_event(event)

    def views(self) -> tuple[JobView, ...]:
        """Return one view per name, of the job that began last: names distinguish the series of jobs."""
        with self._lock:
            return tuple({view.job_name: view for view in self._views.values()}.values())

    def _forget_some(self) -> None:
        """Forget the jobs that are over and began first; one that runs is never forgotten."""
        over = [job_id for job_id, view in self._views.items() if view.status in OVER]
        for job_id in over[: max(0, len(self._views) - _MOST_JOBS)]:
            del self._views[job_id]


_MOST_SAVEPOINTS = 50

LOST = "LOST"
"""The status of a job whose driver has ended without saying so: it was killed."""

OVER = frozenset({"FINISHED", "CANCELED", "FAILED"})
"""Statuses with which a driver has ended."""

RUNNING = "RUNNING"
RESTARTING = "RESTARTING"

_CLOCK_JITTER_MS = 1_000
"""Pipelines emit their events in threads of their own, so events may be out of order by less than this."""


class JobView(JobListener):
    """One job. Thread-safe; `read` gives a consistent view.

    Attributes:
        job_id: The job; empty before its first event.
        status: `CREATED`, `RUNNING`, `RESTARTING`, `FINISHED`, `CANCELED` or `FAILED`.
        seen: State of its driver as seen from outside, None without a check: `LOST` if it was killed, `CREATED` if
            another one has taken over and has emitted no event yet.
        started: The first event of its driver, None if it is unknown.
        runs: Runs of this driver, in order of their begin.
        rounds: Rounds of the upgrade with which the job began.
        repetitions: Number of repetitions because Spark lost output.
        error: The failure that ended the job or made it restart last, empty if there was none.
        error_ms: When it happened, None if there was none.
        savepoints: The last ones that were taken or failed, also in earlier drivers.
        savepoint_counts: `taken` and `failed` to their numbers, in this driver.
        metrics: The last report, None if there was none.
    """

    def __init__(self, job_id: str = "") -> None:
        """Start empty; without an id the job is that of the first event."""
        self.job_id = job_id
        self.last_ms = 0
        self.lock = threading.RLock()
        self._forget()
        self.job_name = ""
        self.seen: str | None = None

    @property
    def state(self) -> str:
        """The status, or what was seen from outside."""
        return self.seen or self.status

    @classmethod
    def of(cls, events: Iterable[JobEvent]) -> JobView:
        """Return the view of a log of events.

        Examples:
            >>> from penstock.observe.events.job_events import JobEnded, RunStarted
            >>> began = RunStarted("live", "live", "numbers", False, job_id="1")
            >>> JobView.of([began]).status
            'RUNNING'
            >>> JobView.of([began, JobEnded("FINISHED", job_id="1")]).status
            'FINISHED'
        """
        view = cls()
        for event in events:
            view.on_event(event)
        return view

    def on_event(self, event: JobEvent) -> None:
        """Add an event; those of other jobs are ignored."""
        if self.job_id and event.job_id != self.job_id:
            return
        with self.lock:
            self.job_id, self.job_name = event.job_id, event.job_name
            if 0 < event.at_ms < self.last_ms - _CLOCK_JITTER_MS:
                self._shift(event.at_ms - self.last_ms)
            self.last_ms = event.at_ms
            note = _NOTES.get(type(event))
            if note is not None:
                note(self, event)

    def run_of(self, pipeline: str) -> RunView | None:
        """Return the run of a pipeline that began last."""
        runs = [run for run in self.runs if run.pipeline == pipeline]
        return runs[-1] if runs else None

    def runs_now(self) -> tuple[RunView, ...]:
        """Return the runs that are executed now."""
        with self.lock:
            return tuple(run for run in self.runs if run.finished_ms is None)

    def records(self) -> int:
        """Return the records that all runs have read in this driver."""
        with self.lock:
            return sum(run.records for run in self.runs)

    def behind_seconds(self, now_ms: int | None = None) -> float | None:
        """Return how long input waits, of the run that is most behind; None if it is unknown.

        It is unknown while nothing is known to wait but a batch run still reads.
        """
        now = time.time_ns() // 1_000_000 if now_ms is None else now_ms
        runs = self.runs_now()
        known = [run.behind_seconds(now) for run in runs]
        most = max((seconds for seconds in known if seconds is not None), default=None)
        return most or (None if any(run.kind == "batch" for run in runs) else most)

    def _forget(self) -> None:
        self.status = "CREATED"
        self.started: JobStarted | None = None
        self.runs: list[RunView] = []
        self.rounds = RoundViews()
        self.restarts = 0
        self.repetitions = 0
        self.error: Mapping[str, str] = {}
        self.error_ms: int | None = None
        self.savepoints: deque[SavepointTaken | SavepointFailed] = deque(maxlen=_MOST_SAVEPOINTS)
        self.savepoint_counts = {"taken": 0, "failed": 0}
        self.metrics: MetricsReported | None = None
        self.last_ms = 0

    def _shift(self, ms: int) -> None:
        """Move what is known after the clock was set back, so that what waits goes on waiting."""
        for run in self.runs:
            run.shift(ms)

    def _job_started(self, event: JobStarted) -> None:
        savepoints, rounds = self.savepoints, self.rounds.of_next_driver(has_begun=bool(self.runs))
        self._forget()
        self.savepoints, self.rounds, self.last_ms = savepoints, rounds, event.at_ms
        self.started, self.status = event, RUNNING

    def _run_started(self, event: RunStarted) -> None:
        self.status = RUNNING
        before = self.run_of(event.pipeline)
        if before is not None and (before.finished_ms is None or before.outcome == STOPPED):
            if before.name == event.name:  # the job was restarted in it
                # A job may restart for ever: its attempts are not listed.
                before.begin_again(event.at_ms)
                return
            before.finished_ms, before.outcome = event.at_ms, FAILED
        for earlier in self.runs:
            if earlier.pipeline == event.pipeline:
                earlier.micro_batches.clear()  # no reader needs those of a run that is over
        run = RunView(event.name, event.kind, event.reads, event.pipeline, event.at_ms)
        self.runs.append(run)

    def _progress(self, event: BatchProgress) -> None:
        run = self.run_of(event.pipeline)
        if run is not None:
            run.done_tasks, run.total_tasks = event.done_tasks, event.total_tasks
            run.records_so_far = event.records

    def _micro_batch(self, event: MicroBatch) -> None:
        run = self.run_of(event.pipeline)
        if run is None:
            return
        run.note_micro_batch(event)
        self._pending(event)

    def _pending(self, event: MicroBatch | PendingInputMeasured) -> None:
        run = self.run_of(event.pipeline)
        if run is None:
            return
        run.split_records_behind = event.split_records_behind
        run.note_pending(
            event.at_ms, event.records_behind, event.files_behind, event.catch_up_seconds
        )

    def _run_finished(self, event: RunFinished) -> None:
        run = self.run_of(event.pipeline)
        if run is not None:
            run.end(event)

    def _switch(self, event: Switched) -> None:
        run = self.run_of(event.pipeline)
        if run is not None:
            run.switch_seconds = event.seconds

    def _round(self, event: RoundProgress | RoundFinished) -> None:
        self.rounds.note(event)

    def _restarting(self, event: Restarting) -> None:
        self.status, self.restarts = RESTARTING, event.number
        self.error, self.error_ms = event.error or {"problem": event.reason}, event.at_ms

    def _repeating(self, event: Repeating) -> None:
        self.repetitions += 1

    def _savepoint(self, event: SavepointTaken | SavepointFailed) -> None:
        self.savepoints.append(event)
        self.savepoint_counts["taken" if isinstance(event, SavepointTaken) else "failed"] += 1

    def _metrics(self, event: MetricsReported) -> None:
        self.metrics = event

    def _ended(self, event: JobEnded) -> None:
        self.status = event.status
        if event.error:
            self.error, self.error_ms = event.error, event.at_ms
        for run in self.runs:
            if run.finished_ms is None:
                outcome = FAILED if event.status == "FAILED" else STOPPED
                run.finished_ms, run.outcome = event.at_ms, outcome


_NOTES: dict[type[JobEvent], Callable[[JobView, Any], None]] = {
    JobStarted: JobView._job_started,  # noqa: SLF001 - its own methods
    RunStarted: JobView._run_started,  # noqa: SLF001
    BatchProgress: JobView._progress,  # noqa: SLF001
    MicroBatch: JobView._micro_batch,  # noqa: SLF001
    PendingInputMeasured: JobView._pending,  # noqa: SLF001
    RunFinished: JobView._run_finished,  # noqa: SLF001
    Switched: JobView._switch,  # noqa: SLF001
    RoundProgress: JobView._round,  # noqa: SLF001
    RoundFinished: JobView._round,  # noqa: SLF001
    Restarting: JobView._restarting,  # noqa: SLF001
    Repeating: JobView._repeating,  # noqa: SLF001
    SavepointTaken: JobView._savepoint,  # noqa: SLF001
    SavepointFailed: JobView._savepoint,  # noqa: SLF001
    MetricsReported: JobView._metrics,  # noqa: SLF001
    JobEnded: JobView._ended,  # noqa: SLF001
}
