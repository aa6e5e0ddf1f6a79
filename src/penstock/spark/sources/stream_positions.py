"""Reads the offsets and files of a micro-batch from Spark's checkpoint.

Spark writes `offsets/<batch>` before it runs the batch: a line with the version, one with
metadata, and one per stream, in the order of the query; `-` if a stream had nothing yet. A file
stream writes `sources/<stream>/<offset>` (every tenth as `<offset>.compact`, which repeats all
before it): a line with the version and one JSON object per file, with the offset that read it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from penstock.errors import StateError

_VERSION = "v1"
_BLOCK_BYTES = 64 << 10
_RESTORE = "Restore the checkpoint directory from a copy, or start the job in a new one."


def stream_offsets(checkpoint: Path, batch: int) -> list[str | None]:
    """Return the offset of every stream at the end of a micro-batch, as Spark's JSON.

    Raises:
        StateError: Spark's file is missing or has another layout.
    """
    path = checkpoint / "offsets" / str(batch)
    version, _, *offsets = _lines(path, least=2)
    if version != _VERSION:
        raise _unknown(path, f"its version is {version!r}")
    return [None if line == "-" else line for line in offsets]


def files_read(checkpoint: Path, stream: int, offset: str | None) -> dict[str, int]:
    """Return the files a file stream has read up to an offset: URI to time in milliseconds.

    Raises:
        StateError: Spark's file is missing or has another layout.
    """
    if offset is None:
        return {}
    until = int(json.loads(offset)["logOffset"])
    found: dict[str, int] = {}
    for path in sorted((checkpoint / "sources" / str(stream)).glob("[0-9]*")):
        version, *entries = _lines(path, least=1)
        if version != _VERSION:
            raise _unknown(path, f"its version is {version!r}")
        for line in entries:
            entry = json.loads(line)
            if entry["batchId"] <= until:
                found[entry["path"]] = entry["timestamp"]
    if not found:
        raise _unknown(checkpoint / "sources" / str(stream), f"no file up to offset {until}")
    return found


def files_planned(checkpoint: Path, stream: int, since: int, until: int) -> dict[str, int]:
    """Return the files of the offsets after `since`, up to `until`: URI to time.

    Of a compacted log it reads only the end.

    Raises:
        StateError: Spark's file is missing or has another layout.
    """
    found: dict[str, int] = {}
    directory = checkpoint / "sources" / str(stream)
    for offset in range(until, since, -1):
        path = directory / f"{offset}.compact"
        for line in _last_lines(path if path.exists() else directory / str(offset)):
            entry = json.loads(line)
            if entry["batchId"] <= since:
                return found
            if entry["batchId"] <= until:
                found[entry["path"]] = entry["timestamp"]
    return found


def log_offset(offset: str | None) -> int:
    """Return the last offset that a file stream has read, -1 before the first."""
    return -1 if offset is None else int(json.loads(offset)["logOffset"])


def last_batches(checkpoint: Path) -> tuple[int | None, int | None]:
    """Return the last micro-batch that was started, and the last that was committed."""
    begun, committed = (
        max((int(p.name) for p in (checkpoint / name).glob("[0-9]*")), default=None)
        for name in ("offsets", "commits")
    )
    return begun, committed


def _last_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a log after the version, the last one first."""
    try:
        with path.open("rb") as file:
            at, rest = file.seek(0, os.SEEK_END), b""
            while at:
                start = max(at - _BLOCK_BYTES, 0)
                file.seek(start)
                rest, *lines = (file.read(at - start) + rest).split(b"\n")
                yield from (line.decode() for line in reversed(lines) if line)
                at = start
    except OSError as cause:
        raise _unknown(path, str(cause)) from cause
    if rest != _VERSION.encode():
        raise _unknown(path, f"its version is {rest!r}")


def _lines(path: Path, least: int) -> list[str]:
    try:
        # Not splitlines(): file names may contain other characters that it takes for line ends.
        lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except OSError as cause:
        raise _unknown(path, str(cause)) from cause
    if len(lines) < least:
        raise _unknown(path, f"it has {len(lines)} lines")
    return lines


def _unknown(path: Path, what: str) -> StateError:
    return StateError(f"Spark's checkpoint {path} cannot be understood: {what}", hint=_RESTORE)
