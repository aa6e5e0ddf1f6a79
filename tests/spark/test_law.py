"""The law on Spark: random programs give the answer of their replay.

The same programs and the same oracle as in `tests/testing/test_law.py`, which has thousands of
examples without Spark. The few here find what only Spark's part can get wrong: what happens to
frames between tasks, to state between micro-batches and runs, and to output in the sinks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from penstock.connectors.python import collect_sink
from penstock.connectors.python.collect_sink import CollectSink
from penstock.datastream import RuntimeExecutionMode
from penstock.datastream.connectors import FileSource
from penstock.testing import difference, last_per_key
from tests.testing.programs import (
    UPDATING,
    Program,
    build,
    configuration,
    expected,
)
from tests.testing.strategies import in_time, records
from tests.testing.strategies import programs as programs_with

BATCH, STREAMING = RuntimeExecutionMode.BATCH, RuntimeExecutionMode.STREAMING

COLUMNS = ("key", "time", "value", "number")

programs = programs_with(max_sinks=4)


def in_order(found: list[Any]) -> bool:
    return all(one[1] <= other[1] for one, other in pairwise(found))


def in_files(directory: Path, found: list[Any]) -> FileSource:
    """Write records to a Parquet file of their own."""
    made = directory / str(len(list(directory.iterdir())))
    made.mkdir()
    columns = list(zip(*found, strict=True)) or [()] * len(COLUMNS)
    table = pa.table({n: pa.array(c, pa.int64()) for n, c in zip(COLUMNS, columns, strict=True)})
    pq.write_table(table, made / "part.parquet")
    return FileSource.parquet(str(made))


@contextmanager
def collecting(sinks: tuple[str, ...]) -> Iterator[dict[str, list[Any]]]:
    """Collect what arrives in `CollectSink(name)`."""
    found: dict[str, list[Any]] = defaultdict(list)
    for name in sinks:
        collect_sink.register(name, partial(list.extend, found[name]))
    try:
        yield found
    finally:
        for name in sinks:
            collect_sink.unregister(name)


RUNS = {
    "program": programs,
    "found": st.one_of(records, in_time),
    "cut": st.integers(0, 40),
    "splits": st.integers(1, 2),
    "parallelism": st.integers(1, 2),
    "chaining": st.booleans(),
    "frame_records": st.sampled_from([1, 5, 4096]),
    "is_in_files": st.booleans(),
}


@pytest.mark.parametrize(
    ("mode", "backlog"),
    [(BATCH, False), (STREAMING, False), (STREAMING, True)],
    ids=["batch", "streaming", "mixed"],
)
@settings(max_examples=4)
@given(batch_records=st.sampled_from([10, 1000]), **RUNS)
def test_answer_is_that_of_the_replay(
    *,
    session: SparkSession,
    mode: RuntimeExecutionMode,
    backlog: bool,
    tmp_path_factory: pytest.TempPathFactory,
    **run: Any,
) -> None:
    check(tmp_path_factory, mode, backlog=backlog, **run)


def check(
    directories: pytest.TempPathFactory,
    mode: RuntimeExecutionMode,
    *,
    backlog: bool,
    program: Program,
    found: list[Any],
    cut: int,
    splits: int,
    parallelism: int,
    chaining: bool,
    frame_records: int,
    batch_records: int,
    is_in_files: bool,
) -> None:
    options = configuration(mode, parallelism, backlog=backlog, chaining=chaining)
    options.set("execution.frame.max-records", frame_records)
    options.set("execution.live.max-records-per-batch", batch_records)
    if "alarms" in program.sinks or not in_order(found):
        splits = 1  # records of one key, or the disorder, are only in order within a split
    files_of = partial(in_files, directories.mktemp("input")) if is_in_files else None
    env = build(program, found, cut, options, splits, CollectSink, files_of)
    with collecting(program.sinks) as collected:
        env.execute()
        wanted = expected(program, found)
        for sink in program.sinks:
            answer = collected[sink]
            if sink in UPDATING:
                answer = last_per_key(answer, lambda record: record[0])
            assert difference(answer, wanted[sink]) is None, sink
