"""Checks the files of Spark's checkpoint of a streaming DataFrame's query for damage.

Hadoop writes `.<name>.crc` beside every file on a mounted file system; Spark does not read it when it
reads its own checkpoint. A flipped digit in `offsets/7` would cause records to be read twice or never,
so the checksums are compared before a query continues:

    4 bytes   63 72 63 00
    4 bytes   length n of a part of the file, big-endian
    4 bytes   crc32 of each n bytes of the file, big-endian

For a file without a checksum the first lines are checked: a version, then JSON. Files of state are not
checked, because Spark has its own checksums for them.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from pathlib import Path

from penstock.errors import StateError

_MAGIC = b"crc\0"
_VERSION = re.compile(r"v\d+")
_HEADER = struct.Struct(">4sI")
_PATTERNS = ("metadata", "offsets/*", "commits/*", "sources/*/*")
_SPARKS_OWN = frozenset({"metadata", "offsets/*", "commits/*"})
"""Files with a known format: a version (except `metadata`), then JSON. Sources have other formats."""

_OF_STATE = ("state/*/_metadata/*/*", "state/*/_stateSchema/*/*")
"""Files that describe Spark's state, written once: Spark reads them before its own checksums."""


def check_checkpoint(checkpoint: Path) -> None:
    """Compare the files that record the progress of a query with their checksums.

    A file has no checksum if the driver was killed between the renames of both, or if the file system
    writes none.

    Raises:
        StateError: A file is damaged; the error names it.
    """
    for pattern in (*_PATTERNS, *_OF_STATE):
        for path in sorted(checkpoint.glob(pattern)):
            if path.name.startswith(".") or not path.is_file():
                continue
            wrong = _damage(path, is_text=pattern in _SPARKS_OWN)
            if wrong is not None:
                raise StateError(
                    f"{path} is damaged: {wrong}",
                    hint="Restore the checkpoint directory from a copy, or start the job in a "
                    "new one.",
                )


def _damage(path: Path, *, is_text: bool) -> str | None:
    """Return the damage of a file, None if it is intact."""
    sums = path.with_name(f".{path.name}.crc")
    data = path.read_bytes()
    if sums.exists():
        same = _agree(data, sums.read_bytes())
        return None if same else f"its checksum in {sums.name} is another"
    return _wrong_form(path, data) if is_text else None


def _wrong_form(path: Path, data: bytes) -> str | None:
    lines = data.decode("utf-8", "replace").splitlines()
    if path.name != "metadata" and (not lines or not _VERSION.fullmatch(lines.pop(0))):
        return "it does not begin with a version"
    try:
        json.loads(lines[0] if lines else "")
    except ValueError as cause:
        return f"it has no JSON where Spark writes some ({cause})"
    return None


def _agree(data: bytes, sums: bytes) -> bool:
    if len(sums) < _HEADER.size:
        return False
    magic, length = _HEADER.unpack_from(sums)
    if magic != _MAGIC or not length:
        return False
    found = [zlib.crc32(data[at : at + length]) for at in range(0, len(data), length)]
    return sums[_HEADER.size :] == struct.pack(f">{len(found)}I", *found)
