"""`map_groups`: records of one key as columns, with state, in every mode and however they are cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Row, Types, WatermarkStrategy
from penstock.datastream import (
    MapGroupFunction,
    ProcessFunction,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
    col,
)
from penstock.datastream.connectors import CollectionSource, HybridSource
from penstock.errors import ArgumentError, TypeMismatchError, UserFunctionError
from penstock.testing import Schedule, run_in_process
from penstock.wire.elements import MIN_TIMESTAMP

RECORD = Types.ROW_NAMED(["key", "n"], [Types.STRING(), Types.LONG()])
RESULT = Types.ROW_NAMED(["key", "total"], [Types.STRING(), Types.LONG()])
MODES = ["BATCH", "STREAMING", "MIXED"]


class Running(MapGroupFunction):
    """The sum so far of each record: it needs what came before, and keeps it in state."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))

    def added(self, n: np.ndarray) -> np.ndarray:
        totals = (self.total.value() or 0) + np.cumsum(n)
        self.total.update(int(totals[-1]))
        return totals


class InNumPy(Running):
    def map_group(self, batch: dict[str, np.ndarray]) -> Any:
        return {"key": batch["key"], "total": self.added(batch["n"])}


class InArrow(Running):
    def map_group(self, batch: pa.RecordBatch) -> Any:
        totals = pa.array(self.added(batch["n"].to_numpy()))
        return pa.record_batch([batch["key"], totals], names=["key", "total"])


class InPandas(Running):
    def map_group(self, batch: pd.DataFrame) -> Any:
        return batch.assign(total=self.added(batch["n"].to_numpy()))


class InPolars(Running):
    def map_group(self, batch: pl.DataFrame) -> Any:
        return batch.with_columns(total=pl.Series(self.added(batch["n"].to_numpy())))


def stream_of(rows: list[Row], mode: str, history: int = 0) -> Any:
    conf = {"execution.runtime-mode": "STREAMING" if mode == "MIXED" else mode}
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    for key, value in conf.items():
        env.get_configuration().set(key, value)
    if mode != "MIXED":
        return env.from_collection(rows, RECORD)
    env.get_configuration().set("execution.checkpointing.interval-during-backlog", "0")
    parts = [CollectionSource.of(part, RECORD) for part in (rows[:history], rows[history:])]
    source = HybridSource.builder(parts[0]).add_source(parts[1]).build()
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "rows")


def results(stream: Any, schedule: Schedule | None = None) -> list[Any]:
    stream.print()
    return run_in_process(stream.get_execution_environment(), schedule or Schedule()).of()


def expected(rows: list[Row]) -> dict[str, list[int]]:
    totals: dict[str, list[int]] = {}
    for row in rows:
        of_key = totals.setdefault(row.key, [])
        of_key.append((of_key[-1] if of_key else 0) + row.n)
    return totals


def by_key(found: list[Row]) -> dict[str, list[int]]:
    totals: dict[str, list[int]] = {}
    for row in found:
        totals.setdefault(row.key, []).append(row.total)
    return totals


RECORDS = st.lists(
    st.builds(lambda key, n: Row(key=key, n=n), st.sampled_from("abc"), st.integers(-9, 9)),
    min_size=1,
    max_size=24,
)


@pytest.mark.parametrize("function", [InNumPy, InArrow, InPandas, InPolars])
@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=12, deadline=None)
@given(RECORDS, st.integers(1, 9), st.integers(1, 9), st.integers(0, 24))
def test_the_law(
    function: Any, mode: str, rows: list[Row], batch_size: int, read: int, history: int
) -> None:
    stream = stream_of(rows, mode, min(history, len(rows)))
    made = stream.key_by(col.key).map_groups(function(), RESULT, batch_size=batch_size)
    assert by_key(results(made, Schedule(batch_sizes=(read,)))) == expected(rows)


class Rises(Running):
    """Rows where the sum rises above its greatest value so far: any number of them."""

    def map_group(self, batch: pa.RecordBatch) -> Any:
        greatest = self.total.value()
        risen = []
        for n in batch["n"].to_pylist():
            if greatest is None or n > greatest:
                greatest = n
                risen.append(n)
        self.total.update(greatest)
        return {"key": [batch["key"][0].as_py()] * len(risen), "total": risen}


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=12, deadline=None)
@given(RECORDS, st.integers(1, 9), st.integers(1, 9))
def test_any_number_of_rows(mode: str, rows: list[Row], batch_size: int, read: int) -> None:
    made = (
        stream_of(rows, mode, len(rows) // 2)
        .key_by(lambda row: row.key)
        .map_groups(Rises(), RESULT, batch_size=batch_size, any_rows=True)
    )
    greatest: dict[str, list[int]] = {}
    for row in rows:
        of_key = greatest.setdefault(row.key, [])
        if not of_key or row.n > of_key[-1]:
            of_key.append(row.n)
    assert by_key(results(made, Schedule(batch_sizes=(read,)))) == greatest


class Stamp(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value.total, ctx.timestamp()


@pytest.mark.parametrize("mode", ["BATCH", "STREAMING"])
@pytest.mark.parametrize("any_rows", [False, True])
def test_timestamps(mode: str, any_rows: bool) -> None:
    rows = [Row(key="ab"[n % 2], n=n) for n in range(10)]
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda row, _: row.n
    )
    timed = stream_of(rows, mode).assign_timestamps_and_watermarks(strategy)
    made = timed.key_by(col.key).map_groups(InNumPy(), RESULT, batch_size=3, any_rows=any_rows)
    totals = [total for of_key in expected(rows).values() for total in of_key]
    times = [MIN_TIMESTAMP] * 10 if any_rows else [*range(0, 10, 2), *range(1, 10, 2)]
    assert sorted(results(made.process(Stamp())), key=str) == sorted(
        zip(totals, times, strict=True), key=str
    )


def test_errors_name_operator_key_and_record() -> None:
    def broken(batch: pa.RecordBatch) -> Any:
        raise KeyError(batch.num_rows)

    def short(batch: pa.RecordBatch) -> Any:
        return {"key": ["a"], "total": [1]}

    rows = [Row(key="a", n=1), Row(key="a", n=2)]
    keyed = stream_of(rows, "BATCH").key_by(col.key)
    words = r"'broken' failed on a batch of 2 records of key 'a', the first of which is Row\(key='a', n=1\)"
    with pytest.raises(UserFunctionError, match=words):
        results(keyed.map_groups(broken, RESULT))
    with pytest.raises(TypeMismatchError, match="1 rows for 2 records"):
        results(stream_of(rows, "BATCH").key_by(col.key).map_groups(short, RESULT))


async def later(batch: pa.RecordBatch) -> Any:
    return batch


def test_arguments() -> None:
    keyed = stream_of([Row(key="a", n=1)], "BATCH").key_by(col.key)
    for function, kind, options in [
        (lambda batch: batch, Types.INT(), {}),
        (InArrow, RESULT, {}),
        (later, RESULT, {}),
        (InArrow(), RESULT, {"batch_size": True}),
    ]:
        with pytest.raises(ArgumentError, match="map_groups"):
            keyed.map_groups(function, kind, **options)
