"""The hand-over of sinks from one job to another, each of their results exactly once.

    giver     owns the sinks, and stops with savepoint P, in which every epoch is committed
    taker     the same input with sinks of its own (a shadow), or stopped earlier; it has stopped with savepoint S

    1  the taker stops with S             S is not ahead of the giver, which runs until it has passed S
    2  the giver stops with P
    3  handed-over.json in the giver      names the taker and its generation; the giver is not started again
    4  the taker's generation opens       it advances from S to P with sinks that drop
    5  restored.json in the generation    from here on the path of the taker means this generation, which owns the sinks

Every step is a record that a later driver finds, so the same command repeats an attempt that was interrupted. Between 3 and
5 no job owns the sinks. To take them back is the same with the names exchanged; before 5 the taker's generation is closed
first, and the giver goes on from P.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from penstock.config.configuration import Configuration
from penstock.config.options import ADVANCE_TO, RECOVERY_PATH
from penstock.errors import HandOverError
from penstock.failpoint import failpoint
from penstock.graph.hybrid import snapshot_part_of
from penstock.observe.events.listeners import JobEvents
from penstock.plan.compat.bootstrap import silent_graph
from penstock.plan.compat.evolution import PartStatus, compare
from penstock.plan.physical import PhysicalPlan
from penstock.spark.job.job_directory import BOOTSTRAP, HANDED_OVER, SHADOW, JobDirectory
from penstock.spark.job.job_lock import take_lock
from penstock.spark.job.job_steps import recording, steps_of
from penstock.spark.job.mounted_path import (
    generation,
    latest_directory,
    next_generation,
    savepoint_place,
)
from penstock.spark.job.observed_job import RESTORED, ObservedJob
from penstock.spark.upgrade.bootstrap import evolved
from penstock.spark.upgrade.policy import lines_of
from penstock.spark.upgrade.position_diff import PositionDifference, position_differences
from penstock.spark.upgrade.program_part import ProgramPart, Workplace, advance
from penstock.spark.upgrade.rounds import Start
from penstock.spark.upgrade.stored_program import manifest_at, stored_program
from penstock.state.savepoint import MANIFEST, read_savepoint
from penstock.wire.atomic_file import PRIVATE_DIRECTORY, create_directory


@dataclass(frozen=True, slots=True)
class SinkHandOver:
    """The record of step 3.

    Attributes:
        of: Directory of the giver.
        to: Directory of the taker.
        generation: Number of the generation of the taker.
        begins: Savepoint S.
        at: Savepoint P.
    """

    of: str
    to: str
    generation: int
    begins: str
    at: str

    @property
    def directory(self) -> Path:
        """Directory of the generation."""
        return generation(Path(self.to), self.generation)

    def has_begun(self) -> bool:
        """Return whether the taker owns the sinks."""
        return steps_of(self.directory).read(RESTORED) is not None


def recorded_hand_over(giver: Path, taker: Path) -> SinkHandOver | None:
    """Return what a job has recorded about the hand-over to another one; None before step 3."""
    for place in dict.fromkeys((latest_directory(giver), _mounted(giver))):
        recorded = _record_in(place)
        if recorded is not None and recorded.to == str(taker):
            return recorded
    return None


def check_live(job: Path) -> None:
    """Refuse a job that still reads its history: it has no position at which sinks could change hands."""
    observed = ObservedJob.at(job)
    runs = observed.live_runs_now()
    has_begun = all(observed.record(f"run-{run}.pinned") for run in runs)
    if observed.ended() is None and not (has_begun and observed.run_without_savepoint() is None):
        raise HandOverError(
            f"the job in {job} has not read its history yet, so it has no position at which sinks change hands",
            hint=f"Let it run until it is live, see penstock status {job}, and repeat the command.",
        )


def check_taker(giver: Path, taker: Path) -> None:
    """Refuse a job that is neither a shadow of the giver nor has handed its sinks over to it: it may write elsewhere."""
    place = _mounted(taker)
    handed, shadow = _record_in(place), place / SHADOW
    is_back = handed is not None and handed.to == str(giver)
    is_shadow = (shadow / MANIFEST).exists()
    if not is_back and not (
        is_shadow and read_savepoint(shadow).job_id == manifest_at(giver).job_id
    ):
        raise HandOverError(
            f"{taker} has no shadow of the job in {giver}, and has not owned its sinks",
            hint=f"Begin a shadow: penstock shadow JOB.PY --of {giver} --into NEW.",
        )


def check_program(plan: PhysicalPlan, taker: Path) -> None:
    """Refuse another program than that of the taker: its state would not be that of the program."""
    regions = any(pipeline.is_region for pipeline in plan.pipelines)
    captures = any(snapshot_part_of(source.parts) is not None for source in plan.sources)
    if regions or captures:
        what = "a bounded region" if regions else "a source with a snapshot of another system"
        raise HandOverError(
            f"the program has {what}, which the job and its shadow read each for itself",
            hint="Stop the job with a savepoint, and start the program from that.",
        )
    stored = manifest_at(taker)
    evolution = compare(plan, stored_program(stored, taker))
    changed = [part for word, part in evolution.parts if word != "sink"]
    if any(part.change is not PartStatus.KEPT for part in changed):
        lines = "\n".join(line for line in lines_of(evolution) if ": sink " not in line)
        raise HandOverError(
            f"the program differs from that of {taker}:\n{lines}",
            hint="Hand over to the program that runs there; begin another shadow for a changed one.",
        )


def behind(giver: Path, taker: Path) -> list[PositionDifference]:
    """Return the sources of which the taker has read more than the giver."""
    differences = position_differences(manifest_at(giver), manifest_at(taker))
    return [difference for difference in differences if difference.ahead_b]


def record_hand_over(giver: Path, taker: Path, begins: str, target: str) -> SinkHandOver:
    """Record that the sinks of a job, which has stopped, belong to the next generation of another one."""
    hand_over = SinkHandOver(str(giver), str(taker), next_generation(taker), begins, target)
    _record(ObservedJob.at(giver).path, hand_over)
    return hand_over


def taken_back(giver: Path, taker: Path) -> SinkHandOver | None:
    """Close a hand-over whose taker has not begun, and return the one back; None if there is none."""
    open_one = recorded_hand_over(taker, giver)
    if open_one is None or open_one.has_begun():
        return None
    directory = open_one.directory
    create_directory(directory, PRIVATE_DIRECTORY)
    hand_over = SinkHandOver(
        str(giver), str(taker), next_generation(taker), open_one.at, open_one.at
    )
    _record(directory, hand_over, is_open=True)
    return hand_over


def begun_elsewhere(
    directory: JobDirectory, configuration: Configuration, session: SparkSession, events: JobEvents
) -> Start:
    """Return the settings with which a job begins: from another savepoint than the configured one, if it has to read first.

    It reads up to the savepoint of another job (step 4), or the history for what a changed program does not keep.
    """
    start, target = configuration.get(RECOVERY_PATH), configuration.get(ADVANCE_TO)
    has_begun = directory.has_begun or directory.step(RESTORED) is not None
    if target is None or start is None or has_begun:
        return evolved(directory, configuration, session, events)
    # The giver has confirmed its positions.
    plan = replace(directory.plan, options=replace(directory.plan.options, confirms=False))
    place = Workplace(directory.path / BOOTSTRAP, directory.fence, session, configuration)
    part = ProgramPart(plan, silent_graph(plan))
    reached = advance(part, _savepoint_at(start), read_savepoint(_savepoint_at(target)), place)
    failpoint("handover.advanced")
    return Start(
        configuration.layered("handover", {RECOVERY_PATH.key: str(reached)}, is_final=True)
    )


def _savepoint_at(configured: str) -> Path:
    place = savepoint_place(configured)
    if not isinstance(place, Path):
        raise HandOverError(
            f"savepoint {place} is in a store of objects",
            hint="Copy it to a mounted file system, and begin there.",
        )
    return place


def _record(directory: Any, hand_over: SinkHandOver, *, is_open: bool = False) -> None:
    """Record a hand-over under the lock of a directory, so that no driver of it can commit any more."""
    lock = take_lock(directory)
    try:
        steps = recording(directory, lock.fence)
        if is_open and steps.read(RESTORED) is not None:
            raise HandOverError(
                f"the job in {directory} has begun meanwhile", hint="Repeat the command."
            )
        steps.record(HANDED_OVER, asdict(hand_over), lock.fence)
    finally:
        lock.release()


def _record_in(directory: Path) -> SinkHandOver | None:
    recorded = steps_of(directory).read(HANDED_OVER)
    return None if recorded is None else SinkHandOver(**recorded)


def _mounted(job: Path) -> Path:
    """Return the directory of a job."""
    path = ObservedJob.at(job).path
    if not isinstance(path, Path):
        raise HandOverError(
            f"{job} is in a store of objects",
            hint="Hand over between directories on a mounted file system.",
        )
    return path
