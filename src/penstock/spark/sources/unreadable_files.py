"""Refuses files that Spark would read as none: without bytes where a format needs some, or compressed in a way it has not.

| files | refused | what Spark does |
|---|---|---|
| Parquet, ORC, Avro | no bytes | no records |
| lines | a suffix of another compression (`.xz`, `.zip`) | takes the bytes for text |
| lines, `.lz4` and `.snappy` | bytes but no text: frames of other tools than Hadoop | no records |
"""

from __future__ import annotations

from pathlib import PurePath, PurePosixPath
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from penstock.connectors.files.file_source import FileSource
from penstock.spark.sources.file_paths import hadoop_path, local_file, plain

HEAD_BYTES = 16 << 10
_COMPRESSED = frozenset({".gz", ".bz2", ".zst", ".zstd", ".lz4", ".snappy", ".deflate", ".xz"})
_UNKNOWN = frozenset({".xz", ".zip", ".br", ".7z", ".rar", ".lzo", ".lzma"})
_OF_ARROW = frozenset({".gz", ".bz2", ".zst"})
_FRAMED = frozenset({".lz4", ".snappy"})
_EMPTY_FRAME = 8
_OF_BYTES = frozenset({"parquet", "orc", "avro"})
_OF_LINES = frozenset({"csv", "json", "text"})
_HINT = "Decompress it, or compress it with gzip, bzip2 or zstd (.gz, .bz2, .zst)."

Refused = tuple[str, str] | None
"""Problem and hint."""


def unreadable(session: SparkSession, source: FileSource, uri: str, size: int) -> Refused:
    """Return why a file of a source is refused, None if it is not.

    Args:
        session: Spark.
        source: The source.
        uri: The file.
        size: Its number of bytes.
    """
    if source.format in _OF_BYTES and size == 0:
        hint = "Remove it, or write it again: a writer that failed may have left it."
        return f"{uri} has no bytes, so it is no {source.format} file", hint
    suffix = PurePosixPath(plain(uri)).suffix.lower()
    if source.format not in _OF_LINES or size == 0:
        return None
    if suffix in _UNKNOWN:
        return f"{uri} is compressed in a way that Spark does not read ({suffix})", _HINT
    if suffix in _FRAMED and size > _EMPTY_FRAME and not head_of(session, uri):
        found = f"{uri} has {size} bytes and no lines: it was not compressed as Hadoop does"
        return found, _HINT
    return None


def is_compressed(path: PurePath) -> bool:
    """Return whether the name of a file is that of a compressed one."""
    return path.suffix in _COMPRESSED


def head_of(session: SparkSession, uri: str) -> bytes | None:
    """Return the first bytes of a file, decompressed; None if they cannot be, which its reader can or reports."""
    local = local_file(uri)
    try:
        if local is not None and (not is_compressed(local) or local.suffix in _OF_ARROW):
            with pa.input_stream(str(local)) as file:
                return bytes(file.read(HEAD_BYTES))
        return _decompressed(session, uri)
    except (OSError, pa.ArrowException, Py4JJavaError):
        return None


def _decompressed(session: SparkSession, uri: str) -> bytes:
    conf, path = hadoop_path(session, uri)
    jvm: Any = session._jvm  # noqa: SLF001 - no public way to Hadoop's codecs
    codec = jvm.org.apache.hadoop.io.compress.CompressionCodecFactory(conf).getCodec(path)
    stream = path.getFileSystem(conf).open(path)
    try:
        opened = stream if codec is None else codec.createInputStream(stream)
        return bytes(opened.readNBytes(HEAD_BYTES))
    finally:
        stream.close()
