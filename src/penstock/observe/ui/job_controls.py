"""Actions of the page on jobs, and their outcomes.

    begin           begins an action, unless the same one is under way
    requested_of    each requested action: under way, done, or the reason of its failure

`access` checks the permission.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from penstock.errors import PenstockError


class JobAction(Enum):
    """Action of a page on a job; the values are in addresses."""

    SAVEPOINT = "savepoint"
    STOP_WITH_SAVEPOINT = "stop-with-savepoint"
    STOP = "stop"


class Answer(Protocol):
    """A future."""

    def done(self) -> bool:
        """Return whether there is a result or an error, or it was cancelled."""

    def cancelled(self) -> bool:
        """Return whether it was cancelled."""

    def exception(self) -> BaseException | None:
        """Wait, and return the error, None if there is a result."""


JobControl = Mapping[JobAction, Callable[[], Answer]]
"""Actions of a job: each one to what begins it, which returns soon, or raises a `PenstockError`."""


@dataclass(frozen=True, slots=True)
class _Requested:
    """A requested action.

    Attributes:
        at_ms: Time of the request, in epoch milliseconds.
    """

    answer: Answer
    at_ms: int

    def to_json(self) -> dict[str, Any]:
        """Return its form for the page."""
        answer, problem = self.answer, None
        if answer.done() and not answer.cancelled():
            error = answer.exception()
            if error is not None:
                problem = error.problem if isinstance(error, PenstockError) else str(error)
        return {"is_open": not answer.done(), "problem": problem, "at_ms": self.at_ms}


class JobControls:
    """The jobs that may be controlled. Thread-safe."""

    def __init__(self) -> None:
        self._jobs: dict[str, JobControl] = {}
        self._requested: dict[tuple[str, JobAction], _Requested] = {}
        self._lock = threading.Lock()

    def add(self, job_id: str, control: JobControl) -> None:
        """Add a job; another driver's of the same id is replaced."""
        with self._lock:
            self._jobs[job_id] = control

    def remove(self, job_id: str) -> None:
        """Remove a job that is over."""
        with self._lock:
            self._jobs.pop(job_id, None)
            self._requested = {
                key: requested for key, requested in self._requested.items() if key[0] != job_id
            }

    def begin(self, job_id: str, action: JobAction) -> bool:
        """Begin an action, unless it is under way; return False if the job is over, or runs elsewhere."""
        with self._lock:
            begin = self._jobs.get(job_id, {}).get(action)
            if begin is None:
                return False
            before = self._requested.get((job_id, action))
            if before is None or before.answer.done():
                self._requested[job_id, action] = _Requested(begin(), time.time_ns() // 1_000_000)
            return True

    def actions_of(self, job_id: str) -> tuple[str, ...]:
        """Return the actions that a job accepts, in the order of `JobAction`."""
        with self._lock:
            control = self._jobs.get(job_id, {})
        return tuple(action.value for action in JobAction if action in control)

    def requested_of(self, job_id: str) -> dict[str, dict[str, Any]]:
        """Return each requested action of a job, with `is_open`, `problem` and `at_ms`."""
        with self._lock:
            requests = [
                (action.value, one) for (of, action), one in self._requested.items() if of == job_id
            ]
        return {action: one.to_json() for action, one in requests}


def in_thread(work: Callable[[], object]) -> Answer:
    """Call what takes long in a thread of its own, which does not keep the process alive."""
    future: Future[None] = Future()

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - the answer has it
            future.set_exception(error)
        else:
            future.set_result(None)

    threading.Thread(target=run, name="penstock-ui-action", daemon=True).start()
    return future
