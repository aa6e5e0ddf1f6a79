"""The same program over history in all three modes: the same answers, at which speed?"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass

from examples.demo.answers import read_answers
from examples.demo.check import check, expected_answers
from examples.demo.job import DEPARTURE, build
from examples.demo.layout import Layout
from penstock.common import Configuration, JobExecutionResult
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import FileSource, HybridSource

GOAL = 3.0
"""Mixed over STREAMING, on history."""

MODES: dict[str, dict[str, str]] = {
    "BATCH": {"execution.runtime-mode": "BATCH"},
    "STREAMING": {"execution.runtime-mode": "STREAMING"},
    "mixed": {
        "execution.runtime-mode": "STREAMING",
        "execution.history": "batch",
    },
}
"""Mode to the settings in which it differs from the others."""


@dataclass(frozen=True, slots=True)
class Measured:
    """How long one mode took.

    Attributes:
        mode: A key of `MODES`.
        records: Records of the run that read the history.
        seconds: Wall clock of that run.
        job_seconds: Wall clock of the whole job.
    """

    mode: str
    records: int
    seconds: float
    job_seconds: float

    @property
    def records_per_second(self) -> float:
        """Speed on history."""
        return self.records / self.seconds


def compare_modes(
    layout: Layout, configuration: Configuration, say: Callable[[str], None]
) -> list[Measured]:
    """Run the program in every mode, check each answer, and say how fast each was.

    The input is the history followed by the first live day and ends then, so all pending
    alerts are given.

    Raises:
        DemoCheckError: An answer is wrong.
        PenstockError: A job failed.
    """
    first_day = layout.compare / "live"
    first_day.mkdir(parents=True)
    shutil.copy(layout.feed_files()[0], first_day)
    expected = expected_answers([layout.history, first_day], ended=True)
    measured = []
    for mode, settings in MODES.items():
        env = StreamExecutionEnvironment.get_execution_environment(
            Configuration(configuration).layered(f"mode {mode}", settings)
        )
        history = FileSource.parquet(str(layout.history), DEPARTURE)
        last = FileSource.parquet(str(first_day), DEPARTURE)
        out = layout.compare / mode.lower()
        build(env, HybridSource.builder(history).add_source(last).build(), out)
        measured.append(measured_of(mode, env.execute(f"departures, {mode}")))
        check(read_answers(out), expected.answers, f"mode {mode}")
        say(f"  {mode}: answers equal to Spark SQL's")
    return measured


def measured_of(mode: str, result: JobExecutionResult) -> Measured:
    """Return the figures of a finished job; its first run is the one that reads history."""
    run = result.runs[0]
    return Measured(mode, run.records, run.seconds, result.net_runtime_ms / 1000)


def ratio(measured: list[Measured]) -> float:
    """Return the speed on history of mixed over that of STREAMING."""
    speed = {one.mode: one.records_per_second for one in measured}
    return speed["mixed"] / speed["STREAMING"]
