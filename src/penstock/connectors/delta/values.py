"""Entries of the log of a table: files, versions, and their positions in the engine.

A position is `version << 36 | row`: the number of a row among those that the version added, in the order of its
files. So a version may add 2**36 rows, and a table may have 2**27 versions.

The id of the split contains the id of the table, so that a table that was created again has another split. It also
contains the version of the snapshot that the split begins with, if there is one:

    b544266a-…@12:80000     a snapshot of version 12, which has 80,000 rows, then the versions from 13 on
    b544266a-…              versions only
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate
from typing import Any

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
        partition: Partition column to value.
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
