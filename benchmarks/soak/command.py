"""The command line of the soak."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.model.errors import SystemFailedError
from benchmarks.reporting.machine import commit, machine, versions
from benchmarks.soak.driver import Drivers
from benchmarks.soak.feed import Feed
from benchmarks.soak.plot import draw
from benchmarks.soak.record import MEASURES, SoakRecord, growths, table
from benchmarks.soak.results import Results, differences
from benchmarks.soak.samples import Sample, files_below, processes_held, quantiles

SIGNALS = (signal.SIGTERM, signal.SIGKILL)
LOOK_SECONDS = 0.2
"""Between two looks at the sink; a latency is this much too large at most."""
DRAIN_SECONDS = 300.0
"""Until all results are there once the feed has stopped."""

Say = Callable[[str, dict[str, Any]], None]
"""Records a line: its kind and its fields."""


@dataclass(slots=True)
class Soak:
    """A soak that runs.

    Attributes:
        drivers: The job.
        feed: Its input.
        results: Its output.
        say: Called with each line of the record.
        sample_seconds: Between two samples.
    """

    drivers: Drivers
    feed: Feed
    results: Results
    say: Say
    sample_seconds: float
    _begun: float = field(default_factory=time.monotonic)
    _latencies: list[np.ndarray] = field(default_factory=list)
    _next_sample: float = 0.0

    def run(self, seconds: float, restart_seconds: float) -> None:
        """Let the job run, and restart it again and again; in the end it has shown all records.

        Raises:
            SystemFailedError: A driver ended by itself, or left processes, or the results do not come.
        """
        self.drivers.start()
        self.feed.start()
        signals = cycle(SIGNALS)
        restart_at = restart_seconds
        while self._seconds() < seconds:
            self._look()
            if self._seconds() >= restart_at:
                number = next(signals)
                at = self._seconds()
                took = self.drivers.stop(number)
                self.say(
                    "stopped",
                    {
                        "seconds": round(at, 1),
                        "signal": number.name,
                        "took_seconds": round(took, 2),
                    },
                )
                self.drivers.start()
                restart_at += restart_seconds
        self.feed.stop()
        deadline = time.monotonic() + DRAIN_SECONDS
        while self.results.rows < self.feed.records:
            self._look()
            if time.monotonic() > deadline:
                raise SystemFailedError(
                    f"{self.results.rows:,} of {self.feed.records:,} results came",
                    hint="Read the log of the last driver.",
                )
        self.drivers.stop(signal.SIGTERM)
        self.results.look()

    def _look(self) -> None:
        time.sleep(LOOK_SECONDS)
        self.drivers.check_alive()
        self._latencies.append(self.results.look())
        if self._seconds() >= self._next_sample:
            self._next_sample += self.sample_seconds
            latencies = np.concatenate(self._latencies)
            self._latencies.clear()
            sample = Sample(
                seconds=round(self._seconds(), 1),
                driver=self.drivers.started - 1,
                **processes_held(self.drivers.session),
                job_files=files_below(self.drivers.job),
                temporary_files=files_below(self.drivers.temporary),
                input_files=self.feed.files,
                results=len(latencies),
                latency_ms=quantiles(latencies),
            )
            self.say("sample", sample.to_json())

    def _seconds(self) -> float:
        return time.monotonic() - self._begun


def main(arguments: list[str]) -> int:
    """Run, record and draw; return 1 if results are wrong or something grew."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.soak",
        description="A live job over hours with restarts: memory, descriptors, files, latency.",
    )
    parser.add_argument("--hours", type=float, default=2.0)
    parser.add_argument("--restart-minutes", type=float, default=5.0)
    parser.add_argument("--sample-seconds", type=float, default=10.0)
    parser.add_argument("--records-per-second", type=int, default=500)
    parser.add_argument("-D", dest="settings", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--record", type=Path, default=Path("build/soak.jsonl"))
    parser.add_argument("--plot", type=Path, default=Path("build/soak.svg"))
    parser.add_argument("--draw", action="store_true", help="draw --record again, and run nothing")
    given = parser.parse_args(arguments)
    for path in (given.record, given.plot):
        path.parent.mkdir(parents=True, exist_ok=True)
    if not given.draw:
        _run(given)
    record = SoakRecord.read(given.record)
    draw(record, given.plot)
    return _judged(record)


def _run(given: argparse.Namespace) -> None:
    settings = {"parallelism.default": "2", **dict(each.split("=", 1) for each in given.settings)}
    settings.setdefault("execution.checkpointing.interval-during-backlog", "0")
    with (
        tempfile.TemporaryDirectory(prefix="penstock-soak-") as root,
        given.record.open("w", encoding="utf-8") as lines,
    ):

        def say(kind: str, value: dict[str, Any]) -> None:
            lines.write(json.dumps({kind: value}) + "\n")
            lines.flush()

        work = Path(root)
        asked = {
            "hours": given.hours,
            "restart_minutes": given.restart_minutes,
            "sample_seconds": given.sample_seconds,
            "records_per_second": given.records_per_second,
            "settings": settings,
        }
        say("begin", {**asked, "machine": machine(), "versions": versions(), "commit": commit()})
        drivers = Drivers(work, settings)
        feed = Feed(work / "data", given.records_per_second)
        soak = Soak(drivers, feed, Results(work / "out"), say, given.sample_seconds)
        try:
            soak.run(given.hours * 3600, given.restart_minutes * 60)
        finally:
            drivers.close()
        wrong = differences(work / "out", feed.records)
        say("end", {"records": feed.records, "drivers": drivers.started, "differences": wrong[:20]})
    SoakRecord.read(given.record).write(given.record)


def _judged(record: SoakRecord) -> int:
    """Print what was found; return the exit status."""
    sys.stdout.write(table(record))
    wrong = record.end.get("differences", ["it did not run to its end"])
    for line in wrong:
        sys.stdout.write(f"WRONG: {line}\n")
    grown = [each for each in growths(record.samples) if each.is_too_much]
    for each in grown:
        sys.stdout.write(f"GROWS: {MEASURES[each.measure][0]}\n")
    if not wrong:
        drivers = record.end["drivers"]
        sys.stdout.write(
            f"{record.end['records']:,} records, each counted once, by {drivers} drivers\n"
        )
    return 1 if wrong or grown else 0
