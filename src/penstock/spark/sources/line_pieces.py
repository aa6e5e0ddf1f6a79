"""Pieces of local files, whose lines workers read themselves: Spark only decides which task reads which.

Reading lines in the JVM and handing them to a worker costs more than decoding them. Where a worker can open the files, it gets
their names. Spark reads files of object stores, compressed ones, and those with a checksum of Hadoop beside them, which it checks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.connectors.files.file_source import FileSource
from penstock.spark.sources.file_paths import local_file, plain

_PLAIN = frozenset({"", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".txt", ".log"})
"""Suffixes that no compression has; of others Hadoop is asked."""

_OF_SPARK = frozenset({"linesep", "ignoremissingfiles", "ignorecorruptfiles"})
_FILES_DDL = "array<struct<file: string, start: bigint, end: bigint>>"


def sizes_of_local(
    session: SparkSession, source: FileSource, uris: Sequence[str]
) -> dict[str, int] | None:
    """Return the sizes of files whose lines workers read; None if Spark reads those of a file.

    Args:
        session: Spark.
        source: Source of the files, which is read by lines.
        uris: The files, at least one.
    """
    form = source.by_lines
    if form is None or form.is_whole or _OF_SPARK & set(map(str.lower, source.options)):
        return None
    suffixes = {PurePosixPath(plain(uri)).suffix for uri in uris}
    if any(_is_compressed(session, suffix) for suffix in suffixes - _PLAIN):
        return None
    sizes = {}
    for uri in uris:
        local = local_file(uri)
        if local is None or not local.is_absolute() or ":" in str(local):
            return None  # a colon is refused, as Hadoop cannot name the file
        try:
            sizes[uri] = local.stat().st_size
            if local.with_name(f".{local.name}.crc").exists():
                return None
        except OSError:
            return None  # Spark's reader has the error
    return sizes


def _is_compressed(session: SparkSession, suffix: str) -> bool:
    jvm: Any = session._jvm  # noqa: SLF001 - no public way to Hadoop's compressions
    java_session: Any = session._jsparkSession  # noqa: SLF001
    hadoop = jvm.org.apache.hadoop
    known = hadoop.io.compress.CompressionCodecFactory(java_session.sessionState().newHadoopConf())
    return known.getCodec(hadoop.fs.Path(f"/x{suffix}")) is not None


def pieces_of(session: SparkSession, sizes: Mapping[str, int]) -> DataFrame:
    """Return the pieces of local files as `LINES_DDL` has them, in as many tasks as Spark would read them.

    Args:
        session: Spark.
        sizes: The files, and their numbers of bytes.
    """
    jvm: Any = session._jvm  # noqa: SLF001 - a list of Python would take a worker to make its rows
    java_session: Any = session._jsparkSession  # noqa: SLF001
    java_context: Any = session.sparkContext._jsc  # noqa: SLF001
    conf = java_session.sessionState().conf()
    tasks = jvm.java.util.ArrayList()
    for task in _tasks(_limits(java_session, conf), sizes):
        tasks.add(json.dumps(task))
    rows = java_context.parallelize(tasks, max(len(tasks), 1)).rdd()
    encoder = jvm.org.apache.spark.sql.Encoders.STRING()
    made = DataFrame(java_session.createDataset(rows, encoder).toDF(), session)
    if sum(sizes.values()) <= conf.autoBroadcastJoinThreshold():
        made = made.hint("broadcast")  # Spark has no size of these rows, and takes the greatest
    found = made.select(sf.inline(sf.from_json("value", _FILES_DDL)))
    line = sf.lit(None).cast("binary").alias("line")
    return found.select(line, "file", "start", "end")


def _limits(java_session: Any, conf: Any) -> tuple[int, int, int]:
    least = conf.filesMinPartitionNum()
    tasks = java_session.leafNodeDefaultParallelism() if least.isEmpty() else least.get()
    return conf.filesMaxPartitionBytes(), conf.filesOpenCostInBytes(), tasks


def _tasks(limits: tuple[int, int, int], sizes: Mapping[str, int]) -> list[list[dict[str, Any]]]:
    """Return the pieces that each task reads. The rules are those of Spark's `FilePartition`."""
    most, cost, tasks = limits
    total = sum(size + cost for size in sizes.values())
    longest = max(min(most, max(cost, total // tasks)), 1)
    pieces = [
        (uri, start, min(start + longest, size))
        for uri, size in sizes.items()
        for start in range(0, size, longest)
    ]
    found: list[list[dict[str, Any]]] = []
    room = 0
    for file, start, end in sorted(pieces, key=lambda piece: piece[1] - piece[2]):
        if not found or room < end - start:
            found.append([])
            room = longest
        room -= end - start + cost
        found[-1].append({"file": file, "start": start, "end": end})
    return found
