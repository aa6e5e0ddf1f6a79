"""The files that actions of a log name, in a fixed order."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet

from penstock.connectors.delta.commit_file import CommitFile
from penstock.connectors.delta.values import DataFile, RowsOfFile
from penstock.connectors.local_path import local_path

Types = Mapping[str, pa.DataType]
"""Partition column to its type."""


def added_files(
    directory: Path, actions: Iterable[Mapping[str, Any]], types: Types
) -> list[DataFile]:
    """Return the files that a version added, in the order of its actions."""
    return [_file(directory, action, types, RowsOfFile.INSERTED) for action in actions]


def changed_files(directory: Path, commit: CommitFile, types: Types) -> list[DataFile]:
    """Return the files of the change data feed of a version.

    A version without files of its own for the feed added and removed whole files: their rows are the changes.
    """
    if commit.changes:
        return [_file(directory, action, types, RowsOfFile.MARKED) for action in commit.changes]
    removed = [_file(directory, action, types, RowsOfFile.DELETED) for action in commit.removed]
    return removed + added_files(directory, commit.added, types)


def snapshot_files(directory: Path, actions: pa.Table) -> list[DataFile]:
    """Return the files of a snapshot, those that were written first before the others.

    Args:
        directory: The table.
        actions: What the library tells of them.
    """
    listed = sorted(actions.to_pylist(), key=lambda each: (each["modification_time"], each["path"]))
    return [
        DataFile(
            path := _decoded(each["path"]),
            tuple((each.get("partition") or {}).items()),
            _counted(directory, path) if each["num_records"] is None else each["num_records"],
        )
        for each in listed
    ]


def _file(directory: Path, action: Mapping[str, Any], types: Types, rows: RowsOfFile) -> DataFile:
    path = _decoded(action["path"])
    told = json.loads(action.get("stats") or "{}").get("numRecords")
    texts = action.get("partitionValues") or {}
    values = tuple((name, _value(texts.get(name), types[name])) for name in types)
    return DataFile(path, values, _counted(directory, path) if told is None else told, rows)


def _decoded(path: str) -> str:
    if path.startswith("file:"):  # of a table whose files are elsewhere, such as a clone
        return str(local_path(path))
    return unquote(path)


def _counted(directory: Path, path: str) -> int:
    count: int = pyarrow.parquet.read_metadata(directory / path).num_rows
    return count


def _value(text: str | None, wanted: pa.DataType) -> Any:
    """Return the value of a partition column; an empty text is a null in the protocol."""
    if not text:
        return None
    if pa.types.is_timestamp(wanted):
        naive = pa.array([text.removesuffix("Z")]).cast(pa.timestamp("us"))
        return naive.cast(wanted)[0].as_py()
    return pa.array([text]).cast(wanted)[0].as_py()
