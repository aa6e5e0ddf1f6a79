"""The files that a DataFrame of Spark's reads, with their sizes and times, as its plan lists them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from penstock.spark.sources.file_paths import metadata_path

_STATUS = re.compile(
    r"[A-Za-z]*FileStatus\{path=(?P<path>[^\0]*?); isDirectory=false; length=(?P<size>\d+);"
    r"[^\0]*?modification_time=(?P<time>\d+);[^\0]*"
)

_UNTOLD = "null"
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
    if all(m is not None and m["path"] != _UNTOLD for m in matches):
        return [(metadata_path(m["path"]), (int(m["size"]), int(m["time"]))) for m in matches if m]
    found = []
    for index in range(files.size()):  # a file system whose statuses have another format
        file = files.apply(index)
        facts = int(file.getLen()), int(file.getModificationTime())
        found.append((metadata_path(str(file.getPath().toString())), facts))
    return found
