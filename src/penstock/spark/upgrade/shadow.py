"""The beginning of a shadow: a savepoint without state, with the positions at which another job stands.

    NEW/shadow/savepoint.json     positions of the original, and where it began to read
    NEW/bootstrap/                reads up to them in a batch run, as for a program of which nothing is kept
    NEW/outputs/UID/              what the sinks write

The original goes on. From the positions on, the shadow reads the same live input by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from penstock.errors import EvolutionError
from penstock.filesystem.stored_path import JobPath
from penstock.graph.hybrid import snapshot_part_of
from penstock.plan.physical import PhysicalPlan
from penstock.spark.job.job_directory import SHADOW
from penstock.spark.job.job_steps import steps_of
from penstock.spark.job.mounted_path import current_generation
from penstock.spark.job.observed_job import ObservedJob
from penstock.spark.upgrade.bootstrap import Bootstrap
from penstock.spark.upgrade.stored_program import manifest_at
from penstock.state.savepoint import (
    MANIFEST,
    Savepoint,
    prepare_directory,
    read_savepoint,
    write_manifest,
)


@dataclass(frozen=True, slots=True)
class ShadowBeginning:
    """The input of a shadow before it is live.

    Attributes:
        savepoint: The positions up to which it reads the history.
        bootstrap: The part of the program that reads the history.
    """

    savepoint: Path
    bootstrap: Bootstrap


def begin_shadow(original: JobPath, new: Path, plan: PhysicalPlan) -> ShadowBeginning | None:
    """Record where the original stands, unless that is recorded; None if the shadow reads its input as a new job does.

    It does if the original has pinned no history: without a live run, or with a source that captures a snapshot of
    another system.
    """
    other = "Name another directory with --into."
    if new == original:
        raise EvolutionError(f"a job and its shadow would both be in {new}", hint=other)
    if current_generation(new) != new:
        raise EvolutionError(f"the job in {new} is no shadow: it has got the sinks", hint=other)
    target = new / SHADOW
    is_recorded = (target / MANIFEST).exists()
    if not is_recorded and (_reads_as_new(original, plan) or steps_of(new).read("job")):
        return None
    stands = manifest_at(original)
    begun = read_savepoint(target) if is_recorded else _without_state(stands, plan)
    if begun.job_id != stands.job_id:
        raise EvolutionError(
            f"{new} has a shadow of job {begun.job_name!r}, which is not the job in {original}",
            hint=other,
        )
    bootstrap = Bootstrap.of(plan, begun, original)
    refused = bootstrap.refusals(begun)
    if refused:
        lines = "\n".join(refused)
        raise EvolutionError(
            f"the history that {original} has read cannot be read again:\n{lines}",
            hint="Start the program in a new directory, from sources that have the history.",
        )
    if not is_recorded:
        prepare_directory(target)
        write_manifest(target, begun)
    return ShadowBeginning(target, bootstrap)


def _reads_as_new(original: JobPath, plan: PhysicalPlan) -> bool:
    captures = any(snapshot_part_of(source.parts) is not None for source in plan.sources)
    return captures or not ObservedJob.at(original).has_live_run()


def _without_state(stands: Savepoint, plan: PhysicalPlan) -> Savepoint:
    """Return a savepoint of which a program keeps positions only."""
    return replace(
        stands,
        max_parallelism=plan.options.max_parallelism,
        operators=(),
        watermarks=(),
        memory={},
        files=(),
        sinks=(),
    )
