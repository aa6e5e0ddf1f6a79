"""The calls of `python -m benchmarks` that measure every figure of the documentation: one row each.

The rows are in the order in which they are made: what the README claims, then the goals, then the rest. So a night that
ends early has measured what people read first.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class FigureRun:
    """A call of `python -m benchmarks`, and where its result goes.

    Attributes:
        name: Of the file of results, without its suffix.
        figures: What it judges, by their names in the goals; empty if it shows something else.
        arguments: Of the command.
    """

    name: str
    figures: str
    arguments: tuple[str, ...]

    @property
    def results(self) -> Path:
        """The file that its results are appended to."""
        return RESULTS / f"{self.name}.jsonl"

    @property
    def rounds(self) -> int:
        """Measured rounds of every system."""
        return int(self.arguments[self.arguments.index("--runs") + 1])

    def command(self, results: Path) -> tuple[str, ...]:
        """Return the command, with the Python of this process.

        Args:
            results: The file that the result is appended to.
        """
        append = ("--append", str(results))
        return (sys.executable, "-m", "benchmarks", *self.arguments, *append)

    def tiny(self) -> FigureRun:
        """Return the same run with few records, once: to see that all of its systems start, agree and end."""
        asked = f"--runs 1 {TINY[self.arguments[0]]}".split()
        given = [*zip(asked[::2], asked[1::2], strict=True)]
        replaced = {_setting(name, value) for name, value in given}
        rest = self.arguments[1:]
        kept = [
            pair
            for pair in zip(rest[::2], rest[1::2], strict=True)
            if _setting(*pair) not in replaced
        ]
        arguments = [word for pair in (*kept, *given) for word in pair]
        return FigureRun(self.name, self.figures, (self.arguments[0], *arguments))


def _setting(name: str, value: str) -> str:
    """Return what an option of the command sets: `-o` sets what its value begins with."""
    return f"{name} {value.partition('=')[0]}" if name == "-o" else name


def _run(name: str, figures: str, arguments: str) -> FigureRun:
    """Take arguments as in a shell, with `_` for a blank inside a name; every option has a value."""
    return FigureRun(name, figures, tuple(a.replace("_", " ") for a in arguments.split()))


RUNS: tuple[FigureRun, ...] = (
    _run("reduce", "R1, R10", "reduce --keys 1000 --runs 5 -o slow-records=200000"),
    _run(
        "window-reduce",
        "R1",
        "window-reduce --keys 1000 --runs 5 --system penstock_batch --against sql --against flink-java-batch",
    ),
    _run(
        "expressions",
        "R11",
        "expressions --runs 5 --system penstock_batch --system penstock_batch_frame --system penstock_mixed_latest"
        " --against sql-files --against sql --against flink-java-heap",
    ),
    _run(
        "live-state-columns",
        "R12",
        "live-state --runs 5 --system penstock_hashmap_expressions --against sql --against flink-java-rocksdb",
    ),
    _run("kafka", "R14", "kafka --runs 5"),
    _run(
        "latency",
        "R8",
        "latency --runs 1 --system penstock --against spark-empty --against pyflink-process"
        " --against pyflink-thread",
    ),
    _run(
        "kafka-latency",
        "",
        "kafka-latency --runs 1 --records 20000 -o records-per-second=1000 --against none",
    ),
    _run("cold", "R16", "cold --runs 5"),
    _run(
        "live-state",
        "R4",
        "live-state --runs 3 --system penstock_hashmap --against tws-row --against sql --against flink-java-rocksdb",
    ),
    _run(
        "co-group",
        "R2",
        "co-group --runs 2 --system penstock_batch --against flink-java-batch",
    ),
    _run("aggregate", "R3", "aggregate --runs 3 --system penstock_batch"),
    _run("map-batches", "R13", "map-batches --runs 5"),
    _run(
        "window-expressions",
        "R13",
        "window-expressions --runs 3 --system penstock_batch --against sql-files",
    ),
    _run("dataframe", "R13", "dataframe --runs 5"),
    _run("sql-group-by", "R19", "sql-group-by --runs 3"),
    _run("sql-tumble", "R19", "sql-tumble --runs 3"),
    _run("sql-hop", "R19", "sql-hop --runs 3"),
    _run("sql-top-n", "R19", "sql-top-n --runs 3"),
    # History has to outlast a round, and is cancelled then: 4,000,000 records were read within one of four seconds.
    _run("isolation", "R15", "isolation --runs 2 -o history-records=20000000"),
    _run("switch", "", "switch --runs 3 --keys 100000,1000000 --system penstock_mixed_hashmap"),
    # One peer: the other would read what this one has written, because peers share the topic that is read.
    _run("kafka-sink", "R14", "kafka-sink --runs 3 --against pyflink-process_exactly-once"),
    _run("nexmark", "", "nexmark --runs 3"),
    _run("booleans", "R5", "booleans --runs 3"),
    _run("word-count", "R5", "word-count --runs 3"),
    _run("object-reuse", "R6", "object-reuse --runs 3"),
    _run("coded-rows", "R7", "coded-rows --runs 5"),
    _run("coded-join", "R7", "coded-join --runs 3"),
    _run(
        "reduce-many-keys",
        "R1, R10",
        "reduce --keys 1000000 --runs 3 --system penstock_batch --system penstock_mixed_latest"
        " --against loop --against rdd --against flink-java-batch --against sql",
    ),
    _run(
        "reduce-many-keys-tws",
        "R1",
        "reduce --keys 1000000 --records 4000000 --runs 1 --system penstock_mixed --system penstock_mixed_latest"
        " --against tws-row -o slow-records=200000",
    ),
    _run(
        "reduce-many-keys-modes",
        "R1",
        "reduce --keys 1000000 --runs 1 --system penstock_mixed_latest --system penstock_streaming --against none",
    ),
    _run(
        "window-reduce-modes",
        "R1",
        "window-reduce --keys 1000 --records 2000000 --runs 1 --system penstock_mixed --system penstock_streaming"
        " --against none",
    ),
    _run("scale", "R9", "scale --runs 1 --against none"),
    _run(
        "delayed-deploy",
        "R17",
        "delayed-deploy --runs 1 --system penstock_mixed --system penstock_streaming_uncut",
    ),
    _run(
        "co-group-streaming",
        "R2",
        "co-group --records 1000000 --runs 2 --against flink-java-rocksdb --against rdd",
    ),
    _run("co-process", "", "co-process --keys 1000 --records 5000000 --runs 1"),
    _run("live-state-sizes", "", "live-state --runs 1 --keys 1000000,10000000 --against none"),
    _run(
        "switch-ten-million-keys",
        "",
        "switch --runs 1 --keys 10000000 --records 10000000 --system penstock_mixed_hashmap",
    ),
    _run("latency-two-levels", "", "latency --runs 1 --records 20000 -o levels=2 --against none"),
    _run(
        "latency-hundred-events-per-ms",
        "",
        "latency --runs 1 --records 2000000 -o events-per-ms=100 --system penstock --against none",
    ),
    _run("kafka-catch-up", "", "kafka-catch-up --runs 1 --against none"),
    _run("postgres", "", "postgres --runs 3 --against none"),
    _run("postgres-changes", "", "postgres-changes --runs 2 --against none"),
)
"""Every run, in the order they are made."""

_FEW = "--records 20000 --keys 100"

TINY: dict[str, str] = {
    "reduce": f"{_FEW} -o live-records=1000 -o slow-records=2000",
    "expressions": f"{_FEW} -o live-records=1000",
    "map-batches": _FEW,
    "window-reduce": f"{_FEW} -o live-records=1000",
    "window-expressions": _FEW,
    "dataframe": _FEW,
    "sql-group-by": f"{_FEW} -o live-records=1000",
    "sql-tumble": f"{_FEW} -o live-records=1000",
    "sql-hop": f"{_FEW} -o live-records=1000",
    "sql-top-n": f"{_FEW} -o live-records=1000",
    "co-process": f"{_FEW} -o live-records=1000",
    "co-group": "--records 20000",
    "aggregate": "--records 20000",
    "delayed-deploy": "--records 100000",
    "coded-rows": "--records 200",
    "coded-join": "--records 2000",
    "nexmark": "--records 20000 -o part=1",
    "live-state": "--records 20000 --keys 1000 -o micro-batch=10000 -o warm-up-batches=1 -o slow-batches=1",
    "latency": "--records 3000",
    "isolation": "--records 2000 -o history-records=20000000",
    "cold": "--records 1000",
    "scale": "--records 20000",
    "switch": "--records 20000 --keys 1000 -o live-records=1000",
    "booleans": "--records 20000",
    "word-count": "--records 20000",
    "object-reuse": "--records 20000",
    "kafka": f"{_FEW} -o slow-records=2000",
    "kafka-catch-up": f"{_FEW} -o live-records=2000 -o overlap-records=1000",
    "kafka-sink": "--records 20000 -o slow-records=2000",
    "kafka-latency": "--records 1000 -o records-per-second=200",
    "postgres": _FEW,
    "postgres-changes": _FEW,
}
"""Program to what it is told for a run that only shows that it works."""


def named(runs: Sequence[FigureRun], patterns: Sequence[str]) -> list[FigureRun]:
    """Return the runs whose names match a pattern of a shell; all if there is no pattern."""
    return [
        run
        for run in runs
        if not patterns or any(fnmatchcase(run.name, pattern) for pattern in patterns)
    ]
