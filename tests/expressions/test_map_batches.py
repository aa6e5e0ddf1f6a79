"""`map_batches`: four forms of batches, in every mode, with timestamps and models."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Row, Types, WatermarkStrategy
from penstock.datastream import (
    MapBatchFunction,
    ProcessFunction,
    StreamExecutionEnvironment,
    col,
)
from penstock.errors import ArgumentError, TypeMismatchError, UserFunctionError
from penstock.program.function_calls import BatchSpec
from penstock.program.level import OperatorSpec
from penstock.program.operators import MAP_BATCHES
from penstock.runtime.operators.map_batches import MapBatchesOperator
from penstock.testing import Schedule, run_in_process
from penstock.types.batch_forms import arrow_form

RECORD = Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.LONG()])
RESULT = Types.ROW_NAMED(["name", "twice"], [Types.STRING(), Types.DOUBLE()])
ROWS = [Row(name=f"r{n}" if n % 3 else None, n=n) for n in range(20)]
EXPECTED = [Row(name=row.name, twice=row.n * 2.0) for row in ROWS]


def stream_of(rows: list[Row], settings: dict[str, str] | None = None) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    for key, value in (settings or {}).items():
        env.get_configuration().set(key, value)
    return env.from_collection(rows, RECORD)


def results(stream: Any, schedule: Schedule | None = None) -> list[Any]:
    stream.print()
    env = stream.get_execution_environment()
    return run_in_process(env, schedule or Schedule()).of()


def plain(batch):
    assert isinstance(batch, pa.RecordBatch)
    return pa.record_batch(
        [batch["name"], pc.multiply(batch["n"].cast(pa.float64()), 2.0), batch["n"]],
        names=["name", "twice", "unused"],
    )


def as_table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([plain(batch)])


def in_pandas(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(twice=frame["n"] * 2)


def in_polars(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(twice=pl.col("n") * 2)


def in_numpy(columns: dict[str, np.ndarray]) -> dict[str, Any]:
    return {"name": columns["name"], "twice": columns["n"] * 2}


class Model(MapBatchFunction):
    opened = 0

    def open(self, runtime_context: Any) -> None:
        self.factor = 2
        type(self).opened += 1

    def map_batch(self, batch: dict[str, np.ndarray]) -> Any:
        return {"name": batch["name"], "twice": batch["n"] * self.factor}


class Called:
    def __call__(self, batch: dict[str, np.ndarray]) -> Any:
        assert type(batch) is dict
        return in_numpy(batch)


def times(factor: int, batch: dict[str, np.ndarray]) -> Any:
    assert type(batch) is dict
    return {"name": batch["name"], "twice": batch["n"] * factor}


FUNCTIONS = [plain, as_table, in_pandas, in_polars, in_numpy, Model(), Called(), partial(times, 2)]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("mode", ["BATCH", "STREAMING"])
def test_every_form_in_every_mode(function: Any, mode: str) -> None:
    stream = stream_of(ROWS, {"execution.runtime-mode": mode})
    found = results(stream.map_batches(function, RESULT, batch_size=7))
    assert found == EXPECTED


def test_open_is_called_once_per_subtask() -> None:
    Model.opened = 0
    stream = stream_of(ROWS, {"execution.runtime-mode": "BATCH"})
    assert results(stream.map_batches(Model(), RESULT, batch_size=3)) == EXPECTED
    assert Model.opened == 1


def sized(batch: pa.RecordBatch) -> dict[str, Any]:
    return {"name": batch["name"], "twice": [batch.num_rows] * batch.num_rows}


def sizes(found: list[Row]) -> list[int]:
    """Return the sizes of the batches, given rows that have them."""
    made: list[int] = []
    while found:
        made.append(int(found[0].twice))
        found = found[made[-1] :]
    return made


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 25), st.integers(1, 9))
def test_the_size_of_batches_changes_nothing(batch_size: int, read: int) -> None:
    batch = {"execution.runtime-mode": "BATCH"}
    schedule = Schedule(batch_sizes=(read,))
    made = results(
        stream_of(ROWS, batch).map_batches(plain, RESULT, batch_size=batch_size), schedule
    )
    assert made == EXPECTED
    found = sizes(
        results(stream_of(ROWS, batch).map_batches(sized, RESULT, batch_size=batch_size), schedule)
    )
    assert found[:-1] == [batch_size] * (len(found) - 1)
    assert 1 <= found[-1] <= batch_size


@pytest.mark.parametrize(("max_wait_ms", "expected"), [(0, [4, 4]), (None, [8]), (10_000, [8])])
def test_no_record_waits_longer_than_asked(max_wait_ms: int | None, expected: list[int]) -> None:
    batches = BatchSpec(RECORD, RESULT, arrow_form, 100, max_wait_ms)
    spec = OperatorSpec(0, "uid", "sized", MAP_BATCHES, sized, None, None, batches=batches)
    found: list[Row] = []
    output: Any = SimpleNamespace(collect=lambda values, _: found.extend(values))
    context: Any = SimpleNamespace(spilled=None)
    operator = MapBatchesOperator(spec, output, context)
    for _ in range(2):
        operator.process(ROWS[:4], None)
    operator.finish_batch()
    assert sizes(found) == expected


def test_timestamps_stay_with_their_records() -> None:
    class Stamp(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value.twice, ctx.timestamp()

    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda row, _: row.n
    )
    timed = stream_of(ROWS).assign_timestamps_and_watermarks(strategy)
    stamped = (
        timed.where(col.n % 2 == 0).map_batches(in_numpy, RESULT, batch_size=3).process(Stamp())
    )
    assert results(stamped) == [(row.n * 2.0, row.n) for row in ROWS if row.n % 2 == 0]


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (lambda batch: batch.slice(1), "19 rows for 20 records"),
        (lambda batch: batch.select(["name"]), "the columns twice are missing"),
        (lambda _: 5, "int, which is not a batch"),
        (lambda batch: {"name": batch["name"], "twice": batch["name"]}, "r1"),
    ],
)
def test_wrong_results_are_errors(returned: Any, words: str) -> None:
    def function(batch: pa.RecordBatch) -> Any:
        made = plain(batch)
        return returned(made)

    stream = stream_of(ROWS).map_batches(function, RESULT)
    with pytest.raises(TypeMismatchError, match=words) as failed:
        results(stream)
    assert failed.value.origin is not None


def test_a_failure_of_the_function_names_operator_and_line() -> None:
    def broken(batch: pa.RecordBatch) -> Any:
        raise KeyError(batch.num_rows)

    with pytest.raises(UserFunctionError, match="'broken' failed on a batch of 20 records"):
        results(stream_of(ROWS).map_batches(broken, RESULT))


def test_arguments() -> None:
    stream = stream_of(ROWS)
    refused: list[tuple[Any, Any, dict[str, Any]]] = [
        (lambda batch: batch, Types.INT(), {}),
        (5, RESULT, {}),
        (plain, RESULT, {"batch_size": 0}),
        (plain, RESULT, {"max_wait": -1}),
        (plain, Types.ROW_NAMED(["x"], [Types.PICKLED_BYTE_ARRAY()]), {}),
    ]
    for function, kind, options in refused:
        with pytest.raises(ArgumentError):
            stream.map_batches(function, kind, **options)

    def of_rows(batch: list[Row]) -> Any:
        return batch

    with pytest.raises(ArgumentError, match="Annotate"):
        stream.map_batches(of_rows, RESULT)
    with pytest.raises(ArgumentError, match="no columns"):
        stream.map(lambda row: row).map_batches(plain, RESULT)
