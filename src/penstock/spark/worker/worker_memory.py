"""What a worker process keeps of live runs between micro-batches, and when it lets go.

A worker serves whatever Spark sends it: the levels of a run, each attempt of a job that is restarted,
other jobs of the same session, one after the other or in turns. Nobody tells it that something is
over, so each task brings along what its driver knew when the query started:

    an earlier attempt of the same run   over: the state it kept is that of the new attempt
    a run that has ended                 over
    a run nobody asked for in minutes    let go; should it come again, its state is read anew
    any other run                        kept: jobs of one session work in turns

What is let go is closed: user functions get their `close`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Protocol

_IDLE_SECONDS = 600.0
_ENDED_RUNS = 200


class Closing(Protocol):
    """Something that is kept."""

    def close(self) -> None:
        """Let go of it."""


@dataclass(frozen=True, slots=True)
class LiveAttempt:
    """Whom a task of a live run belongs to, and what its driver knows to be over.

    Attributes:
        run: Job id and run.
        number: Orders the attempts of a run: epoch of the driver, restarts within it.
        ended: Other runs that had ended.
    """

    run: str
    number: tuple[int, int]
    ended: frozenset[str] = frozenset()


@dataclass(slots=True)
class WorkerMemory:
    """What is kept, by run."""

    clock: Callable[[], float] = time.monotonic
    _runs: dict[str, _OfRun] = field(default_factory=dict)

    def of(self, attempt: LiveAttempt) -> dict[Hashable, Closing]:
        """Return what is kept for an attempt, to be changed in place; close what is over."""
        now = self.clock()
        known = self._runs.get(attempt.run)
        if known is not None and known.number > attempt.number:
            return {}  # a task that comes late: nobody wants what it leaves
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
                    part.close()


@dataclass(slots=True)
class _OfRun:
    number: tuple[int, int]
    kept: dict[Hashable, Closing] = field(default_factory=dict)
    used: float = 0.0


memory = WorkerMemory()
"""Of this worker process."""

_ended: dict[str, None] = {}
_ended_lock = threading.Lock()
"""In the driver: live runs that ended in this process, the latest last."""


def note_ended(run: str) -> None:
    """Tell, in the driver, that a run has ended, or that an attempt of it has failed."""
    with _ended_lock:
        _ended[run] = None
        if len(_ended) > _ENDED_RUNS:
            del _ended[next(iter(_ended))]


def live_attempt(run: str, number: tuple[int, int]) -> LiveAttempt:
    """Return, in the driver, what tasks of an attempt bring along. Its run goes on."""
    with _ended_lock:
        _ended.pop(run, None)
        return LiveAttempt(run, number, frozenset(_ended))
