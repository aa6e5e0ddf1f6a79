"""The answers of the job, read back from the files it wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from examples.demo.errors import DemoCheckError

Record = tuple[Any, ...]

KEYS: dict[str, tuple[str, ...]] = {"aircraft": ("tailnum",), "routes": ("carrier", "origin")}
"""Result with a last row per key, to the columns of its key. The other result is `alerts`."""

COUNT = "flights"
"""Column that grows by one with every row of a key, and so says which row is the last."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What a program found out about the departures.

    Attributes:
        last: Result to key to its last row, whole.
        alerts: Every alert (aircraft, last departure, time of the alert) with how often.
    """

    last: Mapping[str, Mapping[Record, Record]]
    alerts: Counter[Record]


def read_answers(out: Path) -> Answers:
    """Return the answers in the directory of results `out`.

    Raises:
        DemoCheckError: A row was written twice.
    """
    last = {
        result: last_rows(result, read_rows(out / result), len(key)) for result, key in KEYS.items()
    }
    return Answers(last, Counter(rows_of(read_rows(out / "alerts"))))


def last_rows(result: str, rows: pa.Table, key_length: int) -> dict[Record, Record]:
    """Return the row with the greatest count of each key.

    Args:
        result: Name, for the message.
        rows: The columns of the key, then the count, then others.
        key_length: Number of key columns.

    Raises:
        DemoCheckError: Two rows of a key have the same count: one was written twice.
    """
    last: dict[Record, Record] = {}
    written: set[Record] = set()
    for row in rows_of(rows):
        numbered = row[: key_length + 1]
        if numbered in written:
            raise DemoCheckError(
                f"result {result!r} has row {COUNT} = {row[key_length]} of {row[:key_length]} twice",
                hint="Report this: a record was processed or written more than once.",
            )
        written.add(numbered)
        known = last.get(row[:key_length])
        if known is None or known[key_length] < row[key_length]:
            last[row[:key_length]] = row
    return last


def read_rows(directory: Path) -> pa.Table:
    """Return the rows of the Parquet files in `directory`, in no particular order."""
    tables = [pq.read_table(file) for file in sorted(directory.glob("*.parquet"))]
    return pa.concat_tables(tables) if tables else pa.table({})


def rows_of(table: pa.Table) -> Iterable[Record]:
    """Return the rows of `table` as tuples."""
    return zip(*(column.to_pylist() for column in table.columns), strict=True)
