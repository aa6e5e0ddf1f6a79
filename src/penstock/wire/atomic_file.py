"""Files that are written atomically.

`write_atomically` writes `.<name>.tmp` next to the target, syncs it, renames it and syncs
the directory: after a crash at any point the target has its old bytes or the new ones.

`put_exclusively` makes a file that is never replaced: only one of several writers succeeds.

For a path in an object store both are a single put, conditional or plain: an object is whole and durable, or not there.

A *verified* file has a checksum too. It has exactly two lines, one JSON object and the crc32 of
that line, its newline included:

    {"epoch":"live-7","sequence":7}
    crc32 bd7a1c1e
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

from penstock.errors import DecodeError
from penstock.failpoint import failpoint
from penstock.filesystem.stored_path import JobPath, StoredPath

PRIVATE_DIRECTORY = 0o700
PRIVATE_FILE = 0o600
"""Modes of the files and directories of a job. They contain the user's records, state and options,
so only their owner may read them."""


def write_atomically(
    path: JobPath,
    data: bytes,
    may_replace: Callable[[], None] | None = None,
    *,
    is_durable: bool = True,
) -> None:
    """Replace the content of `path` by `data`, durably, in a file that no other user may read.

    A path has one writer at a time. After a crash `temporary_of(path)` may exist; the next write
    to `path` reuses it. `OSError` also if the rename could not be made durable.
    """
    failpoint(f"file.{path.name}")
    if may_replace is not None:
        may_replace()
    if isinstance(path, StoredPath):
        path.store.write(path.address, data)
        return
    temporary = temporary_of(path)
    temporary.unlink(missing_ok=True)  # a file of an earlier crash keeps its mode
    with open_private(temporary) as file:
        file.write(data)
        file.flush()
        if is_durable:
            os.fsync(file.fileno())
    if may_replace is not None:
        may_replace()
    temporary.replace(path)
    if is_durable:
        sync_directory(path.parent)


def put_exclusively(
    path: JobPath,
    data: bytes,
    may_replace: Callable[[], None] | None = None,
    *,
    place: str = "file",
) -> None:
    """Make a file with its whole content, durably, unless there is one of that name.

    Any number of writers may try at the same time; one of them succeeds. After a crash the
    temporary file may exist; `remove_temporaries` removes it. `FileExistsError` if there is such a file, which is
    unchanged; another `OSError` if it was not made, or could not be made durable.
    """
    if may_replace is not None:
        may_replace()
    if isinstance(path, StoredPath):
        _create(path, data, may_replace, place)
        return
    temporary = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    try:
        with open_private(temporary) as file:
            file.write(data)
            file.flush()
            os.fdatasync(file.fileno())
        failpoint(f"{place}-written")
        if may_replace is not None:
            may_replace()
        failpoint(f"{place}-checked")
        os.link(temporary, path)
        failpoint(f"{place}-linked")
    finally:
        temporary.unlink(missing_ok=True)
    sync_directory(path.parent)
    failpoint(f"{place}-durable")


def _create(
    path: StoredPath, data: bytes, may_create: Callable[[], None] | None, place: str
) -> None:
    """Create an object; the steps have the names of those of a file."""
    failpoint(f"{place}-written")
    if may_create is not None:
        may_create()
    failpoint(f"{place}-checked")
    path.store.create(path.address, data)
    failpoint(f"{place}-linked")
    failpoint(f"{place}-durable")


def remove_temporaries(directory: JobPath) -> None:
    """Remove the temporary files of writers in a directory; those of live writers fail then.

    A store has none: there a put that is under way may succeed later.
    """
    if isinstance(directory, StoredPath):
        return
    for path in directory.iterdir():
        if path.name.startswith(".") and path.name.endswith(".tmp"):
            path.unlink(missing_ok=True)


def open_private(path: Path) -> BinaryIO:
    """Open a file for writing and empty it; a new file has the mode `PRIVATE_FILE`."""
    return open(path, "wb", opener=lambda name, flags: os.open(name, flags, PRIVATE_FILE))


def temporary_of(path: Path) -> Path:
    """Return the temporary file of `write_atomically` for `path`."""
    return path.with_name(temporary_name(path.name))


def temporary_name(name: str) -> str:
    """Return the name of the temporary file of `write_atomically` for a file of a name."""
    return f".{name}.tmp"


def create_directory(path: JobPath, mode: int = 0o777) -> None:
    """Create directory `path` and its missing parents, durably; an existing one is fine."""
    if isinstance(path, StoredPath):
        return
    missing = [level for level in (path, *path.parents) if not level.exists()]
    for level in reversed(missing):
        level.mkdir(mode if level == path else 0o777, exist_ok=True)
        sync_directory(level.parent)
    path.mkdir(exist_ok=True)


def sync_directory(path: JobPath) -> None:
    """Make the names in directory `path` durable."""
    if isinstance(path, StoredPath):
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_verified(
    path: JobPath,
    payload: dict[str, Any],
    may_replace: Callable[[], None] | None = None,
    *,
    is_durable: bool = True,
) -> None:
    """Write a JSON object with its checksum, as `write_atomically` does."""
    write_atomically(path, encode_verified(payload), may_replace, is_durable=is_durable)


def put_verified(
    path: JobPath,
    payload: dict[str, Any],
    may_replace: Callable[[], None] | None = None,
    *,
    place: str = "file",
) -> None:
    """Make a file of a JSON object with its checksum, as `put_exclusively` does.

    It raises FileExistsError if there is such a file.
    """
    put_exclusively(path, encode_verified(payload), may_replace, place=place)


def read_verified(path: JobPath) -> dict[str, Any]:
    """Return the payload that `write_verified` or `put_verified` wrote."""
    return decode_verified(path.read_bytes(), path)


def encode_verified(payload: dict[str, Any]) -> bytes:
    """Return the bytes of a verified file."""
    line = json.dumps(payload, separators=(",", ":"), sort_keys=True).encode() + b"\n"
    return line + _checksum_line(line)


def decode_verified(data: bytes, path: object) -> dict[str, Any]:
    """Return the payload of the bytes of a verified file."""
    line, newline, checksum = data.partition(b"\n")
    if checksum != _checksum_line(line + newline):
        raise _damaged(path, f"its checksum line is {checksum[:40]!r}")
    try:
        payload = json.loads(line)
    except ValueError as cause:
        raise _damaged(path, f"it is not JSON: {cause}") from cause
    if not isinstance(payload, dict):
        raise _damaged(path, f"it holds a JSON {type(payload).__name__}, not an object")
    return payload


def _checksum_line(line: bytes) -> bytes:
    return f"crc32 {zlib.crc32(line):08x}\n".encode()


def _damaged(path: object, what: str) -> DecodeError:
    return DecodeError(
        f"{path} is damaged: {what}",
        hint="Restore the file from a copy, or start over without the directory it is in.",
    )
