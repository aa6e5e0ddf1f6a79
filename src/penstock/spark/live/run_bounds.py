"""The begin and the end of a live run, and the files of its initial state.

The files are removed when the checkpoint of the run contains the state:

    run-0.done             names files of run-0/snapshot, the only copy of the state
    run-1/epochs/records/… the first epoch has read them: its record, and those behind it, contain the state
    second epoch,          the files are removed
    or end of the run

Between the last two both exist, and the newer one counts. A driver that is killed while it removes files
leaves some; the next one removes them before it starts. If the records are lost afterwards, the
missing files are an error that names them, and never an empty state.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from penstock.config.options import JOB_NAME
from penstock.failpoint import failpoint
from penstock.filesystem.stored_path import JobPath
from penstock.observe.events.job_events import Switched
from penstock.plan.phases.edges import region_of
from penstock.plan.physical import HandOver, RunPlan
from penstock.program.level import LevelProgram
from penstock.runtime.task.report import Report
from penstock.spark.driver.run_context import JobContext
from penstock.spark.job.hand_over import describe_hand_over, greatest_watermark
from penstock.spark.job.job_directory import JobDirectory
from penstock.spark.job.run_outline import OUTLINE_BEFORE, RunOutline, outline_in, outline_of
from penstock.spark.live.epochs.seed_files import SeedFiles
from penstock.state.log.epoch_record import EPOCHS
from penstock.state.log.log_table import epochs_in
from penstock.wire.job_files import byte_count

_FEW_RECORDS = 16
_LARGE_STATE_BYTES = 64 << 20


class FirstState:
    """The files of initial state of a live run.

    Attributes:
        files: The files; empty after they are superseded, None if the job begins with this run.
    """

    def __init__(
        self,
        directory: JobDirectory,
        runs: Collection[int],
        files: Sequence[JobPath] | None,
        key_groups: int | None = None,
        memory: Mapping[int, bytes] | None = None,
    ) -> None:
        """Make it, given the number of key groups of the files, and level to the memory of its subtasks."""
        self._directory = directory
        self._runs = runs
        self.files = files
        self._key_groups = key_groups
        self._memory = memory or {}

    def of_level(self, program: LevelProgram) -> SeedFiles | None:
        """Return the state for the subtasks of a level; None if there is none."""
        memory = self._memory.get(program.level, b"")
        if not self.files and not memory:
            return None
        settings = program.settings
        operators = {op.uid: op.parallelism or settings.parallelism for op in program.operators}
        return SeedFiles(
            tuple(self.files or ()),
            operators,
            settings.max_parallelism,
            self._key_groups,
            frozenset(op.uid for op in program.operators if op.window is not None),
            memory,
        )

    def size_bytes(self) -> int:
        """Return the size of the files that are still needed."""
        return sum(byte_count(path) for path in self.files or ())

    def first_records(self) -> int:
        """Return the size of the first epoch: small, if much state must be decoded; 0 is usual.

        A key group is decoded when it is first needed, and few records need few key groups.
        """
        return _FEW_RECORDS if self.size_bytes() >= _LARGE_STATE_BYTES else 0

    def begin_epoch(self, number: int) -> None:
        """Remove the files if an epoch was recorded before this one."""
        if number:
            self._remove()

    def end(self) -> None:
        """Remove the files if the run has recorded an epoch; it has ended."""
        if is_superseded(self._directory, self._runs):
            self._remove()

    def _remove(self) -> None:
        if self.files:
            files, self.files = self.files, ()
            if len(self._runs) == 1 or is_superseded(self._directory, self._runs):
                remove_superseded(self._directory, files)


def is_superseded(directory: JobDirectory, runs: Iterable[int]) -> bool:
    """Return whether no run of several needs its files of initial state any more."""
    return all(_is_superseded(directory, run) for run in runs)


def _is_superseded(directory: JobDirectory, run: int) -> bool:
    if directory.step(f"run-{run}.done") is not None:
        return True
    return bool(epochs_in(directory.path / f"run-{run}" / EPOCHS))


def remove_superseded(directory: JobDirectory, files: Sequence[JobPath]) -> None:
    """Remove files of state that no run needs, and their directory if it is empty."""
    directory.fence()
    for path in files:
        path.unlink(missing_ok=True)
        failpoint("state.superseded")
    for parent in {path.parent for path in files}:
        if parent.is_dir() and not any(parent.iterdir()):
            parent.rmdir()


@dataclass(frozen=True, slots=True)
class Predecessor:
    """State and positions that a live run takes over.

    Attributes:
        handed: Hand-over of the previous run, or of a savepoint.
        state_files: Its snapshot; None if the job begins with this run.
        ended: End of the previous run on the monotonic clock; None if this process did not execute it.
        readers: Indexes of the runs that take over state from these files, if there are several.
        key_groups: Number of key groups of the files; None is that of the job.
    """

    handed: HandOver
    state_files: Sequence[JobPath] | None
    ended: float | None
    readers: tuple[int, ...] = ()
    key_groups: int | None = None

    def first_state(self, directory: JobDirectory, run: int) -> FirstState:
        """Return the files of initial state of a run."""
        readers = self.readers or (run,)
        return FirstState(directory, readers, self.state_files, self.key_groups)

    def switched(self) -> Switched | None:
        """Return the event that the next run begins now, None if this process executed no other."""
        if self.ended is None:
            return None
        return Switched(time.monotonic() - self.ended, greatest_watermark(self.handed))


def made_outline(job: JobContext, run: RunPlan) -> RunOutline:
    """Return the outline of a run that begins."""
    directory = job.directory
    name = job.configuration.get(JOB_NAME)
    return outline_of(job.plan, run, directory.job_id, name, directory.fingerprint)


def record_outline(
    job: JobContext, run: int, outline: RunOutline, stored: str | None
) -> RunOutline:
    """Record the outline of a run that begins; return that of the newest epoch.

    Both are kept until an epoch is recorded with the new one: until then the logs are those of the other.

    `stored` is the fingerprint of the plan that recorded the newest epoch.
    """
    directory = job.directory
    before = outline
    if stored not in {None, directory.fingerprint}:
        newest = outline_in(directory.step, run, stored)
        assert newest is not None, "it is recorded before the first epoch"
        before = newest
        directory.record(f"run-{run}.{OUTLINE_BEFORE}", newest.to_json())
        failpoint("rescale.outline-kept")
    directory.record(f"run-{run}.outline", outline.to_json())
    return before


def record_done(job: JobContext, run: RunPlan, records: int) -> None:
    """Record that a run which hands over is complete, with what the next one takes over."""
    recorded = describe_hand_over(Report(), {}, job.layout)  # level 0 alone has no state
    if len(region_of(job.plan, run).levels) > 1:
        hand_over = job.directory.step(f"run-{run.index}.hand-over")
        assert hand_over is not None, "the epoch that hands over records it"
        recorded = hand_over
    job.directory.record(f"run-{run.index}.done", {**recorded, "records": records})
