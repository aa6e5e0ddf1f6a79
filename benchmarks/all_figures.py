"""Measures every figure of the documentation again, on one commit: one program after the other, results appended.

    python -m benchmarks.all_figures --list                 # what runs, and how long it took last
    python -m benchmarks.all_figures                        # all; hours, on a machine that does nothing else
    python -m benchmarks.all_figures 'kafka*' reduce        # some, by the names of their files
    python -m benchmarks.all_figures --minutes 60           # begins nothing that does not fit, by what it took last

What was measured on this commit is not measured again, so the command goes on where it was stopped. A figure that the README
claims has five rounds. Peers need what `benchmarks/peers` says, and are left out, with the reason in the result, where it is
not there. The exit status is 1 if a program failed or its outputs differ.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from benchmarks.reporting.costs import RESULTS
from benchmarks.reporting.machine import commit
from benchmarks.reporting.render import table


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
    def command(self) -> tuple[str, ...]:
        """The command, with the Python of this process."""
        append = ("--append", str(self.results))
        return (sys.executable, "-m", "benchmarks", *self.arguments, *append)


def _run(name: str, figures: str, arguments: str) -> FigureRun:
    """Take arguments as in a shell, with `_` for a blank inside a name."""
    return FigureRun(name, figures, tuple(a.replace("_", " ") for a in arguments.split()))


RUNS: tuple[FigureRun, ...] = (
    _run("reduce", "R1, R10", "reduce --keys 1000 --runs 5 -o slow-records=200000"),
    _run(
        "reduce-many-keys",
        "R1, R10",
        "reduce --keys 1000000 --runs 3 --against loop --against rdd --against flink-java-batch --against sql",
    ),
    _run(
        "reduce-many-keys-tws",
        "R1",
        "reduce --keys 1000000 --records 4000000 --runs 1 --system penstock_mixed --system penstock_mixed_latest"
        " --against tws-row -o slow-records=200000",
    ),
    _run(
        "expressions",
        "R11",
        "expressions --runs 3 --against sql-files --against sql --against flink-java-heap",
    ),
    _run("map-batches", "R13", "map-batches --runs 5"),
    _run("window-expressions", "R13", "window-expressions --runs 3"),
    _run("dataframe", "R13", "dataframe --runs 3"),
    _run("nexmark", "", "nexmark --runs 3"),
    _run("window-reduce", "R1", "window-reduce --keys 1000 --runs 3"),
    _run("co-process", "", "co-process --keys 1000 --records 5000000 --runs 3"),
    _run(
        "co-group",
        "R2",
        "co-group --runs 2 --system penstock_batch --against flink-java-batch --against rdd",
    ),
    _run(
        "co-group-streaming",
        "R2",
        "co-group --records 1000000 --runs 2 --against flink-java-rocksdb --against rdd",
    ),
    _run("aggregate", "R3", "aggregate --runs 3 --system penstock_batch"),
    _run(
        "live-state",
        "R4, R12",
        "live-state --runs 3 --system penstock_hashmap --system penstock_hashmap_expressions",
    ),
    _run("live-state-sizes", "", "live-state --runs 1 --keys 1000000,10000000 --against none"),
    _run("booleans", "R5", "booleans --runs 3"),
    _run("word-count", "R5", "word-count --runs 3"),
    _run("object-reuse", "R6", "object-reuse --runs 3"),
    _run("coded-rows", "R7", "coded-rows --runs 5"),
    _run("coded-join", "R7", "coded-join --runs 3"),
    _run(
        "latency",
        "R8",
        "latency --runs 1 --system penstock --against spark-empty --against pyflink-process"
        " --against pyflink-thread",
    ),
    _run("latency-two-levels", "", "latency --runs 1 --records 20000 -o levels=2 --against none"),
    _run(
        "latency-hundred-events-per-ms",
        "",
        "latency --runs 1 --records 2000000 -o events-per-ms=100 --system penstock --against none",
    ),
    _run("switch", "", "switch --runs 3 --keys 100000,1000000 --system penstock_mixed_hashmap"),
    _run(
        "switch-ten-million-keys",
        "",
        "switch --runs 1 --keys 10000000 --records 10000000 --system penstock_mixed_hashmap",
    ),
    _run("scale", "R9", "scale --runs 1 --against none"),
    _run("kafka", "R14", "kafka --runs 3"),
    _run("kafka-catch-up", "", "kafka-catch-up --runs 1 --against none"),
    _run("kafka-sink", "R14", "kafka-sink --runs 3"),
    _run(
        "kafka-latency",
        "",
        "kafka-latency --runs 1 --records 20000 -o records-per-second=1000 --against none",
    ),
    _run("postgres", "", "postgres --runs 3 --against none"),
    _run("postgres-changes", "", "postgres-changes --runs 2 --against none"),
    _run("isolation", "R15", "isolation --runs 2"),
    _run("cold", "R16", "cold --runs 5"),
    _run(
        "delayed-deploy",
        "R17",
        "delayed-deploy --runs 1 --system penstock_mixed --system penstock_streaming_uncut",
    ),
)
"""Every run, in the order they are made: what the README claims first."""


def newest(results: Path) -> dict[str, Any]:
    """Return the newest result of a file; nothing if it has none."""
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    found: dict[str, Any] = json.loads(lines[-1]) if lines else {}
    return found


def minutes_of(run: FigureRun) -> float | None:
    """Return what a run took last; None if that is not known."""
    seconds = newest(run.results).get("wall_seconds")
    return None if seconds is None else seconds / 60


def open_runs(
    runs: Sequence[FigureRun], patterns: Sequence[str], current: str | None
) -> list[FigureRun]:
    """Return the runs that were asked for and have no result of this commit.

    Args:
        runs: All.
        patterns: Of names, as in a shell; empty is all.
        current: The commit; None, or one with changes (`+`), has no results that count.
    """
    counts = current is not None and not current.endswith("+")
    return [
        run
        for run in runs
        if (not patterns or any(fnmatchcase(run.name, pattern) for pattern in patterns))
        and not (counts and newest(run.results).get("commit") == current)
    ]


def measure(runs: Sequence[FigureRun], minutes: float | None) -> int:
    """Make runs one after the other and return 0 if all succeeded.

    Args:
        runs: Which.
        minutes: Nothing is begun that would end later, by what it took last; None is no limit.
    """
    began = time.monotonic()
    status = 0
    for place, run in enumerate(runs, start=1):
        name = f"[{place}/{len(runs)}] {run.name}"
        passed, last = (time.monotonic() - began) / 60, minutes_of(run) or 0
        if minutes is not None and passed + last > minutes:
            _say(f"{name}: left out after {passed:.0f} min; it took {last:.0f} min last")
            continue
        _say(f"{name}: {' '.join(run.arguments)}")
        if subprocess.run(run.command, check=False).returncode:  # noqa: S603 - ours, no shell
            _say(f"{name}: FAILED")
            status = 1
    return status


def listing(runs: Sequence[FigureRun]) -> str:
    """Return the runs as a table."""
    rows = [
        (run.name, run.figures, _whole(minutes_of(run)), " ".join(run.arguments)) for run in runs
    ]
    return table(("results", "figures", "minutes", "arguments"), rows)


def main() -> int:
    """Run the command line and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.all_figures",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", help="names of result files; patterns as in a shell")
    parser.add_argument("--minutes", type=float, help="begin nothing that would end later")
    parser.add_argument("--list", action="store_true", help="say what would run, and end")
    options = parser.parse_args()
    runs = open_runs(RUNS, options.names, commit())
    if options.list:
        sys.stdout.write(f"{listing(runs)}\n")
        return 0
    return measure(runs, options.minutes)


def _whole(minutes: float | None) -> str:
    return "" if minutes is None else f"{minutes:.0f}"


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
