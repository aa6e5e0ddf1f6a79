"""State of operators that a changed program no longer has, kept in its directory until `penstock state drop`.

dropped/    a savepoint with that state alone, which `penstock state ls` and `show` read
"""

from __future__ import annotations

from penstock.filesystem.stored_path import JobPath
from penstock.plan.compat.evolution import Evolution, PartStatus
from penstock.spark.job.hand_over import verified_files
from penstock.spark.job.job_directory import JobDirectory
from penstock.spark.savepoints.job_savepoints import unwritable
from penstock.state.merged_savepoint import StatePart, merge_state, merged_manifest
from penstock.state.savepoint import (
    MANIFEST,
    STATE_DIRECTORY,
    Savepoint,
    prepare_directory,
    read_savepoint,
    write_manifest,
)
from penstock.wire.job_files import remove_tree

DROPPED = "dropped"


def part_of(path: JobPath, manifest: Savepoint, operators: frozenset[str]) -> StatePart:
    """Return the share of a savepoint in another one, after its files were verified."""
    files = {file.name: file.sha256 for file in manifest.files}
    return StatePart(manifest, tuple(verified_files(path / STATE_DIRECTORY, files)), operators)


def keep_dropped(
    directory: JobDirectory, path: JobPath, savepoint: Savepoint, evolution: Evolution
) -> None:
    """Copy the state of dropped operators from a savepoint; repeated until it is complete."""
    gone = {
        operator.uid for operator in evolution.operators if operator.change is PartStatus.DROPPED
    }
    uids = gone.intersection(savepoint.operators_with_state)
    target = directory.path / DROPPED
    if not uids or (target / MANIFEST).exists():
        return
    part = part_of(path, savepoint, frozenset(uids))
    operators = [operator for operator in savepoint.operators if operator.uid in uids]
    try:
        prepare_directory(target)
        files = merge_state([part], target)
        write_manifest(target, merged_manifest(part, (), operators, (), files))
    except OSError as cause:
        raise unwritable(cause) from cause


def dropped_uids(job: JobPath) -> tuple[str, ...]:
    """Return the uids of dropped operators whose state a job keeps."""
    kept = job / DROPPED
    return read_savepoint(kept).operators_with_state if (kept / MANIFEST).exists() else ()


def forget_dropped(job: JobPath) -> None:
    """Remove the state of dropped operators."""
    remove_tree(job / DROPPED)
