"""The positions up to which the history of a changed program is read: of a savepoint, or of a job that goes on.

    round 0     up to the newest epoch of the job
    rounds …    up to its newest epoch, each shorter than the one before
    last round  up to the savepoint with which the job is stopped

A round of a running job has the positions of an epoch that is recorded, which no restart takes back. No savepoint is
needed for them: it would have the state of all operators, which the last one replaces. The position of a round is recorded
before it is read, so that a later driver reads up to the same one.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from penstock.config.configuration import Configuration
from penstock.config.options import EVOLUTION_JOB, RECOVERY_PATH
from penstock.failpoint import failpoint
from penstock.filesystem.stored_path import JobPath
from penstock.spark.driver.restore import fetched_savepoint
from penstock.spark.job.job_directory import JobDirectory
from penstock.spark.job.mounted_path import checkpoint_path
from penstock.spark.job.observed_job import ObservedJob
from penstock.spark.savepoints.job_savepoints import STOPPED
from penstock.spark.savepoints.requested_savepoint import stop_for_successor
from penstock.spark.session.settings import early_object_settings
from penstock.spark.upgrade.program_part import SAVEPOINT
from penstock.spark.upgrade.stored_program import manifest_at
from penstock.state.savepoint import MANIFEST, Savepoint
from penstock.wire.atomic_file import (
    PRIVATE_DIRECTORY,
    create_directory,
    read_verified,
    write_verified,
)

TARGET = "target.json"
"""File of a round with its positions."""

_SAVEPOINT = "savepoint"


@dataclass(frozen=True, slots=True)
class Start:
    """The start of a job from stored state.

    Attributes:
        stopped: Time at which the earlier job was stopped, on the monotonic clock; None if this process did not stop it.
        is_published: True if its begin was published, before the history was read.
    """

    configuration: Configuration
    stopped: float | None = None
    is_published: bool = False


@dataclass(frozen=True, slots=True)
class LastPosition:
    """The savepoint from which kept operators go on.

    Attributes:
        configured: The place that `execution.state-recovery.path` names.
        path: Where it can be read.
        stopped: See `Start`.
    """

    configured: str
    path: JobPath
    savepoint: Savepoint
    stopped: float | None = None

    def start(self, configuration: Configuration) -> Start:
        """Return the start from this savepoint alone."""
        named = {RECOVERY_PATH.key: self.configured}
        return Start(configuration.layered("evolution", named, is_final=True), self.stopped)


class StoredState(ABC):
    """The state that a changed program takes over."""

    place: str

    @property
    @abstractmethod
    def is_moving(self) -> bool:
        """True if its positions may change until `last` is called."""

    @abstractmethod
    def now(self) -> Savepoint:
        """Return its program and positions now."""

    @abstractmethod
    def last(self) -> LastPosition:
        """Return the savepoint with which it stands still; stop its job if that runs."""


class _OfSavepoint(StoredState):
    """A savepoint."""

    def __init__(self, directory: JobDirectory, configured: str, settings: Configuration) -> None:
        path, savepoint, place = fetched_savepoint(directory, configured, settings)
        self._last = LastPosition(configured, path, savepoint)
        self.place = f"savepoint {place}"

    @property
    def is_moving(self) -> bool:
        return False

    def now(self) -> Savepoint:
        return self._last.savepoint

    def last(self) -> LastPosition:
        return self._last


class _OfJob(StoredState):
    """A job in its checkpoint directory, which may run."""

    def __init__(self, directory: JobDirectory, path: JobPath, settings: Configuration) -> None:
        self._directory = directory
        self._job = ObservedJob.at(path)
        self._path = path
        self._settings = settings
        self.place = f"job {path}"

    @property
    def is_moving(self) -> bool:
        return self._job.record(STOPPED) is None and self._job.is_running()

    def now(self) -> Savepoint:
        return manifest_at(self._path, early_object_settings(self._settings))

    def last(self) -> LastPosition:
        stopped, is_stopped = None, self._job.record(STOPPED) is not None
        configured = stop_for_successor(self._job)
        if not is_stopped:
            stopped = time.monotonic()
            failpoint("rounds.stopped")
        path, savepoint, _ = fetched_savepoint(self._directory, configured, self._settings)
        return LastPosition(configured, path, savepoint, stopped)


def stored_state(directory: JobDirectory, settings: Configuration) -> StoredState | None:
    """Return the state that a new job takes over; None if it begins without."""
    job = settings.get(EVOLUTION_JOB)
    if job is not None:
        path = checkpoint_path(job, early_object_settings(settings))
        return _OfJob(directory, path, settings)
    configured = settings.get(RECOVERY_PATH)
    return None if configured is None else _OfSavepoint(directory, configured, settings)


@dataclass(slots=True)
class Rounds:
    """Chooses the positions of the rounds.

    Attributes:
        limit_seconds: Duration of a round behind which the next one is the last.
    """

    stored: StoredState
    limit_seconds: float
    _begun: float | None = field(init=False, default=None)
    _took: float | None = field(init=False, default=None)

    def target(self, path: JobPath) -> tuple[Savepoint, LastPosition | None]:
        """Return the positions of the round in a directory, and the savepoint that has them if it is the last."""
        if not (path / TARGET).exists():
            self._choose(path)
        recorded = read_verified(path / TARGET)
        is_complete = (path / SAVEPOINT / MANIFEST).exists()
        self._begun = None if is_complete else time.monotonic()
        if recorded["is_last"]:
            last = self.stored.last()
            return last.savepoint, last
        return Savepoint.from_json(recorded[_SAVEPOINT]), None

    def _choose(self, path: JobPath) -> None:
        took = None if self._begun is None else time.monotonic() - self._begun
        is_last = not self.stored.is_moving or (took is not None and self._is_enough(took))
        self._took = took
        chosen = {} if is_last else {_SAVEPOINT: self.stored.now().to_json()}
        for directory in (path.parent, path):
            create_directory(directory, PRIVATE_DIRECTORY)
        write_verified(path / TARGET, {"is_last": is_last, **chosen})
        failpoint("rounds.chosen")

    def _is_enough(self, took: float) -> bool:
        """Return whether a round was short, or no shorter than the one before."""
        return took <= self.limit_seconds or (self._took is not None and took >= self._took)
