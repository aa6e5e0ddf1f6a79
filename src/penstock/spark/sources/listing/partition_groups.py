"""Loads files of directories with other partitions apart.

    in/a.json    in/day=7/b.json    in/day=7/hour=1/c.json

Spark takes the columns of partitions from the names of all directories that it loads at once. Files in none it leaves
out without a word, and where directories differ in depth it fails. So the files of each kind of directory are
one DataFrame, and a column that a directory does not name is None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from penstock.connectors.column_positions import chosen
from penstock.connectors.files.file_source import FileSource
from penstock.spark.sources.file_paths import local_path, plain


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
