"""The records of the epochs of one live run: its positions, what an epoch reads, and the outcome.

A record is the commit of its epoch. This module has its parts that are not state:

    positions    next position of every split, delivered ends, the control event of the epoch
    outcome      committables of sinks, names of state files, the merged report

The outcome is a pickle, because committables are objects of sinks. It has the keyed digest of the job,
and is not unpickled without it.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future, wait
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from penstock.plan.physical import RunPlan
from penstock.spark.driver.run_context import JobContext
from penstock.spark.driver.sink_stage import StagedEpoch
from penstock.spark.job.state_layout import LAYOUT
from penstock.state.log.epoch_log import EpochLog, write_settled
from penstock.state.log.epoch_record import EPOCHS, EpochRecord
from penstock.state.log.log_merge import Merge
from penstock.state.log.subtask_log import LogChange, LogName, LogView

HANDOVER = "handover"


Row = dict[str, Any]
"""A row with names of `RANGES_DDL`."""


class FirstPart(Protocol):
    """First part of a source that a run reads."""

    @property
    def source(self) -> int:
        """Id of the source."""

    @property
    def begin(self) -> tuple[int, ...]:
        """The first position of every split."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """Ids of the splits; None if they are known by their numbers."""


@dataclass(frozen=True, slots=True)
class EpochPositions:
    """The positions of a live run at the end of an epoch.

    Attributes:
        of_splits: Source id to the next position of every split of the part that it reads. Files are one split, and
            positions their numbers.
        is_handed_over: True if the state was handed over.
        names: Source id to the ids of its splits, of sources that name them; in order of discovery.
        parts: Source id to the index of the part that it reads, of sources that have left their first.
    """

    of_splits: Mapping[int, tuple[int, ...]]
    ended: frozenset[int] = frozenset()
    is_handed_over: bool = False
    names: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    parts: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def before(cls, readings: Sequence[FirstPart]) -> EpochPositions:
        """Return the positions before the first epoch, given the first part of each source."""
        of_splits = {reading.source: reading.begin for reading in readings}
        names = {reading.source: reading.names for reading in readings if reading.names is not None}
        return cls(of_splits, names=names)

    def to_json(self) -> dict[str, Any]:
        """Return the form to record."""
        names = {str(source): list(names) for source, names in self.names.items()}
        parts = {str(source): part for source, part in self.parts.items()}
        return {
            "at": {str(source): list(positions) for source, positions in self.of_splits.items()},
            "ended": sorted(self.ended),
            "handed_over": self.is_handed_over,
            **({"names": names} if names else {}),
            **({"parts": parts} if parts else {}),
        }

    @classmethod
    def from_json(cls, recorded: Mapping[str, Any]) -> EpochPositions:
        """Return the object that `to_json` encoded."""
        of_splits, names = (
            {int(source): tuple(values) for source, values in recorded.get(name, {}).items()}
            for name in ("at", "names")
        )
        parts = {int(source): part for source, part in recorded.get("parts", {}).items()}
        return cls(of_splits, frozenset(recorded["ended"]), recorded["handed_over"], names, parts)


@dataclass(frozen=True, slots=True)
class PlannedEpoch:
    """The input of one epoch.

    Attributes:
        tasks: The rows of each task of level 0; there is at least one task.
        event: The hand-over or savepoint in it; None if it has none.
        is_single_task: True if one task runs all its stages; then `tasks` is one.
        files: Source id and part to the position of the first of its files, and that behind the last.
    """

    tasks: tuple[tuple[Row, ...], ...]
    after: EpochPositions
    event: str | None
    is_single_task: bool = False
    files: Mapping[tuple[int, int], tuple[int, int]] = field(default_factory=dict)


_DIGEST_CHARACTERS = 64


@dataclass(frozen=True, slots=True)
class RecordedEpoch:
    """An epoch that counts.

    Attributes:
        event: The control event that it delivered: a hand-over or a savepoint; None if it had none.
        staged: The staged output, which is to be committed.
        layout: Fingerprint of the plan whose subtasks the logs are of.
    """

    number: int
    positions: EpochPositions
    event: str | None
    staged: StagedEpoch
    layout: str


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

    def drop_logs(self) -> None:
        """Begin with new logs in the next epoch; until it is recorded, those there are count."""
        self._log.drop_logs()

    def open(self) -> RecordedEpoch | None:
        """Read the records; return the newest, None if there is none.

        A merge in progress is dropped: the log removes temporary files when it is opened.
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

        It raises FileExistsError if another driver has added it.
        """
        # Values for display are not needed again, and there are some for each operator and subtask.
        report = replace(staged.report, subtask_records={}, split_watermarks={}, state_keys={})
        packed = pickle.dumps((staged.committables, staged.state_files, report), 5)
        digest = self._directory.digest_of(packed)
        number = self._log.next_epoch
        layout = self._directory.fingerprint
        record: dict[str, Any] = {**positions.to_json(), "event": event, LAYOUT: layout}
        fence = self._directory.fence
        self._log.put(number, record, changes, digest.encode() + packed, may_put=fence)
        return RecordedEpoch(number, positions, event, staged, layout)

    def settle(self, recorded: RecordedEpoch) -> None:
        """Note that nothing is left to do for an epoch; see `settled_epoch`."""
        write_settled(self._path, recorded.number)

    def merge(self, threads: Executor) -> None:
        """Merge logs with many small extents, in another thread; called after each epoch."""
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
            record.positions[LAYOUT],
        )
