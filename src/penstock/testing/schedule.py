"""The schedule of a run in this process: its micro-batches, injected failures, and the steps of an attempt."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeVar

from penstock.errors import ArgumentError
from penstock.state.log.change_log import MIN_COMPACT_BYTES

_OFTEN = 0.15
"""Share of the attempts of micro-batches that fail at a free point, and of the workers that are lost before one."""

_OFTEN_IN_BATCH = 0.5
"""Share of the attempts of a batch run, which are few."""

BATCH_RUN = -1
"""Stands for the number of a micro-batch."""

_MOST_STEPS = 6
"""Free points are within as many doublings of the first step."""


class Failure(Enum):
    """The step at which an attempt fails."""

    WHILE_WRITING = auto()
    """While it writes its changed state."""

    AFTER_IT_ENDED = auto()
    """After all its writes, before the commit of the micro-batch."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The micro-batches and failures of a run. They must not change the results.

    Micro-batches are numbered from 0 over all live runs of a job.

    Attributes:
        tasks: Tasks per level of a batch run; None is the parallelism.
        batch_sizes: Records of each split in micro-batch 0, 1, …; after the last number the first
            one follows. A 0 is a micro-batch without records.
        frame_records: Records per frame.
        restart_every: Number of micro-batches after which all workers are lost, with the local
            copies of state.
        workers: Workers that take turns at each subtask, each with a local copy.
        fail_every: Number of micro-batches after which the first attempt of each subtask fails:
            alternately while it writes its state, and after its end.
        compact_bytes: Size of the changes in a state log at which it is compacted.
        stop_after: Number of micro-batches after which an unbounded live run is stopped.
        backend: `state.backend.type`.
        points: Seed of free points, at which the worker of a single subtask is lost and first attempts fail, at any
            step; None is no such points.
        turns: Order in which a live run reads its sources: 0 is all together, 1 one after the other, -1 the last one
            first.

    Example:
        >>> totals = numbers.key_by(lambda n: "all").sum()
        >>> collect(totals, Schedule(batch_sizes=(1, 2), restart_every=1, fail_every=2))
        [1, 3, 6, 10]
    """

    tasks: int | None = None
    batch_sizes: tuple[int, ...] = (100,)
    frame_records: int = 4096
    restart_every: int | None = None
    workers: int = 1
    fail_every: int | None = None
    compact_bytes: int = MIN_COMPACT_BYTES
    stop_after: int | None = None
    backend: str = "hashmap"
    points: int | None = None
    turns: int = 0

    def __post_init__(self) -> None:
        """Check.

        Raises:
            ArgumentError: A number is too small, or no batch size is positive.
        """
        if self.backend not in {"hashmap", "lmdb"}:
            raise ArgumentError.here(
                f"a schedule cannot have backend={self.backend!r}", hint="Use 'hashmap' or 'lmdb'."
            )
        least_one = {
            name: getattr(self, name)
            for name in (
                "tasks",
                "frame_records",
                "restart_every",
                "workers",
                "fail_every",
                "stop_after",
            )
        }
        wrong = {name: n for name, n in least_one.items() if n is not None and n < 1}
        if wrong or min(self.batch_sizes, default=0) < 0 or not any(self.batch_sizes):
            raise ArgumentError.here(
                f"a schedule cannot have {wrong or f'batch_sizes={self.batch_sizes}'}",
                hint="Use numbers from 1; in batch_sizes at least one of them, and 0 else.",
            )

    def batch_size(self, batch: int) -> int:
        """Return the number of records of each split in a micro-batch.

        Args:
            batch: Number of the micro-batch, from 0.

        Example:
            >>> [Schedule(batch_sizes=(1, 2)).batch_size(batch) for batch in range(4)]
            [1, 2, 1, 2]
        """
        return self.batch_sizes[batch % len(self.batch_sizes)]

    def restarts_before(self, batch: int) -> bool:
        """Return whether all workers are lost before a micro-batch.

        Args:
            batch: Number of the micro-batch, from 0.

        Example:
            >>> [Schedule(restart_every=2).restarts_before(batch) for batch in range(4)]
            [False, False, True, False]
        """
        return self.restart_every is not None and batch > 0 and batch % self.restart_every == 0

    def fails_in(self, batch: int) -> Failure | None:
        """Return the failure of the first attempts of a micro-batch, None if they do not fail.

        Args:
            batch: Number of the micro-batch, from 0.

        Example:
            >>> Schedule(fail_every=2).fails_in(0) is None
            True
        """
        if self.fail_every is None or (batch + 1) % self.fail_every:
            return None
        turn = (batch + 1) // self.fail_every
        return Failure.WHILE_WRITING if turn % 2 else Failure.AFTER_IT_ENDED

    def loses_worker(self, batch: int, level: int, subtask: int) -> bool:
        """Return whether a free point is before a micro-batch of a subtask, so that its worker is lost.

        Args:
            batch: Number of the micro-batch, from 0.
            level: Index of the level.
            subtask: Index of the subtask.

        Example:
            >>> sum(Schedule(points=2).loses_worker(batch, 1, 0) for batch in range(100))
            13
        """
        rng = self._draws("lost", batch, level, subtask)
        return rng is not None and rng.random() < _OFTEN

    def fails_at(self, batch: int, level: int, subtask: int) -> int | None:
        """Return the number of steps before the free point at which a first attempt fails; None if it has none.

        Args:
            batch: Number of the micro-batch, from 0; or `BATCH_RUN`.
            level: Index of the level.
            subtask: Index of the subtask.

        Example:
            >>> [Schedule(points=2).fails_at(batch, 1, 0) for batch in range(6)]
            [6, None, 0, None, None, 0]
        """
        rng = self._draws("failed", batch, level, subtask)
        often = _OFTEN_IN_BATCH if batch == BATCH_RUN else _OFTEN
        if rng is None or rng.random() >= often:
            return None
        return rng.randrange(1 << rng.randrange(_MOST_STEPS))

    def _draws(self, *place: object) -> random.Random | None:
        """Return the draws of a place; they depend on nothing that has run before."""
        if self.points is None:
            return None
        return random.Random(f"{self.points} {place}")  # noqa: S311 - examples, not secrets


T = TypeVar("T")


class AttemptFailed(BaseException):
    """Ends an attempt on purpose; it is no `Exception`, so that no handler of errors catches it."""


class Steps:
    """Counts the steps of an attempt, and ends it behind the last one that it is given."""

    def __init__(self, left: int | None = None) -> None:
        """Begin, with the number of steps before the failure; None is no failure at a step."""
        self._left = left

    def step(self) -> None:
        """Count a step, and raise `AttemptFailed` if none is left."""
        if self._left is None:
            return
        if self._left == 0:
            raise AttemptFailed
        self._left -= 1

    def through(self, items: Iterable[T]) -> Iterator[T]:
        """Yield items, each behind a step."""
        for item in items:
            self.step()
            yield item
