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

from benchmarks.model.shape import BATCH, MIXED, MODES, STREAMING, Shape
from benchmarks.programs import aggregate, co_process, reduce, window_reduce
from benchmarks.reporting.costs import RESULTS
from benchmarks.reporting.render import table
from benchmarks.systems.live_state_job import RECORD, CountAndSum
from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.connectors.python.function_sink import DiscardingSink
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
        is_timed: Whether its seconds are those of all records.
    """

    file: str
    commit: str
    system: str
    keys: int
    mode: str
    build: Build
    inputs: int = 1
    is_timed: bool = True


_SWITCH = "penstock mixed hashmap"

RUNS = (
    Run("reduce", "6cd26e3", "penstock batch", 1_000, BATCH, reduce.build),
    Run("reduce", "6cd26e3", "penstock streaming", 1_000, STREAMING, reduce.build),
    Run("reduce-many-keys", "6cd26e3", "penstock batch", 1_000_000, BATCH, reduce.build),
    Run("scale", "6cd26e3", "penstock batch", 10_000_000, BATCH, reduce.build),
    Run("history/billion", "1ff65a9", "penstock batch", 100_000_000, BATCH, reduce.build),
    Run("window-reduce", "6cd26e3", "penstock batch", 1_000, BATCH, window_reduce.build),
    Run("watched/live-state", "bde9bff", "penstock hashmap", 200_000, STREAMING, _live_state),
    Run("aggregate", "6cd26e3", "penstock batch", 100_000, BATCH, aggregate.build),
    Run("co-process", "6cd26e3", "penstock batch", 1_000, BATCH, co_process.build, inputs=2),
    Run("switch", "6cd26e3", _SWITCH, 1_000_000, MIXED, reduce.build, is_timed=False),
    Run(
        "switch-ten-million-keys",
        "6cd26e3",
        _SWITCH,
        10_000_000,
        MIXED,
        reduce.build,
        is_timed=False,
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

    @property
    def time_factor(self) -> float | None:
        """Time of the estimate over that of the run; None if the run is not timed."""
        return self.expected.seconds / self.seconds if self.run.is_timed else None

    @property
    def memory_factor(self) -> float:
        """Memory of the estimate over that of the run."""
        return self.expected.memory_bytes / self.memory_bytes

    def factors(self) -> list[float]:
        """Return all that there are."""
        return [each for each in (self.time_factor, self.memory_factor) if each is not None]


def _recorded(run: Run, *, of_newest: bool) -> dict[str, Any]:
    """Return the result of the commit that a run names, or the newest one."""
    lines = (RESULTS / f"{run.file}.jsonl").read_text(encoding="utf-8").splitlines()
    found = [
        result
        for result in map(json.loads, lines)
        if of_newest or result["commit"].startswith(run.commit)
    ]
    return dict(found[-1])


def _of_history(result: dict[str, Any]) -> dict[str, Any]:
    """Return what `benchmarks.history_cost` recorded in the form of other results."""
    peaks = result["peaks"]
    return {
        "system": "penstock batch",
        "records": result["records"],
        "seconds": {"median": result["seconds"]},
        "options": {"keys": result["keys"], "parallelism": result["parallelism"]},
        "peak_memory_bytes": {
            "driver": peaks["driver_bytes"],
            "jvm": peaks["jvm_bytes"],
            "workers": peaks["workers_bytes"],
        },
    }


def compare(*, of_newest: bool = False) -> Iterator[Compared]:
    """Yield each run with its estimate.

    Args:
        of_newest: Take the newest result in place of that of the commit which the run names.
    """
    for run in RUNS:
        result = _recorded(run, of_newest=of_newest)
        found = next(
            each
            for each in result.get("results") or [_of_history(result)]
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


def summary(compared: Sequence[Compared]) -> str:
    """Return how far estimates are from runs, in a sentence."""
    times = [factor for each in compared if (factor := each.time_factor) is not None]
    memories = [each.memory_factor for each in compared]
    return (
        f"Estimates of {len(compared)} recorded runs are {min(times):.2f} to {max(times):.2f} times the measured time, "
        f"and {min(memories):.2f} to {max(memories):.2f} times the measured memory."
    )


def main(arguments: Sequence[str] = ()) -> int:
    """Print all and return whether each is within the factor."""
    rows, worst = [], 1.0
    compared = list(compare(of_newest="--newest" in arguments))
    for each in compared:
        time = each.time_factor
        worst = max([worst, *each.factors(), *(1 / factor for factor in each.factors())])
        rows.append(
            (
                each.run.file,
                each.run.system,
                f"{each.run.keys:,}",
                "" if time is None else f"{each.expected.seconds:.1f} / {each.seconds:.1f} s",
                "" if time is None else f"{time:.2f}",
                f"{each.expected.memory_bytes >> 20:,} / {each.memory_bytes >> 20:,} MiB",
                f"{each.memory_factor:.2f}",
            )
        )
    head = ("results", "system", "keys", "estimated / measured", "", "estimated / measured", "")
    sys.stdout.write(f"{table(head, rows)}\n\n{summary(compared)}\n")
    return int(worst > FACTOR)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
