"""Refuses files that Spark would read as none: without bytes where a format needs some, or compressed in a way it has not.

| files | refused | what Spark does |
|---|---|---|
| Parquet, ORC, Avro | no bytes | no records |
| lines | a suffix of another compression (`.xz`, `.zip`) | takes the bytes for text |
| lines, `.lz4` and `.snappy` | frames of other tools than Hadoop | no records, or a failure of its memory |
"""

from __future__ import annotations

import struct
from pathlib import PurePath, PurePosixPath
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from penstock.connectors.files.file_source import FileSource
from penstock.errors import CallSite, SourceError
from penstock.spark.sources.file_paths import (
    facts_of,
    hadoop_path,
    local_file,
    plain,
    stream_path,
)

HEAD_BYTES = 16 << 10
_COMPRESSED = frozenset({".gz", ".bz2", ".zst", ".zstd", ".lz4", ".snappy", ".deflate", ".xz"})
_UNKNOWN = frozenset({".xz", ".zip", ".br", ".7z", ".rar", ".lzo", ".lzma"})
_OF_ARROW = frozenset({".gz", ".bz2", ".zst"})
_FRAMED = frozenset({".lz4", ".snappy"})
_BLOCK_HEAD = struct.Struct(">II")
"""Sizes of Hadoop's block, before it is compressed and then."""
_OF_BYTES = frozenset({"parquet", "orc", "avro"})
_OF_LINES = frozenset({"csv", "json", "text"})
_HINT = "Decompress it, or compress it with gzip, bzip2 or zstd (.gz, .bz2, .zst)."

Refused = tuple[str, str] | None
"""Problem and hint."""


def unreadable(session: SparkSession, source: FileSource, uri: str, size: int) -> Refused:
    """Return why a file of a source is refused, None if it is not."""
    if source.format in _OF_BYTES and size == 0:
        hint = "Remove it, or write it again: a writer that failed may have left it."
        return f"{uri} has no bytes, so it is no {source.format} file", hint
    suffix = PurePosixPath(plain(uri)).suffix.lower()
    if source.format not in _OF_LINES or size == 0:
        return None
    if suffix in _UNKNOWN:
        return f"{uri} is compressed in a way that Spark does not read ({suffix})", _HINT
    if suffix in _FRAMED and size > _BLOCK_HEAD.size:
        _, length = _BLOCK_HEAD.unpack(_raw(session, uri, _BLOCK_HEAD.size))
        if length > size - _BLOCK_HEAD.size:
            return f"{uri} is compressed, and not as Hadoop does it: Spark finds no lines", _HINT
    return None


def check_before_inference(
    session: SparkSession, source: FileSource, origin: CallSite | None
) -> None:
    """Refuse files from which Spark must not infer columns: it fails, or takes up all memory."""
    if source.type_info is not None or source.format not in _OF_LINES:
        return
    listed = session.read.format("text").load(stream_path(source.path)).inputFiles()
    for uri in listed:
        if PurePosixPath(plain(uri)).suffix.lower() in _UNKNOWN | _FRAMED:
            refused = unreadable(session, source, uri, facts_of(session, uri)[0])
            if refused is not None:
                raise SourceError(refused[0], hint=refused[1], origin=origin)


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


def _raw(session: SparkSession, uri: str, size: int) -> bytes:
    local = local_file(uri)
    if local is not None:
        with local.open("rb") as file:
            return file.read(size)
    conf, path = hadoop_path(session, uri)
    stream = path.getFileSystem(conf).open(path)
    try:
        return bytes(stream.readNBytes(size))
    finally:
        stream.close()


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
