"""The schedule of a run in this process: its micro-batches and injected failures."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from penstock.errors import ArgumentError
from penstock.state.log.change_log import MIN_COMPACT_BYTES


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
