"""SQL over a history that hands over, beside the same relation written in columns: a program per relation.

    sql-group-by    key, greatest v, count                   by key
    sql-tumble      key, sum, count                          by key and window of RK ms
    sql-hop         the same                                 of windows of RK ms, every RK/2 ms
    sql-top-n       key, v                                   the three greatest v of each key

R is the option window-records. Files are the history, live records follow. Outputs of rolling relations are the last ones of their keys.
"""

from __future__ import annotations

import datetime as dt
import os
from typing import Any

import numpy as np

from benchmarks.answers import reduce_records
from benchmarks.inputs.record_files import FILES, write_timed_record_files
from benchmarks.model.digest import as_text, digest_of
from benchmarks.model.program import BenchProgram, Outputs, Point
from benchmarks.model.shape import MIXED, WINDOW_RECORDS, Shape
from benchmarks.programs.pipeline import BuildStream, Expect, IsOutput, Pipeline, ours, peer
from penstock.common import Row, Time, Types, WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment, col
from penstock.datastream.connectors import DataGeneratorSource, FileSource, HybridSource, Source
from penstock.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.sql.streams import StreamTable

RECORDS = 10_000_000
BEST = 3
RECORD = Types.ROW_NAMED(["key", "v", "at"], [Types.LONG(), Types.LONG(), Types.SQL_TIMESTAMP()])
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - a TIMESTAMP has no zone


def records_of(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Row]:
    """Return the records of the files and, in the mode MIXED, the live ones, with their times."""
    source: Source = FileSource.parquet(os.environ[FILES], RECORD)
    if shape.mode == MIXED:
        source = HybridSource.builder(source).add_source(_live(shape)).build()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(col.at)
    return env.from_source(source, strategy, "records")


def _live(shape: Shape) -> DataGeneratorSource:
    keys, first, row = shape.keys, shape.records, Row("key", "v", "at")

    def made(i: int) -> Row:
        v = first + i
        return row(v % keys, v, _EPOCH + dt.timedelta(milliseconds=v))

    return DataGeneratorSource(made, shape.live, type_info=RECORD)


def _sql(env: StreamExecutionEnvironment, shape: Shape, query: str) -> DataStream[Row]:
    return env.sql(query, {"t": StreamTable(records_of(env, shape), time="at")})


def _seconds(milliseconds: int) -> str:
    return f"INTERVAL '{milliseconds / 1000:.3f}' SECOND"


def group_by(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Row]:
    """Return the groups in columns."""
    return records_of(env, shape).key_by(col.key).aggregate(v=col.v.max(), n=col.count())


def group_by_sql(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Row]:
    """Return the groups in SQL."""
    return _sql(env, shape, "SELECT key, MAX(v) AS v, COUNT(*) AS n FROM t GROUP BY key")


def tumble(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Row]:
    """Return the windows in columns."""
    size = TumblingEventTimeWindows.of(Time.milliseconds(shape.window_ms))
    return _summed(records_of(env, shape), size)


def tumble_sql(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Row]:
    """Return the windows in SQL."""
    return _windows(env, shape, f"TUMBLE(TABLE t, DESCRIPTOR(at), {_seconds(shape.window_ms)})")


def hop(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Row]:
    """Return the sliding windows in columns."""
    size, slide = Time.milliseconds(shape.window_ms), Time.milliseconds(shape.window_ms // 2)
    return _summed(records_of(env, shape), SlidingEventTimeWindows.of(size, slide))


def hop_sql(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Row]:
    """Return the sliding windows in SQL."""
    slide, size = _seconds(shape.window_ms // 2), _seconds(shape.window_ms)
    return _windows(env, shape, f"HOP(TABLE t, DESCRIPTOR(at), {slide}, {size})")


def _summed(records: DataStream[Row], windows: Any) -> DataStream[Row]:
    return records.key_by(col.key).window(windows).aggregate(v=col.v.sum(), n=col.count())


def _windows(env: StreamExecutionEnvironment, shape: Shape, windows: str) -> DataStream[Row]:
    query = (
        f"SELECT key, SUM(v) AS v, COUNT(*) AS n FROM TABLE({windows}) "  # noqa: S608 - our own
        "GROUP BY key, window_start, window_end"
    )
    return _sql(env, shape, query)


def top_n(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Row]:
    """Return the first rows in columns."""
    best = records_of(env, shape).key_by(col.key).top_n(BEST, by=col.v)
    return best.select(col.key, col.v)


def top_n_sql(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Row]:
    """Return the first rows in SQL."""
    numbered = "SELECT key, v, ROW_NUMBER() OVER (PARTITION BY key ORDER BY v DESC) AS r FROM t"
    return _sql(env, shape, f"SELECT key, v FROM ({numbered}) WHERE r <= {BEST}")  # noqa: S608


def windows(shape: Shape) -> Outputs:
    """Compute the sums of windows."""
    return _outputs(*_sums(shape, shape.window_ms))


def hops(shape: Shape) -> Outputs:
    """Compute the sums of sliding windows: of every half of a window and the next one."""
    sums, counts = _sums(shape, shape.window_ms // 2)
    none = np.zeros((1, shape.keys), dtype=np.int64)
    sums, counts = (np.vstack((none, each)) + np.vstack((each, none)) for each in (sums, counts))
    return _outputs(sums, counts)


def _sums(shape: Shape, length_ms: int) -> tuple[Any, Any]:
    """Return sum and count of v by stretch of time and key; floats hold such sums exactly."""
    v = np.arange(shape.total, dtype=np.int64)
    cell = v // length_ms * shape.keys + v % shape.keys
    cells = -(-shape.total // length_ms) * shape.keys
    sums = np.bincount(cell, weights=v, minlength=cells).astype(np.int64)
    counts = np.bincount(cell, minlength=cells)
    return sums.reshape(-1, shape.keys), counts.reshape(-1, shape.keys)


def _outputs(sums: Any, counts: Any) -> Outputs:
    rows, keys = np.nonzero(counts)
    digest = digest_of(keys, sums[rows, keys], counts[rows, keys])
    return Outputs(len(keys), as_text(digest))


def best(shape: Shape) -> Outputs:
    """Compute the three greatest v of each key."""
    v = np.arange(max(0, shape.total - BEST * shape.keys), shape.total, dtype=np.int64)
    return Outputs(len(v), as_text(digest_of(v % shape.keys, v)))


def is_best(shape: Shape, columns: Any) -> Any:
    """Return which rows are among the greatest of their keys."""
    return columns[1] >= shape.total - BEST * shape.keys


def _program(
    name: str,
    summary: str,
    columns: BuildStream,
    sql: BuildStream,
    expected: Expect,
    is_output: IsOutput | None = None,
) -> BenchProgram:
    return Pipeline(
        name=name,
        summary=f"{summary}, in SQL and in columns, over a history that hands over",
        build=columns,
        builds={"penstock mixed sql": sql},
        expected=expected,
        is_output=is_output,
        systems=(
            ours(MIXED, "sql", note="SQL over Parquet files, then live records."),
            ours(MIXED, "columns", note="The same in columns."),
            peer("sql-files", "sql.py", input="files", note="A batch of Spark SQL over the files."),
        ),
        reference="penstock mixed sql",
        records=RECORDS,
        keys=1000,
        options={WINDOW_RECORDS: 2} if expected in (windows, hops) else {},
        points=(Point(RECORDS, 1000),),
        write_input=write_timed_record_files,
    ).program()


RELATIONS: dict[str, tuple[BuildStream, BuildStream, Expect, IsOutput | None]] = {
    "sql-group-by": (group_by, group_by_sql, reduce_records.expected, reduce_records.is_output),
    "sql-tumble": (tumble, tumble_sql, windows, None),
    "sql-hop": (hop, hop_sql, hops, None),
    "sql-top-n": (top_n, top_n_sql, best, is_best),
}
"""Program to the relation in columns, in SQL, what is expected, and which rows are last ones."""

PROGRAMS = tuple(
    _program(name, name.removeprefix("sql-"), *relation) for name, relation in RELATIONS.items()
)
