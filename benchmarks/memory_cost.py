"""What a key, a timer, a window and an open file take in memory: each in a process of its own, without Spark.

    python -m benchmarks.memory_cost
    python -m benchmarks.memory_cost --count 1000000

Prints bytes per thing: the growth of pages that no file backs, over that many of them. With `lmdb`, whose
entries are pages of a file, it prints the size of the file. `plan/explain/estimate.py` has the table, and a test compares.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measuring.processes import memory_of
from benchmarks.reporting.render import table
from penstock.common import Time
from penstock.datastream import (
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.testing import OperatorHarness

COUNT = 100_000
_FILES = 100
_STEP = 10_000


class _Keyed(KeyedProcessFunction):
    """Keeps one entry per record."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def open(self, runtime_context: Any) -> None:
        self._value = runtime_context.get_state(ValueStateDescriptor("value"))
        self._map = runtime_context.get_map_state(MapStateDescriptor("map"))
        self._list = runtime_context.get_list_state(ListStateDescriptor("list"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if self._kind == "value":
            self._value.update((value[1], value[1] * 2))
        elif self._kind == "map":
            self._map.put(value[1], value[1] * 2)
        elif self._kind == "list":
            self._list.add(value[1])
        else:
            ctx.timer_service().register_event_time_timer(1 << 50)
        yield from ()


def _of_keys(number: int) -> tuple[int, int]:
    return number, number + 1000


def _of_one_key(number: int) -> tuple[int, int]:
    return number % 10, number + 1000


def _push(kind: str, record: Callable[[int], Any], count: int) -> Iterator[None]:
    """Push the records; what they left is in memory at the first `yield`."""
    with OperatorHarness.of(_Keyed(kind), key_selector=lambda pair: pair[0]) as harness:
        yield
        for at in range(0, count, _STEP):
            harness.push_all([record(n) for n in range(at, min(at + _STEP, count))])
        yield


def _windows(count: int) -> Iterator[None]:
    def sums(pairs: Any) -> Any:
        window = TumblingEventTimeWindows.of(Time.milliseconds(1000))
        return (
            pairs.key_by(lambda pair: pair[0])
            .window(window)
            .reduce(lambda a, b: (a[0], a[1] + b[1]))
        )

    with OperatorHarness.of(sums) as harness:
        yield
        for at in range(0, count, _STEP):
            several = [(n, 1) for n in range(at, min(at + _STEP, count))]
            harness.push_all(several, [1] * len(several))
        yield


def _files(count: int) -> Iterator[None]:
    schema = pa.schema([("key", pa.int64()), ("value", pa.string())])
    batch = pa.RecordBatch.from_pydict({"key": [1], "value": ["x"]}, schema=schema)
    with tempfile.TemporaryDirectory() as directory:
        yield
        writers = [pq.ParquetWriter(Path(directory, str(n)), schema) for n in range(count)]
        for writer in writers:
            writer.write_batch(batch)
        yield
        for writer in writers:
            writer.close()


THINGS: dict[str, tuple[Callable[[int], Iterator[None]], int]] = {
    "value state of a key": (lambda count: _push("value", _of_keys, count), 1),
    "entry of a map state": (lambda count: _push("map", _of_one_key, count), 1),
    "entry of a list state": (lambda count: _push("list", _of_one_key, count), 1),
    "timer": (lambda count: _push("timer", _of_keys, count), 1),
    "open window of a key": (_windows, 1),
    "open Parquet file": (_files, COUNT // _FILES),
}
"""Name to what holds so many of them, and by how much fewer there are."""


def grown_by(name: str, count: int) -> float:
    """Return bytes per thing, measured in this process."""
    hold, fewer = THINGS[name]
    steps = hold(count // fewer)
    next(steps)
    before = _anonymous_bytes()
    next(steps)
    after = _anonymous_bytes()
    for _ in steps:
        pass
    return (after - before) / (count // fewer)


def _anonymous_bytes() -> int:
    gc.collect()
    found = memory_of(os.getpid())
    assert found is not None
    return found.anonymous_bytes


def measure(count: int, names: Sequence[str] = tuple(THINGS)) -> dict[str, float]:
    """Return bytes per thing by name, each measured in a new process."""
    context = multiprocessing.get_context("spawn")
    found = {}
    for name in names:
        with context.Pool(1) as pool:
            found[name] = pool.apply(grown_by, (name, count))
    return found


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What things take in memory.")
    parser.add_argument("--count", type=int, default=COUNT)
    given = parser.parse_args(arguments)
    rows = [(name, f"{size:,.0f}") for name, size in measure(given.count).items()]
    sys.stdout.write(table(("what", "bytes"), rows) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
