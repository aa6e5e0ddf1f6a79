"""Compares `penstock plan --estimate` with runs of the benchmarks: time and memory.

    python -m benchmarks.estimate_check             # the runs that the page shows
    python -m benchmarks.estimate_check --newest    # the newest of the same systems

The runs are in `benchmarks/results`; to have newer ones, run the program that is named with --append. Exits with 1 if an
estimate is off by more than a factor of two.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.model.shape import BATCH, MODES, STREAMING, Shape
from benchmarks.programs import aggregate, co_process, reduce, window_reduce
from benchmarks.reporting.costs import RESULTS, newest
from benchmarks.reporting.render import table
from benchmarks.systems.live_state_job import RECORD, CountAndSum
from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.connectors.python.discard import DiscardingSink
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.connectors import CollectionSource
from penstock.plan.explain.estimate import Estimate, estimate

FACTOR = 2.0
Build = Callable[[StreamExecutionEnvironment, Shape], DataStream[Any]]


def _live_state(env: StreamExecutionEnvironment, _: Shape) -> DataStream[Any]:
    source = CollectionSource.of([(0, 0)], RECORD)
    records = env.from_source(source, WatermarkStrategy.no_watermarks(), "records")
    made = Types.TUPLE([Types.LONG()] * 3)
    return records.key_by(lambda record: record[0]).process(CountAndSum(), made)


@dataclass(frozen=True, slots=True)
class Run:
    """A run that was measured.

    Attributes:
        file: Of results, without its ending.
        commit: How the commit of the result begins.
        system: Which of them.
        keys: At how many.
        mode: Its mode.
        build: Makes its program.
        inputs: Sources, each of which has as many records.
    """

    file: str
    commit: str
    system: str
    keys: int
    mode: str
    build: Build
    inputs: int = 1


RUNS = (
    Run("reduce", "11c0376", "penstock batch", 1_000, BATCH, reduce.build),
    Run("reduce", "11c0376", "penstock streaming", 1_000, STREAMING, reduce.build),
    Run("reduce-many-keys", "f739797", "penstock batch", 1_000_000, BATCH, reduce.build),
    Run(
        "reduce-many-keys-streaming",
        "13002a4",
        "penstock streaming",
        1_000_000,
        STREAMING,
        reduce.build,
    ),
    Run("window-reduce", "43ca335", "penstock batch", 1_000, BATCH, window_reduce.build),
    Run("live-state-sizes", "efe6f98", "penstock hashmap", 1_000_000, STREAMING, _live_state),
    Run("live-state-sizes", "efe6f98", "penstock hashmap", 10_000_000, STREAMING, _live_state),
    Run("aggregate", "11c0376", "penstock batch", 100_000, BATCH, aggregate.build),
    Run("co-process", "f739797", "penstock batch", 1_000, BATCH, co_process.build, inputs=2),
    Run(
        "co-process", "f739797", "penstock streaming", 1_000, STREAMING, co_process.build, inputs=2
    ),
)


@dataclass(frozen=True, slots=True)
class Compared:
    """An estimate beside a run.

    Attributes:
        run: The run.
        expected: The estimate.
        seconds: That it took.
        memory_bytes: Peaks of driver, JVM and workers.
    """

    run: Run
    expected: Estimate
    seconds: float
    memory_bytes: int

    def factors(self) -> tuple[float, float]:
        """Return time and memory of the estimate over those of the run."""
        return (
            self.expected.seconds / self.seconds,
            self.expected.memory_bytes / self.memory_bytes,
        )


def _recorded(run: Run) -> dict[str, Any]:
    """Return the result of the commit that a run names."""
    lines = (RESULTS / f"{run.file}.jsonl").read_text(encoding="utf-8").splitlines()
    found = [result for result in map(json.loads, lines) if result["commit"].startswith(run.commit)]
    return dict(found[-1])


def compare(*, of_newest: bool = False) -> Iterator[Compared]:
    """Yield each run with its estimate.

    Args:
        of_newest: Take the newest result in place of that of the commit which the run names.
    """
    for run in RUNS:
        result = newest(run.file) if of_newest else _recorded(run)
        found = next(
            each
            for each in result["results"]
            if each["system"] == run.system and each["options"]["keys"] == run.keys
        )
        parallelism = found["options"]["parallelism"]
        settings = {**MODES[run.mode], "parallelism.default": str(parallelism)}
        config = Configuration.from_dict(settings)
        env = StreamExecutionEnvironment.get_execution_environment(config)
        shape = Shape(found["records"], 0, run.keys, parallelism, run.mode)
        run.build(env, shape).sink_to(DiscardingSink())
        peaks = found["peak_memory_bytes"]
        memory = sum(peaks[role] for role in ("driver", "jvm", "workers"))
        expected = estimate(env.plan(), run.inputs * found["records"], run.keys)
        yield Compared(run, expected, found["seconds"]["median"], memory)


def main(arguments: Sequence[str] = ()) -> int:
    """Print all and return whether each is within the factor."""
    rows, worst = [], 1.0
    for each in compare(of_newest="--newest" in arguments):
        time, memory = each.factors()
        worst = max(worst, time, memory, 1 / time, 1 / memory)
        rows.append(
            (
                each.run.file,
                each.run.system,
                f"{each.run.keys:,}",
                f"{each.expected.seconds:.1f} / {each.seconds:.1f} s",
                f"{time:.2f}",
                f"{each.expected.memory_bytes >> 20:,} / {each.memory_bytes >> 20:,} MiB",
                f"{memory:.2f}",
            )
        )
    head = ("results", "system", "keys", "estimated / measured", "", "estimated / measured", "")
    sys.stdout.write(table(head, rows) + "\n")
    return int(worst > FACTOR)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
