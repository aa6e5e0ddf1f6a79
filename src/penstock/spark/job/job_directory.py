"""The checkpoint directory of a job: its owner, the identity of the job, and its progress.

    job.json              the job's identity and shape
    lock                  locked by the driver that runs the job (see `job_lock`)
    owner.json            that driver and its epoch: a driver with an older epoch cannot commit
    parallelism.json      the parallelism of later starts (see `later_parallelism`)
    functions.json        digests of the functions of the last start (see `driver.changed_functions`)
    cuts.json             where the backlog of sources ends, if it is decided once per job
    snapshot-3.json       the snapshot of source 3 is complete
    snapshots/            files of snapshots; they stay, since a restart reads them again
    run-0.pinned.json     the input of the run, decided before it reads
    run-0.staged.json     a batch run is complete, its sinks are not committed
    run-0.done.json       sinks are committed, state is ready for the next run
    run-1.outline.json    the facts about the plan for savepoints of a live run
    run-1.outline-before.json  the same of its newest epoch, if the run goes on with another parallelism
    run-1.savepoint.json  what a pipeline has added to a savepoint that others have not yet added to
    restored.json         the savepoint the job started from, and the positions it continues at
    stopped.json          the job was stopped with a savepoint
    handed-over.json      its sinks belong to another job (see `penstock.spark.upgrade.handover`)
    generation-1/         the job itself, after it was handed over (see `generations`)
    finished.json         the whole job has ended
    run-0/snapshot/       state of the hand-over, Parquet rows (operator, key_group, blob), until
                          the next run's checkpoint contains it (see `run_bounds`)
    run-1/epochs/         records and segments of a loop of epochs (see `penstock.state.log.epoch_log`)
    run-1/rescaled/       state of a live run that goes on with another parallelism (see `rescaled_run`)
    restored/             state files of the savepoint the job started from, also until then
    run-1/dataframe-3-0/  files of a batch DataFrame (see `penstock.spark.sources.listing.frame_writer`)
    run-1/stream-3-0/     micro-batches of a streaming one (see `penstock.spark.sources.listing.stream_writer`)
    bootstrap/            what reads the history of a changed program (see `penstock.spark.upgrade`), until `restored`
    shadow/               the positions up to which a shadow reads the history (see `penstock.spark.upgrade.shadow`)
    outputs/              what its sinks write
    unpublished/          a file per sink with output that readers do not see yet
    requests/             requests for savepoints and for another parallelism, and their results
    savepoints/           savepoints without another target directory
    spool/                records for the driver (print, collect)
    events/               the log of the job's events (see `penstock.observe.events.event_log`)

Every file with a name in this list is written atomically (temporary file, fsync, rename) and has a
checksum; those of a temporary directory, which no other driver looks for, are not forced to the disk. In a store of objects the steps have other names, and `drivers/` is there instead of lock and owner: see `job_steps` and
`stored_lock`. A step is recorded after its effect, and an effect without a record can be repeated. So a
driver may be killed at any point; the next one finishes the job.
"""

from __future__ import annotations

import hmac
import re
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from penstock.config.options import MAX_PARALLELISM
from penstock.errors import (
    RESTORE_CHECKPOINTS,
    JobDirectoryError,
    JobFencedError,
    JobHandedOverError,
    JobMismatchError,
)
from penstock.filesystem.stored_path import JobPath, StoredPath, mounted
from penstock.observe.events.event_log import DIRECTORY as EVENTS_DIRECTORY
from penstock.plan.compat.fingerprint import (
    describe_shape,
    fingerprint,
    first_difference,
    may_have_key_groups,
    without_parallelism,
)
from penstock.plan.physical import PhysicalPlan
from penstock.spark.job.job_lock import LOCK, JobLock, owner_of, take_lock
from penstock.spark.job.job_steps import (
    KEY_GROUPS,
    PIPELINES,
    STEPS,
    RecordedSteps,
    recording,
    steps_of,
)
from penstock.spark.job.mounted_path import checkpoint_path
from penstock.spark.job.stored_lock import DRIVERS, StoredLock, check_can_be_stored
from penstock.wire.atomic_file import (
    PRIVATE_DIRECTORY,
    create_directory,
)
from penstock.wire.fence import OWNER, Fence
from penstock.wire.job_files import remove_tree

_FORMAT = 1
_PINNED = re.compile(r"run-\d+\.pinned")
_STAGED = re.compile(r"run-\d+\.staged")
_KEY = "key"
"""Version of generated uids."""
BOOTSTRAP = "bootstrap"
"""Directory of what reads the history of a changed program."""

HANDED_OVER = "handed-over"
"""The step of a job whose sinks belong to another one."""

SHADOW = "shadow"
"""Directory of the positions up to which a shadow reads the history."""


def bootstrap_round(directory: JobPath, number: int) -> JobPath:
    """Return the directory of one round of reading the history of a changed program."""
    return directory / BOOTSTRAP / f"round-{number}"


def has_staged(job: JobPath) -> bool:
    """Return whether a batch run of a job may have written to its sinks."""
    return job.exists() and any(_STAGED.fullmatch(name) for name in steps_of(job).names())


def snapshot_step(source: int) -> str:
    """Return the step at which the snapshot of a source is complete."""
    return f"snapshot-{source}"


class JobDirectory:
    """An opened and locked checkpoint directory.

    Attributes:
        job_id: Identifies the job across restarts; safe in file names.
        is_temporary: True if the user set no directory, so that it is removed at the end.
        is_new: True if the directory contained no job when it was opened, and nothing was written for it since.
        plan: The plan of the job, with the uids under which the directory has its state.
    """

    def __init__(self, path: JobPath, plan: PhysicalPlan, *, is_temporary: bool) -> None:
        self.path = path
        self.plan = plan
        self.is_temporary = is_temporary
        self.is_new = False
        self.job_id = ""
        self.fingerprint = fingerprint(plan)
        self._lock: JobLock | StoredLock | None = None
        self._recorded: RecordedSteps | None = None
        self._failures: tempfile.TemporaryDirectory[str] | None = None
        self._existed = isinstance(path, StoredPath) or path.exists()
        self._owner_before: dict[str, Any] | None = None

    @classmethod
    def open(
        cls, configured: str | JobPath | None, plan: PhysicalPlan, job_name: str
    ) -> JobDirectory:
        """Create or reopen the directory of a job and lock it."""
        if configured is None:
            directory = cls(Path(tempfile.mkdtemp(prefix="penstock-")), plan, is_temporary=True)
        else:
            path = checkpoint_path(configured) if isinstance(configured, str) else configured
            check_can_be_stored(path, plan)
            directory = cls(path, plan, is_temporary=False)
        try:
            if isinstance(directory.path, Path):
                directory._owner_before = owner_of(directory.path)
            create_directory(directory.path, PRIVATE_DIRECTORY)
            is_temporary = directory.is_temporary
            directory._lock = take_lock(directory.path, is_temporary=is_temporary)
            directory._recorded = recording(
                directory.path, directory._lock.fence, is_temporary=is_temporary
            )
            directory._identify(job_name)
            (directory.path / "spool").mkdir(PRIVATE_DIRECTORY, exist_ok=True)
        except OSError as cause:
            directory.refuse()
            raise JobDirectoryError(
                f"the checkpoint directory {directory.path} cannot be used: {cause}",
                hint="Set execution.checkpointing.dir to a directory this user may write to.",
            ) from cause
        except BaseException:
            directory.refuse()
            raise
        return directory

    def step(self, name: str) -> dict[str, Any] | None:
        """Return the record of a step, None if the job has not reached it."""
        try:
            return self._steps.read(name)
        except OSError as cause:
            raise JobDirectoryError(
                f"step {name} in {self.path} cannot be read: {cause}",
                hint="Check that the checkpoint directory can be reached, and start again.",
            ) from cause

    def record(self, name: str, payload: dict[str, Any]) -> None:
        """Record a step durably."""
        try:
            self._steps.record(name, payload, self.fence)
        except OSError as cause:
            raise JobDirectoryError(
                f"step {name} cannot be recorded in {self.path}: {cause}",
                hint="Make room, or make the directory writable, and start again.",
            ) from cause

    def go_on_with(self, plan: PhysicalPlan) -> None:
        """Take another plan of the same graph, such as one with another parallelism."""
        known = self.step("job")
        assert known is not None, "the directory has been identified"
        self._check_shape(known, describe_shape(plan), known["name"])
        self.plan, self.fingerprint = plan, fingerprint(plan)

    def note_key_groups(self) -> None:
        """Record the number of key groups, which never decreases."""
        known, number = self.step("job"), self.plan.options.max_parallelism
        assert known is not None, "the directory has been identified"
        if number != _key_groups(known):
            self.record("job", {**known, KEY_GROUPS: number})

    def put_back(self, name: str, payload: dict[str, Any] | None) -> None:
        """Let a step be as it was before this start, None if it was not recorded; do nothing if that fails."""
        with suppress(JobFencedError, OSError):
            if payload is not None:
                self._steps.record(name, payload, self.fence)
                return
            self.fence()
            self._steps.forget(name)

    def digest_of(self, data: bytes) -> str:
        """Return the keyed digest of data that the job writes and will unpickle.

        The key is random and in `job.json`, which only its owner may read.
        """
        known = self.step("job")
        assert known is not None, "the directory has been identified"
        return hmac.digest(bytes.fromhex(known[_KEY]), data, "sha256").hex()

    def check_digest(self, data: bytes, digest: object, name: str) -> None:
        """Refuse data that this job did not write, before it is unpickled: a pickle runs code."""
        expected = self.digest_of(data)
        if not isinstance(digest, str) or not hmac.compare_digest(expected, digest):
            raise JobDirectoryError(
                f"{self.path / name} was not written by the job in {self.path}: its digest is "
                "another one",
                hint=RESTORE_CHECKPOINTS,
            )

    @property
    def fence(self) -> Fence:
        """The fence; call it directly before a commit. It raises if another driver has taken over."""
        assert self._lock is not None, "the directory is open"
        return self._lock.fence

    @property
    def has_begun(self) -> bool:
        """True if a run of the job has pinned its input."""
        return any(_PINNED.fullmatch(name) for name in self._steps.names())

    @property
    def has_captured(self) -> bool:
        """True if a source has begun its snapshot: the files are work, and other systems may keep its position."""
        captures = self.path / "snapshots"
        try:
            return captures.is_dir() and any(
                any(capture.iterdir()) for capture in captures.iterdir()
            )
        except OSError:
            return True  # one that cannot be read is kept

    @property
    def _has_written_history(self) -> bool:
        return has_staged(bootstrap_round(self.path, 0) / "job")

    def forget_bootstrap(self) -> None:
        """Remove what has read the history, once the state of the job is its own; the results of the history are visible, so the job stays."""
        if self.step("restored") is not None:
            self.is_new = self.is_new and not self._has_written_history
            remove_tree(self.path / BOOTSTRAP, self.fence)

    def refuse(self) -> None:
        """Unlock, and leave the directory as it was before this start, of which nothing was committed.

        In a store the numbers of drivers stay: a driver that hangs must not find its own again.
        """
        with suppress(JobFencedError, OSError):
            if self._lock is not None:
                self.fence()
                if self.is_new and not self._has_written_history:
                    self._forget_job()
                if isinstance(self._lock, JobLock) and not self.is_temporary:
                    self._lock.undo(self._owner_before)
                    self._lock = None
            if not self._existed and isinstance(self.path, Path):
                self.path.rmdir()
        self.release()

    def _forget_job(self) -> None:
        """Remove all of a new job, its identity last."""
        kept = {LOCK, OWNER, DRIVERS, STEPS}
        for path in self.path.iterdir():
            if path.name not in kept and path.is_dir():
                remove_tree(path)
        for step in sorted(self._steps.names(), key="job".__eq__):
            self._steps.forget(step)

    def run_directory(self, run: int, name: str) -> JobPath:
        """Return a directory of a run; create it if it is missing."""
        path = self.path / f"run-{run}" / name
        # Created one by one, because `mkdir` ignores the mode for parents. Spark's files are below.
        path.parent.mkdir(PRIVATE_DIRECTORY, exist_ok=True)
        path.mkdir(PRIVATE_DIRECTORY, exist_ok=True)
        return path

    def failure_directory(self, run: int) -> Path:
        """Return a directory in which workers report final failures of a run (`final_failures`).

        For a directory in a store it is one of this machine: workers of others fail as often as Spark tries.
        """
        if isinstance(self.path, StoredPath):
            if self._failures is None:
                self._failures = tempfile.TemporaryDirectory(prefix="penstock-failures-")
            return Path(self._failures.name)
        return mounted(self.run_directory(run, "failures"))

    def forget_run_files(self, run: int, name: str) -> None:
        """Remove a directory of a run."""
        remove_tree(self.path / f"run-{run}" / name, self.fence)

    def note_jvm(self, pid: int) -> None:
        """Record the JVM of the lock's owner; it may outlive a killed driver."""
        assert self._lock is not None, "the directory is open"
        try:
            self._lock.note_jvm(pid)
        except OSError as cause:
            raise JobDirectoryError(
                f"the driver cannot be noted in {self.path}: {cause}",
                hint="Make room, or make the directory writable, and start again.",
            ) from cause

    def release(self) -> None:
        """Unlock, and remove a temporary directory."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None
        if self._failures is not None:
            self._failures.cleanup()
            self._failures = None
        if self.is_temporary:
            remove_tree(self.path)

    @property
    def _steps(self) -> RecordedSteps:
        assert self._recorded is not None, "the directory is open"
        return self._recorded

    def check_owns_sinks(self) -> None:
        """Refuse a job that has handed its sinks over."""
        handed = self.step(HANDED_OVER)
        if handed is not None:
            raise JobHandedOverError(
                f"the job in {self.path} has handed its sinks over to the job in {handed['to']}",
                hint=f"Start the job in {handed['to']}; or take the sinks back: penstock handover --back "
                f"{handed['of']} {handed['to']} JOB.PY, with the program of this job.",
            )

    def _identify(self, job_name: str) -> None:
        known = self.step("job")
        plan = self.plan
        shape = describe_shape(plan)
        if known is None:
            ours = {LOCK, OWNER, DRIVERS, STEPS, "spool", "restored", SHADOW, EVENTS_DIRECTORY}
            foreign = [p.name for p in self.path.iterdir() if p.name not in ours]
            if foreign:
                raise JobDirectoryError(
                    f"{self.path} is not empty and not a checkpoint directory: it holds "
                    f"{foreign[0]}",
                    hint="Set execution.checkpointing.dir to a new or empty directory.",
                )
            self.is_new = True
            self.job_id = secrets.token_hex(8)
            self.record(
                "job",
                {
                    "format": _FORMAT,
                    "job_id": self.job_id,
                    "name": job_name,
                    "fingerprint": self.fingerprint,
                    "shape": shape,
                    PIPELINES: [run.pipeline for run in plan.runs],
                    _KEY: secrets.token_hex(32),
                },
            )
            return
        if known.get("format") != _FORMAT:
            raise JobMismatchError(
                f"{self.path} has format {known.get('format')}, this version writes {_FORMAT}",
                hint="Use the version of Penstock that wrote it.",
            )
        if known["name"] != job_name:
            raise JobMismatchError(
                f"{self.path} belongs to job {known['name']!r}, this is {job_name!r}",
                hint="Give each job a checkpoint directory of its own.",
            )
        if known["fingerprint"] != self.fingerprint:
            self._check_shape(known, shape, job_name)
        self.job_id = known["job_id"]

    def _check_shape(self, known: dict[str, Any], shape: dict[str, object], job_name: str) -> None:
        """Refuse another graph than that of the first start; its numbers of subtasks and of key groups may differ."""
        before, after = without_parallelism(known["shape"]), without_parallelism(shape)
        if before != after:
            raise JobMismatchError(
                f"the graph of {job_name!r} has changed since {self.path} was written: "
                f"{first_difference(before, after)}",
                hint=f"Run `penstock upgrade {self.path} NEW_DIR JOB.PY`, which keeps the state of what has not "
                "changed, and reads the history again for the rest; or restore the earlier graph. A start in a new "
                "checkpoint directory, without the state, reads all of history.",
            )
        groups, now = _key_groups(known), self.plan.options.max_parallelism
        if not may_have_key_groups(groups, now):
            raise JobMismatchError(
                f"the state in {self.path} has {groups} key groups, but this job has {now}",
                hint=key_groups_hint(groups),
            )


def _key_groups(known: dict[str, Any]) -> int:
    number: int = known.get(KEY_GROUPS, known["shape"]["max_parallelism"])
    return number


def key_groups_hint(groups: int) -> str:
    """Return the hint about numbers of key groups that state cannot be divided into."""
    return (
        f"Set {MAX_PARALLELISM.key} to {groups}, or to twice that, four times and so on "
        f"({2 * groups}, {4 * groups}, …): a doubling divides each key group in two, and any other number "
        "would move keys between groups."
    )
