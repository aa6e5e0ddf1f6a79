"""The numbers of epochs on Spark: in every mode rows can be ordered by them, whatever fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import KeyedProcessFunction, RuntimeContext
from penstock.datastream.connectors import FileSink, HybridSource, NumberSequenceSource
from penstock.datastream.state import ValueStateDescriptor
from tests.spark.conftest import Environment, Failures

COUNT = 400
KEYS = 5
SEEN = Types.ROW_NAMED(["key", "count"], [Types.LONG(), Types.LONG()])


class Count(KeyedProcessFunction):
    """Says of each record which one of its key it is."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        seen = (self.seen.value() or 0) + 1
        self.seen.update(seen)
        yield value % KEYS, seen


@pytest.mark.parametrize("mode", ["batch", "streaming", "mixed"])
def test_rows_of_a_key_are_in_order_of_their_numbers_whatever_fails(
    environment: Environment, tmp_path: Path, failures: Failures, mode: str
) -> None:
    nth = 1 if mode == "batch" else 3
    settings = failures.at(f"sinks.before-commit:{nth}:raise", f"sinks.committed:{nth}:raise")
    settings |= {"execution.live.max-records-per-batch": 50}
    env = environment(mode, **settings)
    first = NumberSequenceSource(0, COUNT // 2 - 1)
    rest = NumberSequenceSource(COUNT // 2, COUNT - 1)
    both = HybridSource.builder(first).add_source(rest).build()
    numbers = env.from_source(both, WatermarkStrategy.no_watermarks(), "numbers")
    counted = numbers.key_by(lambda n: n % KEYS).process(Count(), SEEN).uid("count")
    counted.sink_to(FileSink.parquet(tmp_path / "out").with_sequence_column("seq")).uid("out")
    env.execute("numbered")
    failures.check_all_happened()
    tables = [pyarrow.parquet.read_table(path) for path in (tmp_path / "out").glob("part-*")]
    rows = sorted([row for table in tables for row in table.to_pylist()], key=lambda r: r["seq"])
    for key in range(KEYS):
        counts = [row["count"] for row in rows if row["key"] == key]
        assert counts == list(range(1, COUNT // KEYS + 1))
    epochs = {row["seq"] >> 25 for row in rows}
    assert len(epochs) == 1 if mode == "batch" else len(epochs) > 3
