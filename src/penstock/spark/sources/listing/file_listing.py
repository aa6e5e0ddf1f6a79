"""Lists the files that a source has now: local ones by one walk, others by Spark's Hadoop file system."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from penstock.connectors.files.file_source import FileSource
from penstock.errors import SourceError
from penstock.spark.failures.translation import translate
from penstock.spark.sources.file_paths import (
    facts_of,
    has_glob,
    is_literal,
    local_file,
    local_path,
    stream_path,
    uri_of,
)
from penstock.spark.sources.listing.file_statuses import file_relations, statuses
from penstock.spark.sources.listing.local_globs import matching_paths
from penstock.spark.sources.listing.local_listing import (
    Listed,
    every_file,
    list_local,
    listed_file,
)

_FILTERS = frozenset({"pathglobfilter", "modifiedbefore", "modifiedafter"})
"""Options with which Spark's listing leaves files out."""


def list_files(
    session: SparkSession, source: FileSource, is_wanted: Callable[[str], bool] = every_file
) -> list[Listed]:
    """Return the files of a source, in any order; none if its path does not exist.

    Raises:
        SourceError: A directory cannot be read, or a name is none that Hadoop takes.
    """
    options = {name.lower(): value.lower() for name, value in source.options.items()}
    here = local_path(source.path)
    if here is None or _FILTERS & options.keys():
        return [each for each in list_by_spark(session, source) if is_wanted(each[1])]
    recursively = options.get("recursivefilelookup") == "true"
    is_glob = has_glob(here) and not is_literal(source.path)
    try:
        roots = matching_paths(str(here)) if is_glob else [str(here)]
        return list_local(roots, is_wanted, recursively=recursively)
    except (OSError, re.error) as cause:
        raise SourceError(
            f"{source.describe()} cannot be listed: {cause}",
            hint="Make the directory readable to this user, or correct the path.",
        ) from cause


def list_by_spark(session: SparkSession, source: FileSource) -> list[Listed]:
    """Return the files of a source as Spark lists them, in any file system.

    Raises:
        SourceError: A directory cannot be read.
    """
    reader = session.read.format("binaryFile").options(**dict(source.options))
    try:
        java_frame: Any = reader.load(stream_path(source.path))._jdf  # noqa: SLF001 - its files have sizes and times
        relations = file_relations(java_frame.queryExecution().analyzed())
        found = [
            each for relation in relations for each in statuses(relation.location().allFiles())
        ]
    except AnalysisException as cause:
        if cause.getCondition() == "PATH_NOT_FOUND":
            return []
        raise _unlisted(source, cause) from cause
    except Exception as cause:
        raise _unlisted(source, cause) from cause
    return [(time_ms, name, size) for name, (size, time_ms) in found]


def listed_now(session: SparkSession, name: str) -> Listed | None:
    """Return a file as it is now, None if there is none.

    Raises:
        SourceError: It cannot be accessed.
    """
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
