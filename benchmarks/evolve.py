"""One more aggregate in a job with a history, by `penstock upgrade`, over running the changed program from the beginning.

    python -m benchmarks.evolve --records 10000000 --keys 100000 --directory /data --append FILE

record i     (i % K, i, 1), of the history for i < N; the others are live, so many per second
aggregates   counts by key, key % 1000 + 1, and so on: six before, one more behind the change

`upgrade` and `whole` are seconds from the start of a command to the first live epoch of the changed program. Meanwhile the
rate of the job that runs is that of its positions; `pause` is the time between its last epoch and the first one behind it.
The counts of the new aggregate are compared with NumPy's. Prints a line of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow.dataset as ds

from benchmarks.inputs.sources import From, storing_nothing
from benchmarks.reporting.machine import commit, machine, versions
from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DataGeneratorSource, FileSink, HybridSource
from penstock.spark.upgrade.stored_program import manifest_at

AGGREGATES = 6
_POLL_SECONDS = 0.1
_MODULE = "benchmarks.evolve"


@dataclass(frozen=True, slots=True)
class Sizes:
    """The input.

    Attributes:
        records: Records of the history.
        live: Records behind it.
        rate: Live records per second.
        keys: Number of keys.
        parallelism: Number of subtasks.
    """

    records: int
    live: int
    rate: int
    keys: int
    parallelism: int


def make(keys: int) -> Any:
    """Return the function from index to record."""
    return storing_nothing(lambda i: (i % keys, i, 1))


def groups_of(aggregate: int, keys: int) -> int:
    """Return the number of groups of an aggregate."""
    return keys if aggregate == 0 else max(keys // (aggregate + 1), 1)


def add(a: Any, b: Any) -> Any:
    """Add two records of a group."""
    return a[0], b[1], a[2] + b[2]


def build(env: StreamExecutionEnvironment, sizes: Sizes, aggregates: int, out: Path) -> None:
    """Add the program; every aggregate has a sink, which has its last results."""
    record = make(sizes.keys)
    live = DataGeneratorSource(From(record, sizes.records), sizes.live, sizes.rate)
    source = HybridSource.builder(DataGeneratorSource(record, sizes.records)).add_source(live)
    read = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "records")
    for number in range(aggregates):
        grouped = read.uid("records").key_by(Group(groups_of(number, sizes.keys)))
        counts = grouped.reduce(add).uid(f"counts {number}")
        rows = counts.map(Shown(groups_of(number, sizes.keys)), ROW).uid(f"rows {number}")
        rows.sink_to(FileSink.parquet(out / str(number))).uid(f"out {number}")


ROW = Types.ROW_NAMED(["group", "n"], [Types.LONG(), Types.LONG()])


@dataclass(frozen=True, slots=True)
class Group:
    """Group of a record."""

    groups: int

    def __call__(self, record: Any) -> int:
        """Return the group."""
        return int(record[0] % self.groups)


@dataclass(frozen=True, slots=True)
class Shown:
    """Group of a count, and the count."""

    groups: int

    def __call__(self, record: Any) -> tuple[int, int]:
        """Return the row."""
        return record[0] % self.groups, record[2]


def run(sizes: Sizes, aggregates: int, work: Path) -> None:
    """Run the program; `penstock upgrade` sets its directory."""
    settings = {
        "parallelism.default": str(sizes.parallelism),
        "execution.checkpointing.interval-during-backlog": "0",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    build(env, sizes, aggregates, work)
    env.execute("evolve")


def command(name: Sequence[str], sizes: Sizes, aggregates: int, out: Path) -> list[str]:
    """Return a command of the CLI with the program of this module.

    The program is a file of its own: Python looks for modules beside it, and `benchmarks` has one called `encodings`.
    """
    program = out.parent / "evolve_job.py"
    program.write_text(f"import sys\n\nfrom {_MODULE} import main\n\nsys.exit(main())\n")
    numbers = [str(value) for value in asdict(sizes).values()]
    arguments = ["--job", *numbers, str(aggregates), str(out)]
    return [sys.executable, "-m", "penstock", *name, str(program), "--", *arguments]


def epochs(job: Path) -> int:
    """Return the number of recorded epochs of the live run of a job."""
    records = job / "run-1" / "epochs" / "records"
    return sum(path.name.isdigit() for path in records.iterdir()) if records.is_dir() else 0


def position(job: Path) -> int:
    """Return the number of live records that a job has read."""
    (source,) = manifest_at(job).sources
    return sum(at for at, _ in source.position["splits"]) if source.part == 1 else 0


def await_epoch(process: subprocess.Popen[bytes], job: Path, at_most: float) -> float:
    """Return the seconds until a job has a live epoch."""
    begun = time.monotonic()
    while not epochs(job):
        if process.poll() is not None or time.monotonic() - begun > at_most:
            raise SystemExit(f"{job} has no live epoch: exit status {process.poll()}")
        time.sleep(_POLL_SECONDS)
    return time.monotonic() - begun


def rate_of(job: Path, seconds: float) -> float:
    """Return the records per second that a running job reads."""
    first, begun = position(job), time.monotonic()
    time.sleep(seconds)
    return (position(job) - first) / (time.monotonic() - begun)


def last_counts(out: Path, aggregate: int, groups: int) -> Any:
    """Return the last count of each group that an aggregate has written."""
    found = ds.dataset(out / str(aggregate), format="parquet").to_table()
    counts = np.zeros(groups, dtype=np.int64)
    np.maximum.at(counts, found.column("group").to_numpy(), found.column("n").to_numpy())
    return counts


def right_counts(sizes: Sizes, groups: int) -> Any:
    """Return the counts of all records."""
    total, keys = sizes.records + sizes.live, np.arange(sizes.keys, dtype=np.int64)
    counts = total // sizes.keys + (keys < total % sizes.keys)
    return np.bincount(keys % groups, weights=counts, minlength=groups).astype(np.int64)


def measured(sizes: Sizes, work: Path, at_most: float) -> dict[str, Any]:
    """Run the job, its upgrade, and the changed program from the beginning."""
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path[1:]])
    environment = {**os.environ, "TMPDIR": str(work), "PYTHONPATH": path}
    running: list[subprocess.Popen[bytes]] = []

    def started(line: Sequence[str]) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(line, env=environment, stdout=subprocess.DEVNULL)  # noqa: S603 - ours
        running.append(process)
        return process

    old, new, whole = (work / name for name in ("old", "new", "whole"))
    dir_of = "-Dexecution.checkpointing.dir={}"
    try:
        first = started(command(["run", dir_of.format(old)], sizes, AGGREGATES, work / "out"))
        await_epoch(first, old, at_most)
        before = rate_of(old, 5.0)
        upgrade = ["upgrade", str(old), str(new)]
        begun, reached = time.monotonic(), position(old)
        second = started(command(upgrade, sizes, AGGREGATES + 1, work / "out"))
        while first.poll() is None and second.poll() is None:
            time.sleep(_POLL_SECONDS)
        stopped = time.monotonic()
        meanwhile = (position(old) - reached) / (stopped - begun)
        await_epoch(second, new, at_most)
        ready = time.monotonic()
        for process in (first, second):
            process.wait(at_most)
        third = started(command(["run", dir_of.format(whole)], sizes, AGGREGATES + 1, work / "all"))
        seconds = await_epoch(third, whole, at_most)
    finally:
        for process in running:
            process.kill()
            process.wait()
    groups = groups_of(AGGREGATES, sizes.keys)
    found = last_counts(work / "out", AGGREGATES, groups)
    return {
        "upgrade": round(ready - begun, 1),
        "whole": round(seconds, 1),
        "ratio": round((ready - begun) / seconds, 2),
        "rate_before": round(before),
        "rate_meanwhile": round(meanwhile),
        "pause": round(ready - stopped, 1),
        "is_right": bool((found == right_counts(sizes, groups)).all()),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and report; the exit status is 2 if the answer is wrong."""
    options = _options(arguments)
    if options.job:
        *numbers, aggregates, out = options.job
        run(Sizes(*map(int, numbers)), int(aggregates), Path(out))
        return 0
    sizes = Sizes(options.records, options.live, options.rate, options.keys, options.parallelism)
    with TemporaryDirectory(prefix="evolve-", dir=options.directory) as directory:
        found = measured(sizes, Path(directory), options.at_most * 60)
    where = {"machine": machine(), "versions": versions(), "commit": commit()}
    line = json.dumps({**where, **asdict(sizes), **found})
    sys.stdout.write(f"{line}\n")
    if options.append is not None:
        with options.append.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
    return 0 if found["is_right"] else 2


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--live", type=int, default=600_000)
    parser.add_argument("--rate", type=int, default=2_000, help="live records per second")
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--directory", type=Path, help="where all files go")
    parser.add_argument("--at-most", type=float, default=20.0, help="minutes for each step")
    parser.add_argument("--append", type=Path, help="a file that gets the line of JSON")
    parser.add_argument("--job", nargs=7, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
