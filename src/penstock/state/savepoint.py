"""Savepoints: everything a job needs to go on elsewhere, in a directory of its own.

    savepoint.json     the manifest: what is here and where the job stood; written last
    state/*.parquet    rows (operator, key_group, blob), readable without the job

A directory without a manifest is no savepoint, whatever else it holds. The manifest is written
whole and verified when read; it lists every state file with size and SHA-256, which are
compared before a job starts from it. Everything is named by uid, never by a number of the plan,
so a savepoint fits a program whose graph has changed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from penstock.errors import DecodeError, SavepointError
from penstock.wire.atomic_file import (
    PRIVATE_DIRECTORY,
    create_directory,
    open_private,
    read_verified,
    sync_directory,
    temporary_of,
    write_verified,
)

FORMAT = 1
MANIFEST = "savepoint.json"
STATE_DIRECTORY = "state"
EVERY_SUBTASK = "-1"
"""Group of a watermark that holds for every subtask of the level that sent it."""

_TAKE_ANOTHER = "Restore the savepoint from a copy, or start from another one."


@dataclass(frozen=True, slots=True)
class OperatorRecord:
    """One operator of the job the savepoint was taken of.

    Attributes:
        uid: Stable identity.
        name: For people.
        kind: What it does, in the plan's word.
        is_generated: The user gave it no uid, so it has one that is made of its place.
    """

    uid: str
    name: str
    kind: str
    is_generated: bool = False


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """Where reading one source stood.

    Attributes:
        uid: Stable identity.
        name: For people.
        kinds: Kinds of its parts, in order.
        part: Index of the part that was being read, None if none was yet.
        position: Within that part; its form depends on the kind. `splits`: next position and
            end of each split. `left`: of bounded files, those still to read. `offsets`: of a
            foreign stream, Spark's offsets as JSON. `rows_left`: of a batch DataFrame,
            whether some of it was not read.
        read: Part index (as text) to the files that were read of it.
    """

    uid: str
    name: str
    kinds: tuple[str, ...]
    part: int | None
    position: dict[str, Any] = field(default_factory=dict)
    read: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WatermarkRecord:
    """What one operator had heard from another operator, or from a source.

    Attributes:
        sender: uid of the operator, or of the source.
        receiver: uid of the operator.
        groups: uid of a source, or `EVERY_SUBTASK`, to the watermark.
    """

    sender: str
    receiver: str
    groups: dict[str, int]


@dataclass(frozen=True, slots=True)
class StateFile:
    """One file of state rows.

    Attributes:
        name: In the directory `state`.
        size: In bytes.
        sha256: Of its bytes, in hexadecimal.
        operators: uids of the operators whose rows it has.
    """

    name: str
    size: int
    sha256: str
    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Savepoint:
    """The manifest.

    Attributes:
        id: Of the request that asked for it.
        taken_at: ISO 8601, in UTC.
        job_id: Of the job.
        job_name: Of the job.
        run: Name of the run it was taken in.
        parallelism: Number of subtasks.
        max_parallelism: Number of key groups.
        drained: The input was ended first, so every timer has fired.
        operators: All operators.
        sources: All sources.
        watermarks: All that had been heard of.
        memory: uid to what an operator remembers beside keyed state.
        files: The state files.
    """

    id: str
    taken_at: str
    job_id: str
    job_name: str
    run: str
    parallelism: int
    max_parallelism: int
    drained: bool = False
    operators: tuple[OperatorRecord, ...] = ()
    sources: tuple[SourceRecord, ...] = ()
    watermarks: tuple[WatermarkRecord, ...] = ()
    memory: dict[str, int] = field(default_factory=dict)
    files: tuple[StateFile, ...] = ()

    @property
    def operators_with_state(self) -> tuple[str, ...]:
        """The uids that have state rows, in order."""
        return tuple(sorted({uid for file in self.files for uid in file.operators}))

    @property
    def generated_uids(self) -> frozenset[str]:
        """The uids of operators that were given none.

        0.1.0 did not write down which those are; its own are a name and a number.
        """
        return frozenset(
            each.uid
            for each in self.operators
            if each.is_generated or is_number(each.uid, each.name)
        )

    @property
    def unnamed_state(self) -> tuple[str, ...]:
        """The uids of operators that have state and were given no uid, in order."""
        return tuple(uid for uid in self.operators_with_state if uid in self.generated_uids)

    def name_of(self, uid: str) -> str:
        """Return the name an operator or source had, its uid if it is not known."""
        known = {source.uid: source.name for source in self.sources}
        known |= {operator.uid: operator.name for operator in self.operators}
        return known.get(uid, uid)

    def to_json(self) -> dict[str, Any]:
        """Return the form that is written."""
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_json(cls, written: dict[str, Any]) -> Savepoint:
        """Return what `to_json` gave."""
        plain = {name: value for name, value in written.items() if name != "format"}
        return cls(
            **plain
            | {
                "operators": tuple(OperatorRecord(**each) for each in plain["operators"]),
                "sources": tuple(
                    SourceRecord(**each | {"kinds": tuple(each["kinds"])})
                    for each in plain["sources"]
                ),
                "watermarks": tuple(WatermarkRecord(**each) for each in plain["watermarks"]),
                "files": tuple(
                    StateFile(**each | {"operators": tuple(each["operators"])})
                    for each in plain["files"]
                ),
            }
        )


def is_number(uid: str, name: str) -> bool:
    """Return whether a uid is a name and a number, as 0.1.0 made them and sources have them."""
    return re.fullmatch(re.escape(name) + r"-\d{1,9}", uid) is not None


def prepare_directory(target: Path) -> None:
    """Make the directory of a new savepoint, or empty that of an interrupted one.

    Raises:
        SavepointError: It holds something else.
        OSError: It cannot be made.
    """
    create_directory(target.parent, PRIVATE_DIRECTORY)
    create_directory(target, PRIVATE_DIRECTORY)
    ours = {STATE_DIRECTORY, temporary_of(target / MANIFEST).name}
    others = sorted(path.name for path in target.iterdir() if path.name not in ours)
    if others:
        raise SavepointError(
            f"{target} cannot become a savepoint: it holds {others[0]}",
            hint="Name a directory that does not exist, or is empty.",
        )
    shutil.rmtree(target / STATE_DIRECTORY, ignore_errors=True)
    create_directory(target / STATE_DIRECTORY, PRIVATE_DIRECTORY)


def copy_state(files: Iterable[Path], target: Path) -> tuple[StateFile, ...]:
    """Copy state files into a prepared savepoint, durably, and describe them.

    Raises:
        OSError: A file cannot be read or written.
    """
    described = []
    for path in files:
        size, digest = _copy(path, target / STATE_DIRECTORY / path.name)
        column = pq.read_table(path, columns=["operator"]).column("operator")
        uids = tuple(sorted(column.unique().to_pylist()))
        described.append(StateFile(path.name, size, digest, uids))
    sync_directory(target / STATE_DIRECTORY)
    return tuple(described)


def write_manifest(target: Path, savepoint: Savepoint) -> None:
    """Complete a savepoint: from now on the directory is one.

    Raises:
        OSError: It cannot be written.
    """
    write_verified(target / MANIFEST, savepoint.to_json())


def read_savepoint(path: Path) -> Savepoint:
    """Return the manifest of a savepoint.

    Raises:
        SavepointError: There is none, it is damaged, or another version wrote it.
    """
    try:
        written = read_verified(path / MANIFEST)
    except DecodeError as cause:
        raise SavepointError(cause.problem, hint=_TAKE_ANOTHER) from cause
    except OSError as cause:
        raise SavepointError(
            f"{path} is not a savepoint: {MANIFEST} cannot be read there ({cause.strerror})",
            hint="Pass the directory that `penstock savepoint` printed.",
        ) from cause
    if written.get("format") != FORMAT:
        raise SavepointError(
            f"the savepoint {path} has format {written.get('format')}, this version reads {FORMAT}",
            hint="Use the version of Penstock that wrote it.",
        )
    return Savepoint.from_json(written)


def restore_state(path: Path, savepoint: Savepoint, target: Path) -> list[Path]:
    """Copy the state files of a savepoint into a directory, verified.

    Args:
        path: The savepoint.
        savepoint: Its manifest.
        target: Made if missing; files with these names are replaced.

    Returns:
        The copies.

    Raises:
        SavepointError: A file is missing or is not what was written; names it.
        OSError: A copy cannot be written.
    """
    create_directory(target, PRIVATE_DIRECTORY)
    copies = []
    for file in savepoint.files:
        source = path / STATE_DIRECTORY / file.name
        if not source.is_file():
            raise SavepointError(f"the state file {source} is gone", hint=_TAKE_ANOTHER)
        if source.stat().st_size != file.size:
            raise SavepointError(
                f"the state file {source} is damaged: it has {source.stat().st_size} bytes, "
                f"{file.size} were written",
                hint=_TAKE_ANOTHER,
            )
        copy = target / file.name
        _, digest = _copy(source, copy)
        if digest != file.sha256:
            copy.unlink()
            raise SavepointError(
                f"the state file {source} is damaged: its SHA-256 is {digest[:16]}…, "
                f"{file.sha256[:16]}… was written",
                hint=_TAKE_ANOTHER,
            )
        copies.append(copy)
    sync_directory(target)
    return copies


def _copy(source: Path, target: Path) -> tuple[int, str]:
    """Copy durably and return size and SHA-256 of what was copied."""
    digest = hashlib.sha256()
    size = 0
    with source.open("rb") as reader, open_private(target) as writer:
        while chunk := reader.read(1 << 20):
            digest.update(chunk)
            size += len(chunk)
            writer.write(chunk)
        writer.flush()
        os.fsync(writer.fileno())
    return size, digest.hexdigest()
