"""Blobs as 0.1.0 wrote them: without a directory. There is no other writer of them any more."""

from __future__ import annotations

import pickle
import struct
from zlib import crc32

from penstock.state.log.blob import Section
from penstock.state.log.compression import Compression, compress


def old_blob(
    operator: str,
    key_group: int,
    sections: list[Section],
    compression: Compression = Compression.NONE,
) -> bytes:
    """Return a blob "PSS1", or "PSS2" if it is compressed."""
    body = pickle.dumps([(s.state, s.schema, *s.columns()) for s in sections], 5)
    magic = b"PSS1"
    if compression is not Compression.NONE:
        number, small = compress(body, compression)
        magic, body = b"PSS2", struct.pack("<BI", number, len(body)) + small
    uid = operator.encode()
    covered = struct.pack("<IH", key_group, len(uid)) + uid + body
    return struct.pack("<4sI", magic, crc32(covered)) + covered
