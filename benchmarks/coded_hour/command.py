"""The command line of the hour."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.answers.coded_join_rows import expected
from benchmarks.coded_hour.feed import BinlogFeed
from benchmarks.coded_hour.job import KINDS
from benchmarks.coded_hour.plot import draw
from benchmarks.coded_hour.record import JOBS, HourRecord, table
from benchmarks.coded_hour.samples import JobSampler
from benchmarks.model.digest import MODULUS, as_text
from benchmarks.model.errors import SystemFailedError
from benchmarks.reporting.machine import commit, machine, versions
from benchmarks.soak.driver import Drivers
from benchmarks.systems.digest_sink import read_outputs
from penstock.config.options import ENABLE_CODED_ROWDATA

PROGRAM = Path(__file__).parent / "job.py"
DRAIN_SECONDS = 300.0
"""Until all records are joined once the feed has stopped."""

SETTINGS = {
    "parallelism.default": "2",
    "state.backend.type": "lmdb",
    "execution.checkpointing.interval": "5 s",
    # Processes of others may stop everything for minutes.
    "spark.network.timeout": "3600s",
}
CODED = {"on": "true", "off": "false"}
"""Job to its setting of coded rows."""

Say = Callable[[str, dict[str, Any]], None]
"""Records a line: its kind and its fields."""


def main(arguments: list[str]) -> int:
    """Run, record and draw; return 1 if a join is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.coded_hour",
        description="The job of the proposal CodedRowData live for an hour, coded rows on and off.",
    )
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--sample-seconds", type=float, default=5.0)
    parser.add_argument("--records-per-second", type=int, default=300)
    parser.add_argument("--note", default="", help="what else the machine did, for the record")
    parser.add_argument("--work", type=Path, help="where to keep input, logs and state")
    parser.add_argument("--record", type=Path, default=Path("build/coded-hour.jsonl"))
    parser.add_argument("--plot", type=Path, default=Path("build/coded-hour.svg"))
    parser.add_argument("--draw", action="store_true", help="draw --record again, and run nothing")
    given = parser.parse_args(arguments)
    for path in (given.record, given.plot):
        path.parent.mkdir(parents=True, exist_ok=True)
    if not given.draw:
        with tempfile.TemporaryDirectory(prefix="penstock-hour-") as root:
            _run(given, given.work or Path(root))
    record = HourRecord.read(given.record)
    draw(record, given.plot)
    sys.stdout.write(table(record))
    for line in record.differences:
        sys.stdout.write(f"WRONG: {line}\n")
    return 1 if record.differences else 0


def _run(given: argparse.Namespace, work: Path) -> None:
    with given.record.open("w", encoding="utf-8") as lines:

        def say(kind: str, value: dict[str, Any]) -> None:
            lines.write(json.dumps({kind: value}) + "\n")
            lines.flush()

        keys = round(given.records_per_second * given.minutes * 60 / 2)
        asked = {
            "minutes": given.minutes,
            "records_per_second": given.records_per_second,
            "keys": keys,
            "settings": SETTINGS,
            "note": given.note,
        }
        say("begin", {**asked, "machine": machine(), "versions": versions(), "commit": commit()})
        feed = BinlogFeed(work / "data", given.records_per_second, keys)
        jobs = {name: _drivers(work, name) for name in JOBS}
        try:
            for drivers in jobs.values():
                drivers.start()
            feed.start()
            _watch(given, jobs, feed, say)
            for drivers in jobs.values():
                drivers.stop(signal.SIGTERM)
        finally:
            for drivers in jobs.values():
                drivers.close()
        right = expected(feed.records, keys)
        say(
            "end",
            {
                "records": 2 * feed.records,
                "expected": [right.count, right.digest],
                "results": {name: joined(work / name / "out") for name in JOBS},
            },
        )
    HourRecord.read(given.record).write(given.record)


def _drivers(work: Path, name: str) -> Drivers:
    directory = work / name
    directory.mkdir()
    settings = {**SETTINGS, ENABLE_CODED_ROWDATA.key: CODED[name]}
    return Drivers(directory, settings, program=PROGRAM, data=work / "data")


def _watch(
    given: argparse.Namespace, jobs: Mapping[str, Drivers], feed: BinlogFeed, say: Say
) -> None:
    """Sample both jobs while the feed writes, and until they have read all.

    Raises:
        SystemFailedError: A driver ended by itself, or does not come to the end.
    """
    samplers = {name: JobSampler(name, drivers) for name, drivers in jobs.items()}
    begun = time.monotonic()
    ends = begun + given.minutes * 60
    is_fed = True
    while True:
        time.sleep(given.sample_seconds)
        now = time.monotonic()
        for name, drivers in jobs.items():
            drivers.check_alive()
            say("sample", samplers[name].sample(now - begun).to_json())
        if is_fed and now >= ends:
            feed.stop()
            is_fed = False
        read = [sampler.heard().get("records", 0) for sampler in samplers.values()]
        if not is_fed and min(read) >= 2 * feed.records:
            return
        if now > ends + DRAIN_SECONDS:
            raise SystemFailedError(
                f"{min(read):,} of {2 * feed.records:,} records were read",
                hint="Read the logs of the drivers: run it with --work.",
            )


def joined(out: Path) -> list[Any]:
    """Return number and digest of the rows that are left: what was made without what is gone."""
    made, gone = (read_outputs(out / f"{name}.jsonl") for name in KINDS)
    difference = (int(made.digest, 16) - int(gone.digest, 16)) % MODULUS
    return [made.count - gone.count, as_text(difference)]
