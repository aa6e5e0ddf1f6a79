"""Whether Spark's record of a query is what Spark wrote.

Hadoop keeps `.<name>.crc` beside every file it writes to a mounted file system; Spark does not
look at it when it reads its own checkpoint. One flipped digit in `offsets/7` would be records
that are read twice or never, so it is compared before a query goes on:

    4 bytes   63 72 63 00
    4 bytes   length n of a part of the file, big-endian
    4 bytes   crc32 of each n bytes of the file, big-endian

Files of the state store are not looked at: Spark has checksums of its own for them.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

from penstock.errors import StateError

_MAGIC = b"crc\0"
_HEADER = struct.Struct(">4sI")
_PATTERNS = ("metadata", "offsets/*", "commits/*", "sources/*/*")


def check_checkpoint(checkpoint: Path) -> None:
    """Compare the files that say how far a query is with their checksums.

    A file without a checksum is taken as it is: it was renamed into place and the driver was
    killed before its checksum was, or the file system keeps none.

    Args:
        checkpoint: `checkpointLocation` of the query; may be empty.

    Raises:
        StateError: A file is not what was written; names it.
    """
    for pattern in _PATTERNS:
        for path in sorted(checkpoint.glob(pattern)):
            sums = path.with_name(f".{path.name}.crc")
            if path.name.startswith(".") or not sums.exists():
                continue
            if not _agree(path.read_bytes(), sums.read_bytes()):
                raise StateError(
                    f"{path} is damaged: its checksum in {sums.name} is another",
                    hint="Restore the checkpoint directory from a copy, or start the job in a "
                    "new one.",
                )


def _agree(data: bytes, sums: bytes) -> bool:
    if len(sums) < _HEADER.size:
        return False
    magic, length = _HEADER.unpack_from(sums)
    if magic != _MAGIC or not length:
        return False
    found = [zlib.crc32(data[at : at + length]) for at in range(0, len(data), length)]
    return sums[_HEADER.size :] == struct.pack(f">{len(found)}I", *found)
