"""Waits for an answer of a running job in another process, and reports meanwhile what the job does."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from penstock.errors import PenstockError
from penstock.observe.events.sentences import human_duration
from penstock.spark.job.observed_job import ObservedJob

_POLL_SECONDS = 0.1
_LOOK_SECONDS = 1.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Awaited:
    """The texts about an answer of a job.

    Attributes:
        subject: The answer, such as `savepoint`.
        done: The driver has done it, such as `took the savepoint`.
        comes: The event that brings it, such as `the micro-batch that carries the savepoint`.
        must_wait: The reason why a batch run delays it, such as `cannot give a savepoint before it is done`.
        error: Class of the errors.
        later: End of the hint of a time limit.
    """

    subject: str
    done: str
    comes: str
    must_wait: str
    error: type[PenstockError]
    later: str


class AnswerOfJob:
    """Waits for the answer of a job to one request."""

    def __init__(self, job: ObservedJob, awaited: Awaited, report: Callable[[str], None]) -> None:
        """Prepare; `report` is called when what the job does changes."""
        self._job = job
        self._show = report
        self._awaited = awaited
        self._reported = ""

    def wait(
        self,
        answer: Callable[[], T | None],
        withdraw: Callable[[], None],
        limit: timedelta | None,
    ) -> T:
        """Return the answer, once it is there."""
        begun = look_at = time.monotonic()
        try:
            while True:
                now = time.monotonic()
                if now >= look_at:  # before the answer: always report the job
                    look_at = now + _LOOK_SECONDS
                    self._report_job(answer)
                result = answer()
                if result is not None:
                    return result
                if limit is not None and now - begun >= limit.total_seconds():
                    raise self._timeout(limit)
                time.sleep(_POLL_SECONDS)
        finally:
            withdraw()

    def _report_job(self, answer: Callable[[], T | None]) -> None:
        """Report the state of the job, or that no driver runs it."""
        awaited = self._awaited
        if not self._job.is_running() and answer() is None:
            raise awaited.error(
                f"the driver of job {self._job.name!r} ended before it {awaited.done}",
                hint="Start the job again and repeat this command.",
            )
        run = self._job.run_without_savepoint()
        if run is None:
            self._report(f"waiting for {awaited.comes}")
        else:
            self._report(
                f"the job is in its {run}, which {awaited.must_wait}; waiting for the live run"
            )

    def _report(self, text: str) -> None:
        if text != self._reported:
            self._reported = text
            self._show(text)

    def _timeout(self, limit: timedelta) -> PenstockError:
        after = human_duration(limit.total_seconds())
        run = self._job.run_without_savepoint()
        doing = "" if run is None else f"; the job is still in its {run}"
        return self._awaited.error(
            f"no {self._awaited.subject} after {after}{doing}",
            hint=f"Wait longer with --timeout, or look at the progress of the job: {self._awaited.later}",
        )
