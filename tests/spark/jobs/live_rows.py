"""Rows of files that are read by positions, so that a live run over them can be a loop of epochs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.parquet as pq

from penstock.common import Row, TypeInformation, Types
from penstock.graph.endpoints import SplitSource

SPLITS = 2


@dataclass(frozen=True, slots=True)
class LiveRows(SplitSource):
    """The rows of the Parquet files of a directory, ordered by file name; split s has rows s, s + 2, ….

    The files must not change while a process reads them.
    """

    kind: ClassVar[str] = "live rows"
    directory: str

    @property
    def is_bounded(self) -> bool:
        return True

    def get_produced_type(self) -> TypeInformation[Any]:
        return Types.PICKLED_BYTE_ARRAY()

    def splits(self, parallelism: int) -> Sequence[tuple[int, int | None]]:
        return [(0, len(rows_of(self.directory)[split::SPLITS])) for split in range(SPLITS)]

    def read(self, split: int, start: int, end: int) -> Sequence[Any]:
        return [Row(**row) for row in rows_of(self.directory)[split::SPLITS][start:end]]


@lru_cache(1)
def rows_of(directory: str) -> list[dict[str, Any]]:
    """Return the rows of all files of a directory."""
    paths = sorted(Path(directory).glob("*.parquet"))
    return [row for path in paths for row in pq.read_table(path).to_pylist()]
