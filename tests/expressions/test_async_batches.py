"""`map_batches` of a coroutine, and batches of a fixed size: order, limits, retries, failures."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Row, Types
from penstock.datastream import AsyncRetryStrategy, MapBatchFunction, StreamExecutionEnvironment
from penstock.errors import ArgumentError, TypeMismatchError, UserFunctionError
from penstock.testing import Schedule, run_in_process

RECORD = Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.LONG()])
RESULT = Types.ROW_NAMED(["name", "twice"], [Types.STRING(), Types.LONG()])
ROWS = [Row(name=f"r{n}" if n % 3 else None, n=n) for n in range(40)]
EXPECTED = [Row(name=row.name, twice=row.n * 2) for row in ROWS]


def stream_of(rows: list[Row], mode: str = "BATCH") -> Any:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    env.get_configuration().set("execution.runtime-mode", mode)
    return env.from_collection(rows, RECORD)


def results(stream: Any, schedule: Schedule | None = None) -> list[Any]:
    stream.print()
    return run_in_process(stream.get_execution_environment(), schedule or Schedule()).of()


def doubled(batch: dict[str, np.ndarray]) -> dict[str, Any]:
    return {"name": batch["name"], "twice": batch["n"] * 2}


class Service(MapBatchFunction):
    """Answers later calls first, and says how many were in flight."""

    flying = most = 0

    def open(self, runtime_context: Any) -> None:
        type(self).flying = type(self).most = 0

    async def map_batch(self, batch: dict[str, np.ndarray]) -> Any:
        type(self).flying += 1
        type(self).most = max(self.most, self.flying)
        await asyncio.sleep(0.002 if batch["n"][0] % 2 else 0.0)
        type(self).flying -= 1
        return doubled(batch)


@pytest.mark.parametrize("mode", ["BATCH", "STREAMING"])
@settings(max_examples=8, deadline=None)
@given(st.integers(1, 9), st.integers(1, 40), st.integers(1, 4))
def test_order_is_kept(mode: str, batch_size: int, read: int, capacity: int) -> None:
    made = stream_of(ROWS, mode).map_batches(
        Service(), RESULT, batch_size=batch_size, max_concurrent_batches=capacity
    )
    assert results(made, Schedule(batch_sizes=(read,))) == EXPECTED
    assert 1 <= Service.most <= capacity


def test_several_batches_are_in_flight() -> None:
    made = stream_of(ROWS).map_batches(Service(), RESULT, batch_size=5, max_concurrent_batches=3)
    assert results(made, Schedule(batch_sizes=(40,))) == EXPECTED
    assert Service.most == 3


class Flaky(MapBatchFunction):
    """Fails for each batch once."""

    failed: ClassVar[list[int]] = []

    async def map_batch(self, batch: dict[str, np.ndarray]) -> Any:
        first = int(batch["n"][0])
        if first not in self.failed:
            self.failed.append(first)
            raise ConnectionError
        return doubled(batch)


def test_a_failed_call_is_repeated() -> None:
    Flaky.failed.clear()
    again = AsyncRetryStrategy.fixed_delay(2, 1, None, exception_predicate=lambda _: True)
    made = stream_of(ROWS).map_batches(Flaky(), RESULT, batch_size=10, retry_strategy=again)
    assert results(made) == EXPECTED
    assert sorted(Flaky.failed) == [0, 10, 20, 30]


def test_a_late_call_fails_the_job_and_names_its_batch() -> None:
    async def slow(batch: pa.RecordBatch) -> Any:
        await asyncio.sleep(60 if batch["n"][0].as_py() == 30 else 0)
        return {"name": batch["name"], "twice": batch["n"]}

    made = stream_of(ROWS).map_batches(slow, RESULT, batch_size=10, timeout=20)
    words = r"'slow' failed on a batch of 10 records, the first of which is Row\(name=None, n=30\)"
    with pytest.raises(UserFunctionError, match=words) as failed:
        results(made)
    assert "20 ms" in str(failed.value)
    assert failed.value.origin is not None


def test_what_a_coroutine_returns_is_checked() -> None:
    async def short(batch: pa.RecordBatch) -> Any:
        return {"name": ["x"], "twice": [1]}

    with pytest.raises(TypeMismatchError, match="1 rows for 40 records"):
        results(stream_of(ROWS).map_batches(short, RESULT))


class Awaiting:
    """A callable whose `__call__` is a coroutine."""

    async def __call__(self, batch: dict[str, np.ndarray]) -> Any:
        return doubled(batch)


def test_an_object_may_be_awaited() -> None:
    assert results(stream_of(ROWS).map_batches(Awaiting(), RESULT)) == EXPECTED


class Sized(MapBatchFunction):
    """Knows which sizes its batches had."""

    sizes: ClassVar[set[int]] = set()

    def map_batch(self, batch: dict[str, np.ndarray]) -> Any:
        self.sizes.add(len(batch["n"]))
        return doubled(batch)


class SizedService(Sized):
    async def map_batch(self, batch: dict[str, np.ndarray]) -> Any:
        return super().map_batch(batch)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 50), st.integers(1, 40), st.booleans())
def test_a_fixed_size_changes_no_result(batch_size: int, read: int, awaited: bool) -> None:
    Sized.sizes.clear()
    function = SizedService() if awaited else Sized()
    made = stream_of(ROWS).map_batches(function, RESULT, batch_size=batch_size, fixed_size=True)
    assert results(made, Schedule(batch_sizes=(read,))) == EXPECTED
    assert Sized.sizes == {batch_size}


def test_of_a_fixed_size_all_rows_must_come_back() -> None:
    def cut(batch: pa.RecordBatch) -> Any:
        return {"name": batch["name"][:40], "twice": batch["n"][:40]}

    with pytest.raises(TypeMismatchError, match="40 rows for 64 records"):
        results(stream_of(ROWS).map_batches(cut, RESULT, batch_size=64, fixed_size=True))


@pytest.mark.parametrize(
    "options", [{"max_concurrent_batches": 2}, {"timeout": 5}, {"retry_strategy": object()}]
)
def test_options_of_coroutines(options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match="no coroutine"):
        stream_of(ROWS).map_batches(doubled, RESULT, **options)

    async def coroutine(batch: pa.RecordBatch) -> Any:
        return batch

    wrong = {name: -1 if name != "retry_strategy" else 5 for name in options}
    with pytest.raises(ArgumentError, match="map_batches got"):
        stream_of(ROWS).map_batches(coroutine, RESULT, **wrong)
