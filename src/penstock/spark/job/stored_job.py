"""Limits of a job whose checkpoint directory is in a store of objects, with the reasons."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.config.options import CHECKPOINT_DIR
from penstock.errors import CallSite, JobDirectoryError
from penstock.filesystem.stored_path import JobPath, StoredPath
from penstock.plan.phases.backlog import snapshot_parts
from penstock.plan.physical import PhysicalPlan
from penstock.program.run_settings import RunKind

_Refused = tuple[str, CallSite | None]


def check_can_be_stored(path: JobPath, plan: PhysicalPlan) -> None:
    """Refuse a job that cannot have its checkpoint directory in a store.

    Raises:
        JobDirectoryError: It needs a mounted file system; the error names what does.
    """
    if not isinstance(path, StoredPath):
        return
    for why, origin in (*_sources(plan), *_sinks(plan)):
        raise JobDirectoryError(
            f"{CHECKPOINT_DIR.key} is {path}, and {why}",
            hint="Use a checkpoint directory on a file system that the driver and all executors see, such as a "
            "network mount.",
            origin=origin,
        )


def _sources(plan: PhysicalPlan) -> Iterator[_Refused]:
    for source, part in snapshot_parts(plan).items():
        del part
        planned = plan.source(source)
        yield (
            f"source {planned.name!r} captures a snapshot in files of it, which must be on a mounted file system",
            planned.origin,
        )
    live = {of.source for run in plan.runs if run.kind is RunKind.LIVE for of in run.readings}
    for planned in plan.sources:
        if planned.id in live and any(part.is_written_first for part in planned.parts):
            yield (
                f"source {planned.name!r} is a DataFrame, which Spark writes to files of it through Hadoop first",
                planned.origin,
            )


def _sinks(plan: PhysicalPlan) -> Iterator[_Refused]:
    for sink in plan.sinks:
        if not sink.sink.may_stage_in_store:
            yield (
                f"sink {sink.name!r} ({sink.sink.kind}) keeps files in it that must be on a mounted file system",
                sink.origin,
            )
