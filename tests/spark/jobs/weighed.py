"""Adds a weight per record of a key, and writes every total to one target: who has written a total shows in it.

Arguments: directory of the input, its form, the weight, and the three texts of a `SinkTarget`. Forms:

    live, bounded    a log
    files, log       files of history, and behind them live files, or a log
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from penstock.api.environment.job import JobClient
from penstock.common import TypeInformation, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import FileSource, HybridSource, LogBatch, Source
from tests.log_world import NumberedLog
from tests.sink_systems import ROW, Count, SinkTarget

SPLITS = 2
KEYS = 4
LIGHT, HEAVY = 1, 1_000
"""Weights of the job and of its shadow; a key has fewer records than `HEAVY`."""


def log_of(directory: Path | str, *, bounded: bool = False) -> NumberedLog:
    """Return the log."""
    return NumberedLog(str(directory), bounded=bounded)


@dataclass(frozen=True)
class TextLog(NumberedLog):
    """A log whose records are texts, as those of files."""

    kind: ClassVar[str] = "texts"

    def get_produced_type(self) -> TypeInformation:
        return Types.STRING()

    def read(self, split: str, start: int, end: int) -> LogBatch:
        found = super().read(split, start, end)
        return LogBatch([" ".join(map(str, record)) for record in found.records], end)


def source_of(directory: Path | str, form: str) -> Source:
    """Return the source of a form."""
    if form not in {"files", "log"}:
        return log_of(directory, bounded=form == "bounded")
    history, place = FileSource.text(f"{directory}/history"), f"{directory}/live"
    live = FileSource.text(place).monitor_continuously() if form == "files" else TextLog(place)
    return HybridSource.builder(history).add_source(live).build()


def add_to(directory: Path, form: str, first: int, last: int) -> None:
    """Add records to the input; the first ones are the history of files."""
    if form == "live" or (form == "log" and first):
        add(directory if form == "live" else directory / "live", first, last)
        return
    for name in ("history", "live"):
        (directory / name).mkdir(parents=True, exist_ok=True)
    staged = directory / "staged"
    staged.write_text("".join(f"k{n % KEYS} {n}\n" for n in range(first, last)))
    staged.rename(directory / ("live" if first else "history") / f"{first}.txt")


def key_of(record: Any) -> str:
    """Return the key of a record."""
    return str(record.split()[0] if isinstance(record, str) else record[0])


def add(directory: Path, first: int, last: int) -> None:
    """Add records to the log; each key has its records in one split."""
    directory.mkdir(exist_ok=True)
    for split in range(SPLITS):
        numbers = (n for n in range(first, last) if n % SPLITS == split)
        log_of(directory).add(f"split-{split}", *([f"k{n % KEYS}", n] for n in numbers))


def totals(*weights: tuple[int, int]) -> Counter[Count]:
    """Return the totals of so many records each, which jobs with these weights have written one after the other."""
    rows: Counter[Count] = Counter()
    seen: Counter[str] = Counter()
    number = 0
    for count, weight in weights:
        for _ in range(count):
            key = f"k{number % KEYS}"
            seen[key] += 1
            rows[key, seen[key] * weight] += 1
            number += 1
    return rows


def last_totals(rows: Counter[Count]) -> Counter[Count]:
    """Return what a table of one row per key has when these totals were written in order."""
    return Counter(dict(sorted(rows, key=lambda row: row[1] // HEAVY or row[1])).items())


def weights_of(rows: Counter[Count]) -> list[list[int]]:
    """Return the weights of the totals of each key in order, and check that each record was counted once."""
    by_key: dict[str, dict[int, int]] = defaultdict(dict)
    for (key, total), times in rows.items():
        weight = LIGHT if total < HEAVY else HEAVY
        assert times == 1, (key, total)
        assert total // weight not in by_key[key], (key, total)
        by_key[key][total // weight] = weight
    for key, weights in by_key.items():
        assert sorted(weights) == [*range(1, len(weights) + 1)], (key, sorted(weights))
    return [[weights[n] for n in sorted(weights)] for _, weights in sorted(by_key.items())]


def owners(rows: Counter[Count]) -> list[list[int]]:
    """Return the weights of each key, as `weights_of`, without those that equal the one before."""
    return [_changes(weights) for weights in weights_of(rows)]


def _changes(weights: Iterable[int]) -> list[int]:
    changes: list[int] = []
    for weight in weights:
        if changes[-1:] != [weight]:
            changes.append(weight)
    return changes


def build(env: StreamExecutionEnvironment, source: Source, weight: int, to: SinkTarget) -> None:
    """Build the program over records that begin with their key."""
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    weighed = numbers.map(lambda record: (key_of(record), weight), pair).uid("weighed")
    sums = weighed.key_by(lambda one: one[0]).sum(1).uid("sums")
    sums.map(lambda total: total, ROW).uid("rows").sink_to(to.sink()).uid("out")


def start(arguments: Sequence[str], env: StreamExecutionEnvironment | None = None) -> JobClient:
    """Start the program with its arguments, and return at once."""
    directory, form, weight, *target = arguments
    env = env or StreamExecutionEnvironment.get_execution_environment()
    build(env, source_of(directory, form), int(weight), SinkTarget(*target))
    return env.execute_async("weighed")


STARTED: list[JobClient] = []
"""Jobs that a command has started in the process of a test."""


if __name__ == "__main__":
    start(sys.argv[1:]).get_job_execution_result().result()
