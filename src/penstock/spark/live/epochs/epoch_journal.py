"""The records of the epochs of one live run, with their outcome.

A record is the commit of its epoch. What is in it and is not state, is here:

    positions    next position of every split, delivered ends, the control event of the epoch
    outcome      committables of sinks, names of state files, the merged report

The outcome is a pickle, because committables are objects of sinks. It has the keyed digest of the job,
and is not unpickled without it.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from concurrent.futures import Executor, Future, wait
from dataclasses import dataclass, replace
from typing import Any

from penstock.plan.physical import RunPlan
from penstock.spark.driver.run_context import JobContext
from penstock.spark.driver.sink_stage import StagedEpoch
from penstock.spark.live.epochs.epoch_positions import EpochPositions
from penstock.state.log.epoch_log import EpochLog, write_settled
from penstock.state.log.epoch_record import EPOCHS, EpochRecord
from penstock.state.log.log_merge import Merge
from penstock.state.log.subtask_log import LogChange, LogName, LogView

_DIGEST_CHARACTERS = 64


@dataclass(frozen=True, slots=True)
class RecordedEpoch:
    """An epoch that counts.

    Attributes:
        number: From 0.
        positions: The positions at its end.
        event: The control event that it delivered: a hand-over or a savepoint; None if it had none.
        staged: The staged output, which is to be committed.
    """

    number: int
    positions: EpochPositions
    event: str | None
    staged: StagedEpoch


class EpochJournal:
    """Reads and adds the records of one live run."""

    def __init__(self, job: JobContext, run: RunPlan) -> None:
        self._directory = job.directory
        self._name = f"run-{run.index}/{EPOCHS}"
        self._path = job.directory.run_directory(run.index, EPOCHS)
        self._log = EpochLog(self._path)
        self._merging: tuple[Merge, Future[None]] | None = None

    @property
    def next_number(self) -> int:
        """Number of the next epoch."""
        return self._log.next_epoch

    def open(self) -> RecordedEpoch | None:
        """Read the records; return the newest, None if there is none.

        A merge in progress is dropped: the log removes temporary files when it is opened.

        Raises:
            StateError: A record or a file that one names is missing or damaged.
            JobDirectoryError: This job did not write the outcome.
        """
        if self._merging is not None:
            wait([self._merging[1]])
            self._merging = None
        record = self._log.open()
        return None if record is None else self._decode(record)

    def view(self, name: LogName) -> LogView:
        """Return the log of a subtask as of the newest record."""
        return self._log.view(name)

    def put(
        self,
        positions: EpochPositions,
        event: str | None,
        staged: StagedEpoch,
        changes: Iterable[LogChange],
    ) -> RecordedEpoch:
        """Add the record of the next epoch, which commits it.

        Raises:
            FileExistsError: Another driver has added it.
            JobFencedError: Another driver has taken over.
            OSError: It cannot be written.
        """
        # What is only shown is not needed again, and there is some of each operator and subtask.
        report = replace(staged.report, subtask_records={}, split_watermarks={}, state_keys={})
        packed = pickle.dumps((staged.committables, staged.state_files, report), 5)
        digest = self._directory.digest_of(packed)
        number = self._log.next_epoch
        said: dict[str, Any] = {**positions.to_json(), "event": event}
        fence = self._directory.fence
        self._log.put(number, said, changes, digest.encode() + packed, may_put=fence)
        return RecordedEpoch(number, positions, event, staged)

    def settle(self, recorded: RecordedEpoch) -> None:
        """Note that nothing is left to do for an epoch; see `settled_epoch`.

        Raises:
            OSError: It cannot be written.
        """
        write_settled(self._path, recorded.number)

    def merge(self, threads: Executor) -> None:
        """Merge logs with many small extents, in another thread; called after each epoch.

        Raises:
            OSError: A segment file could not be written, since the last call.
            StateError: A file that was to be merged is damaged.
        """
        if self._merging is None:
            planned = self._log.plan_merge()
            if planned is not None:
                self._merging = planned, threads.submit(planned.write)
            return
        merge, written = self._merging
        if written.done():
            self._merging = None
            written.result()
            self._log.adopt(merge)

    def _decode(self, record: EpochRecord) -> RecordedEpoch:
        digest = record.outcome[:_DIGEST_CHARACTERS].decode(errors="replace")
        packed = record.outcome[_DIGEST_CHARACTERS:]
        self._directory.check_digest(packed, digest, f"{self._name}, epoch {record.epoch}")
        committables, state_files, report = pickle.loads(packed)
        return RecordedEpoch(
            record.epoch,
            EpochPositions.from_json(record.positions),
            record.positions["event"],
            StagedEpoch(committables, state_files, report),
        )
