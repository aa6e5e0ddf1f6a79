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

from penstock.common import Configuration
from penstock.connectors.python import collect_sink
from penstock.connectors.python.collect_sink import CollectSink
from penstock.datastream.connectors import FileSource, HybridSource, Source
from penstock.testing import Way, WayMode
from tests.runtime.jobs import Splits
from tests.testing.laws import ALL_RESULTS, require_answer
from tests.testing.programs import RULES, Program, build, expected
from tests.testing.strategies import in_time, records
from tests.testing.strategies import programs as programs_with

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


@pytest.mark.parametrize("mode", WayMode)
@settings(max_examples=4)
@given(
    program=programs,
    found=st.one_of(records, in_time),
    cut=st.integers(0, 40),
    splits=st.integers(1, 2),
    parallelism=st.integers(1, 2),
    chaining=st.booleans(),
    frame_records=st.sampled_from([1, 5, 4096]),
    batch_records=st.sampled_from([10, 1000]),
    is_in_files=st.booleans(),
)
def test_answer_is_that_of_the_replay(
    *,
    session: SparkSession,
    mode: WayMode,
    tmp_path_factory: pytest.TempPathFactory,
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
    way = Way(mode, parallelism=parallelism, chaining=chaining, on_spark=True)
    options = Configuration.from_dict(way.settings())
    options.set("execution.frame.max-records", frame_records)
    options.set("execution.live.max-records-per-batch", batch_records)
    if "alarms" in program.sinks or not in_order(found):
        splits = 1  # records of one key, or the disorder, are only in order within a split
    directory = tmp_path_factory.mktemp("input")

    def part(of: list[Any]) -> Source:
        if is_in_files:
            return in_files(directory, of)
        return Splits(tuple(tuple(of[number::splits]) for number in range(splits)))

    def source(of: list[Any]) -> Source:
        return HybridSource.builder(part(of[:cut])).add_source(part(of[cut:])).build()

    env = build(
        program, found, options, source=source, sink_named=CollectSink, has_rows=is_in_files
    )
    with collecting(program.sinks) as collected:
        env.execute()
        wanted = expected(program, found)
        for sink in program.sinks:
            require_answer(RULES.get(sink, ALL_RESULTS), way, collected[sink], wanted[sink])
