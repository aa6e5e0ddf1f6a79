"""How cost grows with the amount of work, one dimension at a time: CPU time in this process, without Spark.

    python -m benchmarks.growth                              # all dimensions, half a minute
    python -m benchmarks.growth keys timers --larger         # ten times as many at the end
    python -m benchmarks.growth windows --larger --rounds 1  # a minute
    python -m benchmarks.growth --append benchmarks/results/growth/growth.jsonl --draw docs/images/growth.svg

Each dimension is measured at five sizes, and a line is fitted to the logarithms of size and seconds: its slope is 1 if
twice as much costs twice as much. Above 1.2 it is worse than linear, and the exit status is 1. What a job costs at any size, such as
opening a harness, is measured as well and makes slopes less than 1. CPU time of a machine that does other work too differs by
some per cent, not by a factor.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import linear_regression
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from benchmarks.reporting.machine import commit, machine, versions
from benchmarks.reporting.plots import SETTINGS
from benchmarks.reporting.render import table
from penstock.common import Time, Types
from penstock.datastream import (
    KeyedProcessFunction,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.testing import OperatorHarness

LINEAR = 1.2
"""The greatest slope that is taken for linear."""

_RECORDS = 2_000
_FAR_MS = 1 << 50
_LARGER = 10


@dataclass(frozen=True, slots=True)
class Dimension:
    """What grows.

    Attributes:
        seconds: Returns the CPU seconds at a size.
        sizes: Where it is measured.
        what: What is measured, for people.
        most: Where it is measured too if that is asked for; None is ten times as many as the most of `sizes`.
    """

    seconds: Callable[[int], float]
    sizes: tuple[int, ...]
    what: str
    most: int | None = None

    @property
    def larger(self) -> tuple[int, ...]:
        """The sizes, and the one that takes minutes."""
        return (*self.sizes, self.most or _LARGER * self.sizes[-1])


class _Stopwatch:
    """CPU seconds between two points."""

    seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Measure what is inside the context."""
        gc.collect()
        gc.disable()  # as it is in workers while records are processed
        begun = time.process_time()
        try:
            yield
        finally:
            self.seconds += time.process_time() - begun
            gc.enable()


class _Counts(KeyedProcessFunction):
    """Counts the records of a key; with timers it also has one per key."""

    def __init__(self, *, has_timers: bool = False) -> None:
        self._has_timers = has_timers

    def open(self, runtime_context: Any) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if self._has_timers:
            ctx.timer_service().register_event_time_timer(value)
        else:
            self._count.update((self._count.value() or 0) + 1)
        yield from ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield from ()


def _pushed(operator: Any, records: Sequence[Any], **settings: Any) -> float:
    """Return the seconds for pushing records at once."""
    watch = _Stopwatch()
    with OperatorHarness.of(operator, **settings) as harness, watch.running():
        harness.push_all(records)
    return watch.seconds


def _keys(size: int) -> float:
    return _pushed(_Counts(), range(size), key_selector=lambda key: key)


def _timers(size: int) -> float:
    watch = _Stopwatch()
    counts = _Counts(has_timers=True)
    with OperatorHarness.of(counts, key_selector=lambda key: key) as harness, watch.running():
        harness.push_all(range(size), range(size))
        harness.advance_watermark(_FAR_MS)
    return watch.seconds


def _windows(size: int) -> float:
    def sums(pairs: Any) -> Any:
        window = TumblingEventTimeWindows.of(Time.milliseconds(10))
        return (
            pairs.key_by(lambda pair: pair[0])
            .window(window)
            .reduce(lambda a, b: (a[0], a[1] + b[1]))
        )

    watch = _Stopwatch()
    records = [(n % 10, 1) for n in range(size)]
    with OperatorHarness.of(sums) as harness, watch.running():
        harness.push_all(records, [n // 10 * 10 for n in range(size)])
        harness.advance_watermark(_FAR_MS)
    return watch.seconds


def _micro_batches(size: int) -> float:
    watch = _Stopwatch()
    counts = _Counts()
    with OperatorHarness.of(counts, key_selector=lambda key: key) as harness, watch.running():
        for number in range(size):
            harness.push_all([number % 100, number % 7])
    return watch.seconds


def _subtasks(size: int) -> float:
    watch = _Stopwatch()
    counts = _Counts()
    opened = OperatorHarness.of(counts, key_selector=lambda key: key, parallelism=size)
    with opened as harness, watch.running():
        for number in range(10):
            harness.push_all(range(number, number + 100))
    return watch.seconds


def _operators(size: int) -> float:
    def chain(numbers: Any) -> Any:
        for _ in range(size):
            numbers = numbers.map(lambda n: n + 1)
        return numbers

    watch = _Stopwatch()
    with watch.running(), OperatorHarness.of(chain) as harness:
        harness.push_all(range(_RECORDS))
    return watch.seconds


def _planned_operators(size: int) -> float:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([1, 2, 3], type_info=Types.LONG())
    for number in range(size):
        stream = stream.map(lambda n: n + 1, Types.LONG())
        if number % 10 == 9:  # noqa: PLR2004 - a level for every ten
            stream = stream.key_by(lambda n: n).reduce(lambda a, b: a + b)
    stream.print()
    return _planned(env)


def _planned_sources(size: int) -> float:
    env = StreamExecutionEnvironment.get_execution_environment()
    first, *others = [
        env.from_collection([number], type_info=Types.LONG()) for number in range(size + 1)
    ]
    first.union(*others).key_by(lambda n: n).sum().print()
    return _planned(env)


def _planned(env: StreamExecutionEnvironment) -> float:
    watch = _Stopwatch()
    with watch.running():
        env.plan()
    return watch.seconds


def _wide_rows(size: int) -> float:
    names = [f"f{number}" for number in range(size)]
    row = Types.ROW_NAMED(names, [Types.LONG()] * size)
    records = [row.coerce([number] * size) for number in range(_RECORDS)]

    def passed(rows: Any) -> Any:
        return rows.key_by(lambda row: row[0] % 10).map(lambda row: row, row)

    return _pushed(passed, records, input_types=[row])


DIMENSIONS: dict[str, Dimension] = {
    "keys": Dimension(_keys, (1_000, 4_000, 16_000, 64_000, 256_000), "a value state per key"),
    "timers": Dimension(_timers, (1_000, 4_000, 16_000, 64_000, 256_000), "set, then all fire"),
    "windows": Dimension(
        _windows,
        (1_000, 4_000, 16_000, 64_000, 256_000),
        "open at a time, then all fire; of 10 keys",
    ),
    "micro-batches": Dimension(
        _micro_batches, (100, 300, 1_000, 3_000, 10_000), "of two records, over 100 keys"
    ),
    # No more than `pipeline.max-parallelism`, and in a chain than `runtime/task/chain.py` makes room for.
    "subtasks": Dimension(
        _subtasks, (1, 4, 8, 16, 32, 64), "1,000 records in 10 micro-batches", most=128
    ),
    "operators": Dimension(
        _operators, (12, 25, 50, 100, 200), "chained; made, opened, 2,000 records", most=800
    ),
    "planned operators": Dimension(
        _planned_operators, (12, 25, 50, 100, 200), "time of the plan; every tenth is keyed"
    ),
    "planned sources": Dimension(_planned_sources, (6, 12, 25, 50, 100), "time of the plan"),
    "fields": Dimension(_wide_rows, (8, 16, 32, 64, 128, 256), "2,000 rows of integers, by key"),
}
"""Name of what grows to how it is measured."""


@dataclass(frozen=True, slots=True)
class Grown:
    """What was measured of a dimension.

    Attributes:
        name: Its name.
        points: Size and seconds.
    """

    name: str
    points: tuple[tuple[int, float], ...]

    @property
    def slope(self) -> float:
        """Of the line through the logarithms: the power with which cost grows."""
        sizes, seconds = zip(*self.points, strict=True)
        return linear_regression([*map(math.log, sizes)], [*map(math.log, seconds)]).slope

    @property
    def last_slope(self) -> float:
        """The power between the two largest sizes, where what a job costs at any size counts least."""
        (few, before), (many, after) = [*pairwise(self.points)][-1]
        return math.log(after / before) / math.log(many / few)

    @property
    def is_linear(self) -> bool:
        """Whether neither is above `LINEAR`."""
        return max(self.slope, self.last_slope) <= LINEAR

    def row(self) -> tuple[str, ...]:
        """Return what a table says of it."""
        (few, before), (many, after) = self.points[0], self.points[-1]
        return (
            self.name,
            DIMENSIONS[self.name].what,
            f"{few:,} to {many:,}",
            f"{before / few * 1e6:,.1f} to {after / many * 1e6:,.1f}",
            f"{self.slope:.2f}",
            f"{self.last_slope:.2f}",
        )


HEAD = ("what grows", "measured is", "from, to", "µs of each", "slope", "at the end")


def measure(name: str, sizes: Sequence[int] = (), rounds: int = 3) -> Grown:
    """Return the least CPU time of some rounds at each size.

    Args:
        name: Of the dimension.
        sizes: Where; none is its own.
        rounds: How often.
    """
    dimension = DIMENSIONS[name]
    dimension.seconds(dimension.sizes[0])  # imports, caches
    points = tuple(
        (size, round(min(dimension.seconds(size) for _ in range(rounds)), 6))
        for size in sizes or dimension.sizes
    )
    return Grown(name, points)


def to_json(found: Sequence[Grown]) -> dict[str, Any]:
    """Return the object that is appended."""
    return {
        "machine": dict(machine()),
        "versions": dict(versions()),
        "commit": commit(),
        "dimensions": {each.name: [list(point) for point in each.points] for each in found},
    }


def read(path: Path) -> list[Grown]:
    """Return the newest measurement of each dimension in a file."""
    newest: dict[str, Any] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        newest |= json.loads(line)["dimensions"]
    return [
        Grown(name, tuple((size, seconds) for size, seconds in newest[name]))
        for name in DIMENSIONS
        if name in newest
    ]


def text_of(found: Sequence[Grown]) -> str:
    """Return the table."""
    return table(HEAD, [each.row() for each in found])


def draw(found: Sequence[Grown]) -> Figure:
    """Return the picture: cost of each over that at the fewest; a linear cost is level or falls."""
    figure = Figure(figsize=(8.2, 4.2), layout="constrained")
    axes = figure.subplots()
    for each in found:
        few, before = each.points[0]
        grown = [size / few for size, _ in each.points]
        unit = [seconds / size * few / before for size, seconds in each.points]
        axes.plot(grown, unit, marker="o", markersize=3, linewidth=1, label=each.name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("times as much")
    axes.set_ylabel("cost of each, over that at the fewest")
    axes.legend(fontsize=7.5, ncols=3)
    return figure


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="How cost grows with the amount of work.")
    parser.add_argument("names", nargs="*", metavar="DIMENSION", help=", ".join(DIMENSIONS))
    parser.add_argument("--larger", action="store_true", help="ten times as many as the most, too")
    parser.add_argument("--rounds", type=int, default=3, help="of which the fastest counts")
    parser.add_argument("--append", type=Path, help="append the result to this file")
    parser.add_argument("--draw", type=Path, help="write the picture to this file")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in DIMENSIONS]
    if unknown:
        parser.error(f"there is no {unknown[0]!r}; choose among: {', '.join(DIMENSIONS)}")
    found = []
    for name in given.names or DIMENSIONS:
        dimension = DIMENSIONS[name]
        sizes = dimension.larger if given.larger else dimension.sizes
        found.append(measure(name, sizes, given.rounds))
    sys.stdout.write(text_of(found) + "\n")
    if given.append is not None:
        given.append.parent.mkdir(parents=True, exist_ok=True)
        with given.append.open("a", encoding="utf-8") as file:
            file.write(json.dumps(to_json(found)) + "\n")
    if given.draw is not None:
        with rc_context(SETTINGS):
            draw(found).savefig(given.draw, metadata={"Date": None})
    return int(not all(each.is_linear for each in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
