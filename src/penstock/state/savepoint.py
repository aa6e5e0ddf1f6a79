"""Savepoints: a directory, or objects in a store, with the state and positions from which another job can start.

    savepoint.json     the manifest: files, operators and positions; written last
    state/*.parquet    rows (operator, key_group, blob), readable without the job

A directory without a manifest is no savepoint, whatever its other files. The manifest is written
atomically and has a checksum. It lists every state file with size and SHA-256, which are compared
before a job starts from it. It uses uids, never ids of the plan, so a savepoint fits a program whose
graph has changed.

A savepoint in a store is a copy of one in a directory, with the same files under the same names. The manifest is
written last, and only if there is none, so what has a manifest is a whole savepoint.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pyarrow.parquet as pq

from penstock.errors import DecodeError, SavepointError
from penstock.failpoint import failpoint
from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.object_store import ObjectStore
from penstock.filesystem.stored_path import PART_BYTES, JobPath, UploadFile
from penstock.wire.atomic_file import (
    PRIVATE_DIRECTORY,
    create_directory,
    read_verified,
    sync_directory,
    temporary_name,
    write_verified,
)
from penstock.wire.job_files import byte_count, new_file, readable, remove_tree

FORMAT = 1
MANIFEST = "savepoint.json"
STATE_DIRECTORY = "state"
EVERY_SUBTASK = "-1"
"""Group of a watermark that is valid for every subtask of the sending level."""

_COPY_BYTES = 1 << 20
_TAKE_ANOTHER = "Restore the savepoint from a copy, or start from another one."


@dataclass(frozen=True, slots=True)
class OperatorRecord:
    """One operator of the savepoint's job.

    Attributes:
        kind: Name of its row in the catalogue of operators.
        is_generated: Whether the uid is generated, because the user set none.
        digest: Digest of its functions (`penstock.plan.compat.function_digest`).
        inputs: Its inputs (`penstock.plan.compat.evolution`).
    """

    uid: str
    name: str
    kind: str
    is_generated: bool = False
    digest: str = ""
    inputs: tuple[str, ...] | None = None

    @classmethod
    def from_json(cls, written: dict[str, Any]) -> OperatorRecord:
        """Return the operator of a record."""
        inputs = written.get("inputs")
        return cls(**written | {"inputs": None if inputs is None else tuple(inputs)})


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """The position of one source.

    Attributes:
        kinds: Kinds of its parts, in order.
        part: Index of the current part, None before the first.
        position: Position in that part; its form depends on the kind. `splits`: next position and
            end of each split. `left`: the bounded files still to read. `offsets`: Spark's offsets of
            a foreign stream, as JSON. `rows_left`: whether rows of a batch DataFrame are left, `rows_read`: whether some
            were read.
        read: Part index (as text) to the files read of it.
        began: Part index (as text) to the splits with which the job began to read it: start and end of each, and their
            ids if they have some.
    """

    uid: str
    name: str
    kinds: tuple[str, ...]
    part: int | None
    position: dict[str, Any] = field(default_factory=dict)
    read: dict[str, Any] = field(default_factory=dict)
    began: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WatermarkRecord:
    """The watermarks that one operator received from another operator or a source.

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
        name: Name in the directory `state`.
        operators: uids of the operators whose rows it contains.
    """

    name: str
    size: int
    sha256: str
    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Savepoint:
    """The manifest.

    Attributes:
        id: Id of its request.
        taken_at: Time in ISO 8601, in UTC.
        run: Name of the run in which it was taken.
        drained: Whether the input was ended first, so that every timer has fired.
        memory: uid to the `memory` of the operator.
        sinks: Names of the sinks (`penstock.plan.compat.evolution`); None if they were not recorded.
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
    sinks: tuple[str, ...] | None = None

    @property
    def operators_with_state(self) -> tuple[str, ...]:
        """The uids that have state rows, in order."""
        return tuple(sorted({uid for file in self.files for uid in file.operators}))

    @property
    def generated_uids(self) -> frozenset[str]:
        """The generated uids of operators."""
        return frozenset(operator.uid for operator in self.operators if operator.is_generated)

    @property
    def unnamed_state(self) -> tuple[str, ...]:
        """The generated uids of operators with state, in order."""
        return tuple(uid for uid in self.operators_with_state if uid in self.generated_uids)

    def name_of(self, uid: str) -> str:
        """Return the name of an operator or source, its uid if the name is unknown."""
        known = {source.uid: source.name for source in self.sources}
        known |= {operator.uid: operator.name for operator in self.operators}
        return known.get(uid, uid)

    def to_json(self) -> dict[str, Any]:
        """Return the form to write."""
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_json(cls, written: dict[str, Any]) -> Savepoint:
        """Return the manifest that `to_json` encoded."""
        plain = {name: value for name, value in written.items() if name != "format"}
        sinks = plain.get("sinks")
        return cls(
            **plain
            | {
                "operators": tuple(map(OperatorRecord.from_json, plain["operators"])),
                "sinks": None if sinks is None else tuple(sinks),
                "sources": tuple(
                    SourceRecord(**source | {"kinds": tuple(source["kinds"])})
                    for source in plain["sources"]
                ),
                "watermarks": tuple(
                    WatermarkRecord(**watermark) for watermark in plain["watermarks"]
                ),
                "files": tuple(
                    StateFile(**file | {"operators": tuple(file["operators"])})
                    for file in plain["files"]
                ),
            }
        )


def merged(parts: Sequence[Savepoint]) -> Savepoint:
    """Return the manifest over parts of one savepoint, which different pipelines of the job have added."""
    if len(parts) == 1:
        return parts[0]
    sources: dict[str, SourceRecord] = {}
    for record in (record for part in parts for record in part.sources):
        sources[record.uid] = max(sources.get(record.uid, record), record, key=_progress)
    return replace(
        parts[0],
        run=", ".join(dict.fromkeys(part.run for part in parts)),
        drained=any(part.drained for part in parts),
        sources=tuple(sources.values()),
        watermarks=tuple(mark for part in parts for mark in part.watermarks),
        memory={uid: value for part in parts for uid, value in part.memory.items()},
        files=tuple(file for part in parts for file in part.files),
    )


def _progress(record: SourceRecord) -> tuple[int, int]:
    """Return the part that a source has reached, and the number of files read of all its parts."""
    files = sum(len(read["files"]) for read in record.read.values())
    return (-1 if record.part is None else record.part), files


def prepare_directory(target: JobPath) -> None:
    """Make the directory of a new savepoint, or empty that of an interrupted one."""
    create_directory(target.parent, PRIVATE_DIRECTORY)
    create_directory(target, PRIVATE_DIRECTORY)
    ours = {STATE_DIRECTORY, temporary_name(MANIFEST)}
    others = sorted(path.name for path in target.iterdir() if path.name not in ours)
    if others:
        raise SavepointError(
            f"{target} cannot become a savepoint: it holds {others[0]}",
            hint="Name a directory that does not exist, or is empty.",
        )
    remove_tree(target / STATE_DIRECTORY)
    create_directory(target / STATE_DIRECTORY, PRIVATE_DIRECTORY)


def copy_state(files: Iterable[JobPath], target: JobPath) -> tuple[StateFile, ...]:
    """Copy state files into a prepared savepoint, durably, and return their descriptions."""
    described = []
    for path in files:
        size, digest = _copy(path, target / STATE_DIRECTORY / path.name)
        column = pq.read_table(readable(path), columns=["operator"]).column("operator")
        uids = tuple(sorted(column.unique().to_pylist()))
        described.append(StateFile(path.name, size, digest, uids))
    sync_directory(target / STATE_DIRECTORY)
    return tuple(described)


def write_manifest(target: JobPath, savepoint: Savepoint) -> None:
    """Write the manifest, which completes the savepoint."""
    write_verified(target / MANIFEST, savepoint.to_json())


def read_savepoint(path: JobPath) -> Savepoint:
    """Return the manifest of a savepoint."""
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


def restore_state(path: JobPath, savepoint: Savepoint, target: JobPath) -> list[JobPath]:
    """Copy the state files of a savepoint into a directory, verify them, and return the copies."""
    create_directory(target, PRIVATE_DIRECTORY)
    copies = []
    for file in savepoint.files:
        source = path / STATE_DIRECTORY / file.name
        if not source.is_file():
            raise SavepointError(f"the state file {source} is gone", hint=_TAKE_ANOTHER)
        size = byte_count(source)
        if size != file.size:
            raise SavepointError(
                f"the state file {source} is damaged: it has {size} bytes, "
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


def _copy(source: JobPath, target: JobPath) -> tuple[int, str]:
    """Copy a file durably, and return size and SHA-256 of the copy."""
    writer = new_file(target, is_digested=True)
    try:
        with source.open("rb") as reader:
            shutil.copyfileobj(reader, writer, _COPY_BYTES)
        writer.finish()
    except BaseException:
        writer.discard()
        raise
    return writer.tell(), writer.sha256


def put_savepoint(
    store: ObjectStore, savepoint: JobPath, path: ObjectPath, may_commit: Callable[[], None]
) -> None:
    """Copy a savepoint to a store; may be repeated."""
    manifest = (savepoint / MANIFEST).read_bytes()
    for file in read_savepoint(savepoint).files:
        name = f"{STATE_DIRECTORY}/{file.name}"
        _send(store, savepoint / name, path / name)
    failpoint("savepoint.sent")
    may_commit()
    try:
        store.create(path / MANIFEST, manifest)
    except FileExistsError:
        if store.read(path / MANIFEST) != manifest:
            raise SavepointError(
                f"{path} cannot become a savepoint: there is another one",
                hint="Take the savepoint again, or name another directory.",
            ) from None


def fetch_savepoint(store: ObjectStore, path: ObjectPath, target: JobPath) -> None:
    """Copy a savepoint from a store to a directory. The copy is not verified."""
    create_directory(target, PRIVATE_DIRECTORY)
    create_directory(target / STATE_DIRECTORY, PRIVATE_DIRECTORY)
    try:
        _fetch(store, path / MANIFEST, target / MANIFEST)
    except FileNotFoundError as cause:
        raise SavepointError(
            f"{path} is not a savepoint: {MANIFEST} cannot be read there ({cause.strerror})",
            hint="Pass the path that `penstock savepoint` printed.",
        ) from cause
    for file in read_savepoint(target).files:
        name = f"{STATE_DIRECTORY}/{file.name}"
        try:
            _fetch(store, path / name, target / name)
        except FileNotFoundError as cause:
            raise SavepointError(
                f"the state file {path / name} is gone", hint=_TAKE_ANOTHER
            ) from cause


def _send(store: ObjectStore, source: JobPath, path: ObjectPath) -> None:
    sent = UploadFile(store, store.begin_upload(path))
    try:
        with source.open("rb") as file:
            while chunk := file.read(PART_BYTES):
                sent.write(chunk)
        store.complete_upload(sent.upload, sent.finish())
    except FileNotFoundError:
        # The answer to the first attempt to complete it was lost, or somebody has dropped the upload.
        if store.size_of(path) != byte_count(source):
            raise
    except OSError:
        sent.abort()
        raise


def _fetch(store: ObjectStore, path: ObjectPath, target: JobPath) -> None:
    file = new_file(target)
    try:
        for chunk in store.chunks(path):
            file.write(chunk)
        file.finish(is_durable=False)
    except BaseException:
        file.discard()
        raise
