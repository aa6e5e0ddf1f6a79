"""Two keyed levels over numbers read by positions: three stages per epoch. Every key has its numbers from one split.

Arguments: directory of the output, live records (0 never ends), live records per second (0 is as fast as
possible), and if wanted a directory with `history` and `live`, whose JSON files are read beside the numbers, as they
appear. What comes from files has keys and groups of its own.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.common import TypeInformation, Types, WatermarkStrategy
from penstock.datastream import (
    KeyedProcessFunction,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.datastream.connectors import FileSink, FileSource, HybridSource
from penstock.failpoint import failpoint
from penstock.graph.endpoints import SplitSource

SPLITS = 2
KEYS = 40
GROUPS = 8
HISTORY = 90
"""Records of each split in history."""

FILE_KEYS = 1000
"""The first key of what comes from files, which name keys from 0."""

LONG = Types.LONG()
INPUT = Types.TUPLE([LONG, LONG])
RESULT = Types.TUPLE([LONG, LONG, LONG])
FILE_ROW = Types.ROW_NAMED(["key", "amount"], [LONG, LONG])
OUTPUT = Types.ROW_NAMED(["key", "count", "total", "nth"], [LONG] * 4)


def record_at(split: int, position: int) -> tuple[int, int]:
    """Return key and amount; the key of split s is s modulo the number of splits."""
    mixed = (position * 2_654_435_761 + split * 40_503) % (1 << 32) >> 8
    return mixed % (KEYS // SPLITS) * SPLITS + split, mixed % 1000


@dataclass(frozen=True, slots=True)
class Numbers(SplitSource):
    """The same range of positions of both splits."""

    kind: ClassVar[str] = "numbers"
    start: int
    stop: int | None
    records_per_second: int | None = None

    @property
    def is_bounded(self) -> bool:
        return self.stop is not None

    def get_produced_type(self) -> TypeInformation[Any]:
        return INPUT

    def splits(self, parallelism: int) -> Sequence[tuple[int, int | None]]:
        return [(self.start, self.stop)] * SPLITS

    def read(self, split: int, start: int, end: int) -> Sequence[Any]:
        return [record_at(split, position) for position in range(start, end)]


class Totals(KeyedProcessFunction):
    """Emits key, count and total with every record."""

    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("totals", INPUT))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        failpoint("flow.totals")
        count, total = self.state.value() or (0, 0)
        self.state.update((count + 1, total + value[1]))
        yield ctx.get_current_key(), count + 1, total + value[1]


class Numbered(KeyedProcessFunction):
    """Adds how many results its group had."""

    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("number", LONG))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        failpoint("flow.numbered")
        number = (self.state.value() or 0) + 1
        self.state.update(number)
        yield (*value, number)


def group_of(key: int) -> int:
    """Return the key of the second level."""
    return key % GROUPS if key < FILE_KEYS else FILE_KEYS + key % GROUPS


def assert_shown(rows: Iterable[Mapping[str, int]]) -> None:
    """Check that the rows are what the first positions of each split give, each once; those of files are left out.

    How many positions of a split were read shows in the rows. In which order a group sees its keys is not
    defined.
    """
    results: Counter[tuple[int, int, int]] = Counter()
    numbers: Counter[tuple[int, int]] = Counter()
    for row in [row for row in rows if row["key"] < FILE_KEYS]:
        results[row["key"], row["count"], row["total"]] += 1
        numbers[group_of(row["key"]), row["nth"]] += 1
    wanted: Counter[tuple[int, int, int]] = Counter()
    in_group: Counter[int] = Counter()
    for split in range(SPLITS):
        state: dict[int, tuple[int, int]] = {}
        shown = sum(n for (key, _, _), n in results.items() if key % SPLITS == split)
        for position in range(shown):
            key, amount = record_at(split, position)
            count, total = state.get(key, (0, 0))
            state[key] = count + 1, total + amount
            wanted[key, count + 1, total + amount] += 1
            in_group[group_of(key)] += 1
    assert results == wanted
    assert numbers == Counter((g, nth + 1) for g, n in in_group.items() for nth in range(n))


def main(out: str, count: str, rate: str, files: str = "") -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stop = HISTORY + int(count) // SPLITS if int(count) else None
    live = Numbers(HISTORY, stop, int(rate) or None)
    source = HybridSource.builder(Numbers(0, HISTORY)).add_source(live).build()
    no_time = WatermarkStrategy.no_watermarks()
    numbers: Any = env.from_source(source, no_time, "numbers")
    if files:
        arriving = FileSource.json(f"{files}/live", FILE_ROW).monitor_continuously()
        hybrid = HybridSource.builder(FileSource.json(f"{files}/history", FILE_ROW))
        rows = env.from_source(hybrid.add_source(arriving).build(), no_time, "files", FILE_ROW)
        numbers = numbers.union(rows.map(lambda row: (row.key + FILE_KEYS, row.amount), INPUT))
    totals = numbers.key_by(lambda pair: pair[0]).process(Totals(), RESULT).uid("totals")
    numbered = totals.key_by(lambda row: group_of(row[0])).process(Numbered(), OUTPUT)
    numbered.uid("numbered").sink_to(FileSink.parquet(out))
    env.execute("flow")


if __name__ == "__main__":
    main(*sys.argv[1:])
