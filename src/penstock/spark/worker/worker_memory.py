"""The cache of a worker process: the subtasks of live runs, between micro-batches.

A worker executes tasks of all levels of a run, of each attempt of a restarted job, and of other jobs of
the same session. Spark does not tell it when a run ends, so each task contains the facts that its driver
knew when the run started:

    an earlier attempt of the same run   removed: the new attempt owns its state
    a run that has ended                 removed
    a run without tasks for minutes      removed; if a task comes later, its state is read again
    any other run                        cached: jobs of one session run concurrently

Removed subtasks are closed: `close` of user functions is called. The task that removes them is of another attempt or job,
which does not fail because one of them cannot be closed; the log has it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Protocol

_IDLE_SECONDS = 600.0
_ENDED_RUNS = 200

_logger = logging.getLogger("penstock")


class Closeable(Protocol):
    """A cached object."""

    def close(self) -> None:
        """Close it."""


@dataclass(frozen=True, slots=True)
class LiveAttempt:
    """The attempt of a live run that a task belongs to, and the runs that have ended.

    Attributes:
        run: Job id and run.
        number: Number of the attempt: epoch of the driver, restarts within it.
        ended: Other runs that had ended when the run started.
    """

    run: str
    number: tuple[int, int]
    ended: frozenset[str] = frozenset()


@dataclass(slots=True)
class WorkerMemory:
    """The cached objects by run."""

    clock: Callable[[], float] = time.monotonic
    _runs: dict[str, _OfRun] = field(default_factory=dict)

    def of(self, attempt: LiveAttempt) -> dict[Hashable, Closeable]:
        """Return the cached objects of an attempt, to be changed in place; close those of ended runs."""
        now = self.clock()
        known = self._runs.get(attempt.run)
        if known is not None and known.number > attempt.number:
            return {}  # a late task of an earlier attempt: its objects are not cached
        if known is None or known.number < attempt.number:
            self._forget(attempt, now)
            known = self._runs[attempt.run] = _OfRun(attempt.number)
        known.used = now
        return known.kept

    def _forget(self, attempt: LiveAttempt, now: float) -> None:
        for run, known in list(self._runs.items()):
            idle = now - known.used > _IDLE_SECONDS
            if run == attempt.run or run in attempt.ended or idle:
                del self._runs[run]
                for part in known.kept.values():
                    _close(part, run)


@dataclass(slots=True)
class _OfRun:
    number: tuple[int, int]
    kept: dict[Hashable, Closeable] = field(default_factory=dict)
    used: float = 0.0


def _close(part: Closeable, run: str) -> None:
    try:
        part.close()
    except Exception as failure:  # noqa: BLE001 - of the user's code, in a task of somebody else
        _logger.warning("a subtask of run %s could not be closed: %s", run, failure)


memory = WorkerMemory()
"""The cache of this worker process."""

_ended: dict[str, None] = {}
_ended_lock = threading.Lock()
"""In the driver: live runs that ended in this process, the latest last."""


def note_ended(run: str) -> None:
    """Record in the driver that a run has ended, or that an attempt of it has failed."""
    with _ended_lock:
        _ended[run] = None
        if len(_ended) > _ENDED_RUNS:
            del _ended[next(iter(_ended))]


def live_attempt(run: str, number: tuple[int, int]) -> LiveAttempt:
    """Return in the driver the attempt for its tasks. The run has not ended."""
    with _ended_lock:
        _ended.pop(run, None)
        return LiveAttempt(run, number, frozenset(_ended))
