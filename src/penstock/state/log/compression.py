"""Compression of state blobs."""

from __future__ import annotations

from enum import Enum
from functools import cache

import pyarrow as pa

from penstock.errors import StateError


class Compression(Enum):
    """Compression of the body of a blob. The values are those of `state.compression`."""

    NONE = "none"
    LZ4 = "lz4"
    """LZ4 frames."""
    ZSTD = "zstd"
    """Zstandard, at level 1."""


_NUMBERS: dict[Compression, int] = {Compression.LZ4: 1, Compression.ZSTD: 2}
"""Stored in blobs: only ever added to."""

_BY_NUMBER = {number: compression for compression, number in _NUMBERS.items()}


def compress(body: bytes, compression: Compression) -> tuple[int, bytes]:
    """Return the number of the compression, which is not NONE, and the compressed bytes."""
    return _NUMBERS[compression], _codec(compression).compress(body, asbytes=True)


def decompress(number: int, size: int, body: memoryview) -> memoryview:
    """Return what was compressed.

    Raises:
        StateError: The number is unknown, or the bytes are not what was written.
    """
    compression = _BY_NUMBER.get(number)
    if compression is None:
        raise StateError(
            f"a state blob is compressed in a way ({number}) that is unknown here",
            hint="Read the state with the version of Penstock that wrote it, or a later one.",
        )
    try:
        return memoryview(_codec(compression).decompress(pa.py_buffer(body), size))
    except (OSError, ValueError) as cause:
        raise StateError(
            f"a state blob cannot be decompressed: {cause}",
            hint="Restore the checkpoint directory from a copy, or start the job in a new one.",
        ) from cause


@cache
def _codec(compression: Compression) -> pa.Codec:
    return pa.Codec(compression.value)
