"""Lists the files that a source has now, with their sizes, and groups those of other partitions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.connectors.files.file_source import FileSource
from penstock.connectors.files.local_listing import (
    FILTERS,
    Listed,
    every_file,
    list_path,
    listed_file,
    local_path,
)
from penstock.connectors.spark_source import chosen
from penstock.errors import SourceError
from penstock.spark.failures.translation import translate
from penstock.spark.sources.file_paths import (
    facts_of,
    local_file,
    metadata_path,
    plain,
    stream_path,
    uri_of,
)

_STATUS = re.compile(
    r"[A-Za-z]*FileStatus\{path=(?P<path>[^\0]*?); isDirectory=false; length=(?P<size>\d+);"
    r"[^\0]*?modification_time=(?P<time>\d+);[^\0]*"
)

_NO_PATH = "null"
"""The path in the text of a status that has another one inside, as those of Hadoop's `ViewFileSystem`."""


def file_relations(analyzed: Any) -> Iterator[Any]:
    """Yield the relations of files in an analyzed plan of the JVM."""
    leaves = analyzed.collectLeaves()
    for index in range(leaves.size()):
        leaf = leaves.apply(index)
        if leaf.getClass().getSimpleName() != "LogicalRelation":
            continue
        relation = leaf.relation()
        if relation.getClass().getSimpleName() == "HadoopFsRelation":
            yield relation


def statuses(files: Any) -> list[tuple[str, tuple[int, int]]]:
    """Return the files of a listing of the JVM: name, size and modification time in milliseconds.

    They travel as one string, because each call into the JVM is slow.
    """
    texts = str(files.mkString("\0")).split("\0")
    matches = list(map(_STATUS.fullmatch, texts)) if texts != [""] else []
    if all(m is not None and m["path"] != _NO_PATH for m in matches):
        return [(metadata_path(m["path"]), (int(m["size"]), int(m["time"]))) for m in matches if m]
    entries = []
    for index in range(files.size()):  # a file system whose statuses have another format
        file = files.apply(index)
        facts = int(file.getLen()), int(file.getModificationTime())
        entries.append((metadata_path(str(file.getPath().toString())), facts))
    return entries


def list_files(
    session: SparkSession, source: FileSource, is_included: Callable[[str], bool] = every_file
) -> list[Listed]:
    """Return the files of a source, in any order; none if its path does not exist."""
    options = {name.lower(): value.lower() for name, value in source.options.items()}
    recursively = options.get("recursivefilelookup") == "true"
    is_by_spark = not options.keys().isdisjoint(FILTERS)
    try:
        files = (
            None if is_by_spark else list_path(source.path, is_included, recursively=recursively)
        )
    except (OSError, re.error) as cause:
        raise SourceError(
            f"{source.describe()} cannot be listed: {cause}",
            hint="Make the directory readable to this user, or correct the path.",
        ) from cause
    if files is not None:
        return files
    return [file for file in list_by_spark(session, source) if is_included(file[1])]


def list_by_spark(session: SparkSession, source: FileSource) -> list[Listed]:
    """Return the files of a source as Spark lists them, in any file system."""
    reader = session.read.format("binaryFile").options(**dict(source.options))
    try:
        java_frame: Any = reader.load(stream_path(source.path))._jdf  # noqa: SLF001 - its files have sizes and times
        relations = file_relations(java_frame.queryExecution().analyzed())
        files = [
            status for relation in relations for status in statuses(relation.location().allFiles())
        ]
    except AnalysisException as cause:
        if cause.getCondition() == "PATH_NOT_FOUND":
            return []
        raise _unlisted(source, cause) from cause
    except Exception as cause:
        raise _unlisted(source, cause) from cause
    return [(time_ms, name, size) for name, (size, time_ms) in files]


def listed_now(session: SparkSession, name: str) -> Listed | None:
    """Return a file as it is now, None if there is none."""
    uri = uri_of(name)
    local = local_file(uri)
    try:
        if local is not None:
            return listed_file(str(local))
        size, time_ms = facts_of(session, uri)
    except FileNotFoundError:
        return None
    except OSError as cause:
        raise SourceError(
            f"{name} cannot be read: {cause}", hint="Make it readable to this user."
        ) from cause
    return time_ms, name, size


def _unlisted(source: FileSource, cause: Exception) -> SourceError:
    problem = translate(cause, f"listing {source.describe()}").problem
    return SourceError(problem, hint="Correct the path, or make it readable to this user.")


def rows_by_partitions(
    load: Callable[[Sequence[str]], DataFrame],
    source: FileSource,
    schema: StructType,
    uris: Sequence[str],
) -> DataFrame:
    """Return the rows of files, with the columns of a schema."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for uri in uris:
        groups.setdefault(_partitions(source, uri), []).append(uri)
    frames = [load(group) for group in groups.values()]
    names = schema.names
    return reduce(
        DataFrame.union,
        [frame if frame.schema.names == names else chosen(frame, names) for frame in frames],
    )


def _partitions(source: FileSource, uri: str) -> tuple[str, ...]:
    """Return the names of the partition columns of a file."""
    here = local_path(source.path)
    root = source.path if here is None else f"file:{here}"
    below = plain(uri).removeprefix(root).split("/")[:-1]
    return tuple(name.partition("=")[0] for name in below if "=" in name)
