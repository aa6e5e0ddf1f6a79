"""The log of a Delta table as one process reads it. Opening a table imports the library `deltalake`.

    _delta_log/00000000000000000012.json     what version 12 added and removed
    _delta_log/00000000000000000010.checkpoint.parquet     all that there was at version 10

A checkpoint deletes old `.json` files (`delta.logRetentionDuration`, 30 days). VACUUM deletes files that no version
has any more (`delta.deletedFileRetentionDuration`, 7 days).

This module reads versions itself: the library returns the rows of a table at a version, but not the rows that a version
added in a fixed order. The source must read the same rows at the same positions every time.

Entries of the log of a table: files, versions, and their positions in the engine.

A position is `version << 36 | row`: the number of a row among those that the version added, in the order of its
files. So a version may add 2**36 rows, and a table may have 2**27 versions.

The id of the split contains the id of the table, so that a table that was created again has another split. It also
contains the version of the snapshot that the split begins with, if there is one:

    b544266a-…@12:80000     a snapshot of version 12, which has 80,000 rows, then the versions from 13 on
    b544266a-…              versions only
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet

from penstock.connectors.local_path import local_path
from penstock.errors import CallSite, PenstockError, SourceError
from penstock.extras import EXTRAS
from penstock.user_failure import raise_interrupt

ROW_BITS = 36
MOST_ROWS = 1 << ROW_BITS
"""Rows that one version may bring."""


class RowsOfFile(Enum):
    """Meaning of the rows of a file."""

    INSERTED = "inserted"
    DELETED = "deleted"
    MARKED = "marked"
    """The column `_change_type` contains the kind of each row."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of a table.

    Attributes:
        path: Below the directory of the table, decoded.
    """

    path: str
    partition: tuple[tuple[str, Any], ...]
    row_count: int
    rows: RowsOfFile = RowsOfFile.INSERTED


@dataclass(frozen=True, slots=True)
class VersionRows:
    """The rows that a version brings, in the order of their positions.

    Attributes:
        timestamp_ms: When it was committed.
        ends: For each file the number of rows up to its end.
    """

    timestamp_ms: int
    files: tuple[DataFile, ...]
    ends: tuple[int, ...]

    @staticmethod
    def of(timestamp_ms: int, files: Sequence[DataFile]) -> VersionRows:
        """Return the rows of files."""
        return VersionRows(
            timestamp_ms, tuple(files), tuple(accumulate(file.row_count for file in files))
        )

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return self.ends[-1] if self.ends else 0


@dataclass(frozen=True, slots=True)
class TableSplit:
    """The split of a table.

    Attributes:
        snapshot: Version that is read as a whole; None if there is none.
        row_count: Rows of the snapshot.
    """

    table: str
    snapshot: int | None = None
    row_count: int = 0

    @staticmethod
    def of_id(text: str) -> TableSplit:
        """Return the split with an id."""
        table, _, snapshot = text.partition("@")
        if not snapshot:
            return TableSplit(table)
        version, _, row_count = snapshot.partition(":")
        return TableSplit(table, int(version), int(row_count))

    @property
    def id(self) -> str:
        """Its id."""
        known = "" if self.snapshot is None else f"@{self.snapshot}:{self.row_count}"
        return f"{self.table}{known}"


def position_of(version: int, row: int = 0) -> int:
    """Return the position of a row of a version."""
    return version << ROW_BITS | row


def place_of(position: int) -> tuple[int, int]:
    """Return the version and the row of a position."""
    return position >> ROW_BITS, position & MOST_ROWS - 1


_LIBRARY = EXTRAS["delta"]
check_installed, library = _LIBRARY.check_installed, _LIBRARY.load


@contextmanager
def delta_errors(
    error: type[PenstockError], directory: Path, doing: str, origin: CallSite | None = None
) -> Iterator[None]:
    """Turn a failure of the library, or of the file system, into one of ours.

    The library raises bare `Exception` for failures of its core, so nothing narrower can be caught.
    """
    try:
        yield
    except PenstockError:
        raise
    except BaseException as cause:
        raise_interrupt(cause)
        raise error(
            f"cannot {doing} the Delta table {directory}: {_first_line(cause)}",
            hint="Check the path, and that nothing but Delta writers changes what is in it. The job goes "
            "on where it was.",
            origin=origin,
        ) from cause


def _first_line(cause: BaseException) -> str:
    """Return the first line of a message; behind it the library gives frames of its own."""
    lines = str(cause).strip().splitlines()
    return lines[0] if lines else type(cause).__name__


@dataclass(frozen=True, slots=True)
class CommitFile:
    """The actions of one version.

    Attributes:
        timestamp_ms: When it was committed.
        operation: Kind of the commit, e.g. `WRITE`.
        added: Actions that add files with new rows; rewritten files are left out.
        removed: Actions that remove files with their rows.
        changes: Actions with files of the change data feed.
        metadata: New metadata of the table, if any.
    """

    version: int
    timestamp_ms: int
    operation: str
    added: tuple[Mapping[str, Any], ...]
    removed: tuple[Mapping[str, Any], ...]
    changes: tuple[Mapping[str, Any], ...]
    metadata: Mapping[str, Any] | None


def read_commit(path: Path, version: int) -> CommitFile:
    """Return the content of a file of the log."""
    actions = [json.loads(line) for line in path.read_bytes().splitlines() if line.strip()]
    info: Mapping[str, Any] = next(iter(_all(actions, "commitInfo")), {})
    stamp = info.get("inCommitTimestamp", info.get("timestamp"))
    return CommitFile(
        version,
        int(path.stat().st_mtime_ns // 1_000_000 if stamp is None else stamp),
        str(info.get("operation", "an unknown operation")),
        tuple(action for action in _all(actions, "add") if action.get("dataChange", True)),
        tuple(action for action in _all(actions, "remove") if action.get("dataChange", True)),
        tuple(_all(actions, "cdc")),
        next(iter(_all(actions, "metaData")), None),
    )


def _all(actions: Sequence[Mapping[str, Any]], kind: str) -> list[Mapping[str, Any]]:
    return [action[kind] for action in actions if action.get(kind) is not None]


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
    """Return the files of a snapshot, those that were written first before the others."""
    listed = sorted(actions.to_pylist(), key=lambda file: (file["modification_time"], file["path"]))
    return [
        DataFile(
            path := _decoded(file["path"]),
            tuple((file.get("partition") or {}).items()),
            _counted(directory, path) if file["num_records"] is None else file["num_records"],
        )
        for file in listed
    ]


def _file(directory: Path, action: Mapping[str, Any], types: Types, rows: RowsOfFile) -> DataFile:
    path = _decoded(action["path"])
    count = json.loads(action.get("stats") or "{}").get("numRecords")
    texts = action.get("partitionValues") or {}
    values = tuple((name, _value(texts.get(name), types[name])) for name in types)
    return DataFile(path, values, _counted(directory, path) if count is None else count, rows)


def _decoded(path: str) -> str:
    if path.startswith("file:"):  # of a table whose files are elsewhere, such as a clone
        return str(local_path(path))
    return unquote(path)


def _counted(directory: Path, path: str) -> int:
    count: int = pyarrow.parquet.read_metadata(directory / path).num_rows
    return count


def _value(text: str | None, kind: pa.DataType) -> Any:
    """Return the value of a partition column; an empty text is a null in the protocol."""
    if not text:
        return None
    if pa.types.is_timestamp(kind):
        naive = pa.array([text.removesuffix("Z")]).cast(pa.timestamp("us"))
        return naive.cast(kind)[0].as_py()
    return pa.array([text]).cast(kind)[0].as_py()


_NAME = re.compile(r"\d{20}\.json")
_MOST_VERSIONS = 10_000
_FEED = "delta.enableChangeDataFeed"


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A table at a version.

    Attributes:
        id: Its id, which no other table has.
    """

    id: str
    version: int
    schema: pa.Schema
    partition_columns: tuple[str, ...]
    configuration: Mapping[str, str]

    @property
    def partition_types(self) -> dict[str, pa.DataType]:
        """The types of the columns by which it is partitioned."""
        return {name: self.schema.field(name).type for name in self.partition_columns}


@lru_cache(maxsize=64)
def log_of(directory: Path) -> TableLog:
    """Return the log of a table; a process has one per table."""
    return TableLog(directory)


class TableLog:
    """The log of a table, as far as a process has read it; files of a log never change."""

    def __init__(self, directory: Path) -> None:
        """Begin without having looked."""
        self._directory = directory
        self._log = directory / "_delta_log"
        self._oldest = self._newest = -1
        self._newest_file: tuple[int, int] | None = None
        self._facts: TableFacts | None = None
        self._rows: dict[tuple[TableSplit, int, bool], VersionRows] = {}

    @property
    def oldest(self) -> int:
        """The first version whose file was in the log."""
        return self._oldest

    @property
    def newest(self) -> int:
        """The last version as of the last look-up."""
        return self._newest

    def look(self) -> TableFacts:
        """Find out which versions there are; return the table as it is now."""
        if self._signature(self._newest) != self._newest_file or self._newest < 0:
            self._facts = None  # another table: the path is the same, and nothing else need be
            self._rows.clear()
        versions = self._versions()
        facts = self._facts
        if facts is None or not versions or self._has_new_metadata(versions):
            facts = self.facts()  # it reads the files of the table, of which there may be many
        elif versions[-1] != facts.version:
            facts = replace(facts, version=versions[-1])
        if facts is not self._facts:
            # The next call finds a version that came while the library looked.
            self._facts, self._newest = facts, facts.version
            self._newest_file = self._signature(self._newest)
        self._oldest = versions[0] if versions else 0
        return facts

    def _has_new_metadata(self, versions: Sequence[int]) -> bool:
        new = versions[bisect_right(versions, self._newest) :]
        return any(self._commit(version).metadata is not None for version in new)

    def facts(self, version: int | None = None) -> TableFacts:
        """Return the table at a version; None is the newest one."""
        with delta_errors(SourceError, self._directory, "open"):
            table = library().DeltaTable(str(self._directory), version=version)
            metadata = table.metadata()
            facts = TableFacts(
                str(metadata.id),
                table.version(),
                pa.schema(table.schema().to_arrow()),
                tuple(metadata.partition_columns),
                dict(metadata.configuration),
            )
        if facts.configuration.get("delta.columnMapping.mode", "none") != "none":
            raise SourceError(
                f"the Delta table {self._directory} maps columns to names of their own in its files "
                "(delta.columnMapping.mode)",
                hint="Copy it to a table without column mapping, or read it with Spark and its jar.",
            )
        return facts

    def rows(self, split: TableSplit, version: int, *, feed: bool) -> VersionRows:
        """Return the rows that a version adds."""
        key = (split, version, feed)
        rows = self._rows.get(key)
        if rows is None:
            rows = self._snapshot(version) if version == split.snapshot else self._version(*key)
            if rows.row_count >= MOST_ROWS:
                raise SourceError(
                    f"version {version} of the Delta table {self._directory} has {rows.row_count} rows, and "
                    f"positions have room for {MOST_ROWS - 1} of a version",
                    hint="Read it in parts: as files with FileSource, or from an earlier version on.",
                )
            if len(self._rows) >= _MOST_VERSIONS:
                self._rows.pop(next(iter(self._rows)))
            self._rows[key] = rows
        return rows

    def _snapshot(self, version: int) -> VersionRows:
        with delta_errors(SourceError, self._directory, f"read version {version} of"):
            table = library().DeltaTable(str(self._directory), version=version)
            if _has_deletion_vectors(table):
                raise self._deletion_vectors(version)
            actions = pa.table(table.get_add_actions(flatten=False))
            # Not the time of the commit: its file may go while the snapshot is read, and rows keep their times.
            newest = pa.compute.max(actions.column("modification_time")).as_py()
            return VersionRows.of(newest or 0, snapshot_files(self._directory, actions))

    def _version(self, split: TableSplit, version: int, feed: bool) -> VersionRows:  # noqa: FBT001
        commit = self._commit(version)
        facts = self._facts or self.look()
        if any(file.get("deletionVector") for file in commit.added):
            raise self._deletion_vectors(version)
        if commit.removed and not feed:
            raise self._has_changes(commit)
        if commit.removed and not commit.changes and not self._had_feed(version):
            raise self._had_no_feed(commit)
        with delta_errors(SourceError, self._directory, f"read version {version} of"):
            types = facts.partition_types
            files: Sequence[DataFile] = (
                changed_files(self._directory, commit, types)
                if feed
                else added_files(self._directory, commit.added, types)
            )
            return VersionRows.of(commit.timestamp_ms, files)

    def _commit(self, version: int) -> CommitFile:
        path = self._path(version)
        try:
            with delta_errors(SourceError, self._directory, f"read version {version} of"):
                return read_commit(path, version)
        except SourceError as cause:
            if not isinstance(cause.__cause__, FileNotFoundError):
                raise
            raise gone(self._directory, version) from cause

    def _had_feed(self, version: int) -> bool:
        return self.facts(version).configuration.get(_FEED, "false").lower() == "true"

    def _has_changes(self, commit: CommitFile) -> SourceError:
        return SourceError(
            f"version {commit.version} of the Delta table {self._directory} removed rows or changed them "
            f"({commit.operation}), and the source reads rows that are added",
            hint=f"Set the table's property {_FEED} to true before such changes and read them with "
            "change_feed(), or start in a new checkpoint directory, which reads the table as it is now.",
        )

    def _had_no_feed(self, commit: CommitFile) -> SourceError:
        return SourceError(
            f"version {commit.version} of the Delta table {self._directory} removed rows or changed them "
            f"({commit.operation}) while the table had no change data feed",
            hint=f"Set the table's property {_FEED} to true, and start in a new checkpoint directory, which "
            "reads the table as it is now.",
        )

    def _deletion_vectors(self, version: int) -> SourceError:
        return SourceError(
            f"version {version} of the Delta table {self._directory} has deletion vectors, which this source "
            "does not apply",
            hint="Set the table's property delta.enableDeletionVectors to false and purge it (REORG TABLE … "
            "APPLY (PURGE)), then start in a new checkpoint directory.",
        )

    def _versions(self) -> list[int]:
        try:
            names = [path.name for path in self._log.iterdir()]
        except OSError:
            return []  # `facts` reports the reason
        return sorted(int(name[:20]) for name in names if _NAME.fullmatch(name))

    def _path(self, version: int) -> Path:
        return self._log / f"{version:020}.json"

    def _signature(self, version: int) -> tuple[int, int] | None:
        try:
            status = self._path(version).stat()
        except (OSError, ValueError):
            return None
        return status.st_ino, status.st_mtime_ns


def gone(directory: Path, version: int) -> SourceError:
    """Return the error about a version that is to be read and is not in the log any more."""
    return SourceError(
        f"version {version} of the Delta table {directory} is not in its log any more, and the job has not "
        "read it",
        hint="Keep the log for longer than the job may stand still (delta.logRetentionDuration). Restore the "
        "log, or start in a new checkpoint directory, which reads the table as it is now.",
    )


def _has_deletion_vectors(table: Any) -> bool:
    features = table.protocol().reader_features or ()
    return "deletionVectors" in features and pa.table(table.deletion_vectors()).num_rows > 0
