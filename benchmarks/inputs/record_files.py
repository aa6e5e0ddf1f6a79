"""Records (key, v) in Parquet files, for programs on columns and SQL: record `v` is (v % K, v)."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.model.program import Case

FILES = "PENSTOCK_BENCH_RECORD_FILES"
"""Variable with their directory. The processes of systems get it with the environment."""

_ROWS = 1_000_000


def write_record_files(case: Case, directory: Path) -> None:
    """Write the records of a case, at least a file per core, and tell systems where they are."""
    _write(case, directory, timed=False)


def write_timed_record_files(case: Case, directory: Path) -> None:
    """Write the same with a third column, `at`: a timestamp of v milliseconds since 1970."""
    _write(case, directory, timed=True)


def _write(case: Case, directory: Path, *, timed: bool) -> None:
    files = directory / "records"
    files.mkdir(parents=True)
    pieces = max(case.parallelism, -(-case.records // _ROWS))
    for number, v in enumerate(np.array_split(np.arange(case.records), pieces)):
        columns = {"key": v % case.keys, "v": v}
        if timed:
            columns["at"] = (v * 1_000).astype("datetime64[us]")
        pq.write_table(pa.table(columns), files / f"{number:05}.parquet")
    os.environ[FILES] = str(files)
