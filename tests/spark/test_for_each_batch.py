"""`for_each_batch`: rows and number of every epoch, in every mode, again with the same rows after a failure.

The function of the tests writes each call to a file of its own, so a call that was repeated, or with other rows, is seen.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Row, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import (
    BatchEpoch,
    BatchFunctionSink,
    DataGeneratorSource,
    HybridSource,
)
from penstock.errors import ArgumentError, GraphError, SinkError
from tests.spark.conftest import Environment, Failures

PAIR = Types.ROW_NAMED(["key", "n"], [Types.LONG(), Types.LONG()])
RECORDS = 3_000
STEPS = [f"batches.{step}:2:raise" for step in ("numbered", "called", "recorded")]


class Calls:
    """Writes the rows of every call. It cannot be pickled, as what holds a session."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.numbers = count()
        directory.mkdir(exist_ok=True)

    def __call__(self, frame: Any, epoch: BatchEpoch) -> None:
        rows = sorted([row.key, row.n] for row in frame.collect())
        assert frame.columns == ["key", "n"]
        name = f"{len(list(self.directory.iterdir())):04}.json"
        made = {"writer": epoch.writer, "number": epoch.number, "rows": rows}
        (self.directory / name).write_text(json.dumps(made))

    def __reduce__(self) -> Any:
        raise TypeError("a session cannot be pickled")

    def all(self) -> list[dict[str, Any]]:
        return [json.loads(path.read_text()) for path in sorted(self.directory.iterdir())]


def job(env: StreamExecutionEnvironment, calls: Callable[[Any, BatchEpoch], None]) -> None:
    numbers = DataGeneratorSource(lambda n: Row(key=n % 5, n=n), type_info=PAIR, count=RECORDS)
    source = HybridSource.until_position(numbers, 2_000)
    rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    rows.for_each_batch(calls).name("rows").uid("rows")


def by_number(calls: list[dict[str, Any]]) -> dict[int, list[Any]]:
    """Return number to rows; calls with one number have the same rows."""
    found: dict[int, list[Any]] = {}
    for call in calls:
        assert found.setdefault(call["number"], call["rows"]) == call["rows"]
    return found


@pytest.mark.parametrize("mode", ["batch", "streaming", "mixed"])
def test_every_row_is_in_one_batch_over_failures_at_every_step(
    environment: Environment, tmp_path: Path, mode: str, failures: Failures
) -> None:
    calls = Calls(tmp_path / "calls")
    steps = [step.replace(":2:", ":1:") for step in STEPS] if mode == "batch" else STEPS
    settings = failures.at(*steps) | {"execution.live.max-records-per-batch": 250}
    env = environment(mode, **settings)
    job(env, calls)
    env.execute("batches")
    failures.check_all_happened()
    made = calls.all()
    rows = by_number(made)
    assert list(rows) == list(range(1, len(rows) + 1))
    found = Counter(tuple(row) for of in rows.values() for row in of)
    assert found == Counter((n % 5, n) for n in range(RECORDS))
    assert len(made) == len(rows) + 1, "the call whose return was not noted is repeated"
    assert len({call["writer"] for call in made}) == 1
    assert made[0]["writer"].endswith("-rows")
    assert len(rows) == 1 if mode == "batch" else len(rows) > 3
    assert not list((tmp_path / "job").rglob("batches/**/*.parquet"))


def test_a_function_that_fails_is_told_and_gets_the_same_rows_from_the_next_driver(
    environment: Environment, tmp_path: Path
) -> None:
    calls = Calls(tmp_path / "calls")

    class Failing(Calls):
        def __call__(self, frame: Any, epoch: BatchEpoch) -> None:
            super().__call__(frame, epoch)
            if epoch.number == 2:
                raise ValueError("the table is locked")

    for _ in range(2):
        env = environment("mixed", **{"execution.live.max-records-per-batch": 300})
        job(env, Failing(calls.directory))
        with pytest.raises(
            SinkError, match="sink 'rows' failed on batch 2: ValueError: the table is"
        ):
            env.execute("batches")
    env = environment("mixed", **{"execution.live.max-records-per-batch": 700})
    job(env, calls)
    env.execute("batches")
    made = calls.all()
    assert [call["number"] for call in made][:4] == [1, 2, 2, 2]
    found = Counter(tuple(row) for of in by_number(made).values() for row in of)
    assert found == Counter((n % 5, n) for n in range(RECORDS))


@pytest.mark.parametrize("raised", [StopIteration, GeneratorExit, SystemExit, KeyboardInterrupt])
def test_whatever_a_function_raises_is_told(
    environment: Environment, raised: type[BaseException]
) -> None:
    def failing(frame: Any, epoch: BatchEpoch) -> None:
        raise raised

    env = environment("batch")
    env.from_collection([Row(key=1, n=2)], PAIR).for_each_batch(failing).name("rows")
    with pytest.raises(SinkError, match=f"failed on batch 1: {raised.__name__}") as error:
        env.execute("batches")
    assert error.value.origin is not None
    assert error.value.origin.function == "failing"


def test_upserts_may_be_merged_in_one_statement(environment: Environment, tmp_path: Path) -> None:
    calls = Calls(tmp_path / "calls")
    env = environment("streaming", **{"execution.live.max-records-per-batch": 250})
    numbers = DataGeneratorSource(lambda n: Row(key=n % 5, n=n), type_info=PAIR, count=1_000)
    rows = env.from_source(numbers, WatermarkStrategy.no_watermarks(), "numbers")
    rows.upsert_to(BatchFunctionSink(calls), key=lambda row: row.key)
    env.execute("upserts")
    table: dict[int, int] = {}
    for batch in by_number(calls.all()).values():
        assert len({key for key, _ in batch}) == len(batch)
        table |= dict(batch)
    assert table == {key: 995 + key for key in range(5)}


def test_columns_have_the_types_of_to_dataframe(environment: Environment) -> None:
    seen: list[Any] = []
    kind = Types.ROW_NAMED(
        ["a.b", "at", "items"],
        [Types.STRING(), Types.TIMESTAMP_LTZ(), Types.LIST(Types.LONG())],
    )
    env = environment("batch")
    rows = [Row(**{"a.b": "x", "at": datetime(2026, 3, 29, tzinfo=UTC), "items": [1, 2]})]
    env.from_collection(rows, kind).for_each_batch(
        lambda frame, epoch: seen.append((frame.dtypes, frame.count(), epoch.number))
    )
    env.execute("types")
    columns = [("a.b", "string"), ("at", "timestamp"), ("items", "array<bigint>")]
    assert seen == [(columns, 1, 1)]


def test_what_has_no_columns_is_refused(environment: Environment) -> None:
    stream = environment("batch").from_collection([1, 2])
    with pytest.raises(GraphError, match="need columns"):
        stream.for_each_batch(print)
    with pytest.raises(ArgumentError, match="for_each_batch got 7"):
        stream.for_each_batch(7)  # type: ignore[arg-type]
