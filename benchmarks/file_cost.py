"""What many files cost the driver: seconds and memory of listing, giving positions, and recording, without Spark.

    python -m benchmarks.file_cost --files 1000000
    python -m benchmarks.file_cost --files 100000 --job

Each step runs in a process of its own and prints its seconds, and how much more memory the process had at its
peak than before the step, in all and per file. The files are made first, 1,000 per directory, and removed in the end.

    list      lists a monitored path
    pin       lists it and gives every file a position, as many at once as a live run does
    open      reads the log of these positions, as the next driver does
    history   records the pinned files of a bounded source, and reads the record
    job       (--job) a batch job that counts the rows of all files; its JVM is another process
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.config.options import MAX_FILES_PER_BATCH
from penstock.connectors.files.file_source import FileSource
from penstock.connectors.files.local_listing import every_file, list_local, listed_file
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.plan.phases.backlog import catch_up_factor
from penstock.spark.sources.file_paths import uri_of
from penstock.spark.sources.listing.file_log import FileLog
from penstock.spark.sources.listing.file_readings import FileCaps, ListedReading, Lister
from penstock.spark.sources.pinned_files import PinnedFiles
from penstock.wire.atomic_file import read_verified, write_verified

FILES_PER_DIRECTORY = 1_000
ROW = Types.ROW_NAMED(["n"], [Types.LONG()])
_KIB = 1024


def make(data: Path, files: int) -> None:
    """Write files with one record each."""
    for number in range(files):
        directory = data / f"group={number // FILES_PER_DIRECTORY:06d}"
        if number % FILES_PER_DIRECTORY == 0:
            directory.mkdir(parents=True)
        (directory / f"part-{number:09d}.json").write_text(f'{{"n": {number}}}\n')


def list_files(data: Path, work: Path) -> int:
    """List them."""
    del work
    return len(list_local([str(data)], every_file))


def pin(data: Path, work: Path) -> int:
    """Give all of them positions."""
    reading = _reading(data, work)
    reading.open(0)
    at = 0
    while (until := reading.advance(at)) > at:
        reading.forget_before(until)
        at = until
    return at


def open_log(data: Path, work: Path) -> int:
    """Read the positions that `pin` has given, as if all files were read."""
    reading, log = _reading(data, work), work / "log"
    last = max(log.glob("[0-9]*-[0-9]*"))
    reading.open(int(last.name.partition("-")[0]))
    return reading.files_left(0)


def _reading(data: Path, work: Path) -> ListedReading:
    configuration = Configuration()
    factor = catch_up_factor(configuration, MAX_FILES_PER_BATCH)
    caps = FileCaps(configuration.get(MAX_FILES_PER_BATCH), factor)
    lister = Lister(partial(list_local, [str(data)]), lambda name: listed_file(_path(name)), 0.0)
    return ListedReading(0, caps, FileLog(work / "log", _always), lister)


def _path(name: str) -> str:
    return name.removeprefix("file:")


def _always() -> None:
    """Allow it."""


def history(data: Path, work: Path) -> int:
    """Record what a bounded source has pinned, and read the record."""
    found = list_local([str(data)], every_file)
    pinned = PinnedFiles({uri_of(name): (size, time_ms) for time_ms, name, size in found}, "{}")
    del found
    path = work / "run-0.pinned.json"
    write_verified(path, {"files": {"0.0": pinned.to_json()}})
    del pinned
    return len(PinnedFiles.from_json(read_verified(path)["files"]["0.0"]).files)


def job(data: Path, work: Path) -> int:
    """Count the rows of all files as a batch."""
    settings = {
        "execution.runtime-mode": "BATCH",
        "execution.checkpointing.dir": str(work / "job"),
        "parallelism.default": 2,
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    rows = env.from_source(FileSource.json(data, ROW), WatermarkStrategy.no_watermarks(), "rows")
    pairs = rows.map(lambda row: (row.n % 10, 1), Types.TUPLE([Types.LONG(), Types.LONG()]))
    pairs.key_by(lambda pair: pair[0]).sum(1).sink_to(DiscardingSink())
    return sum(run.records for run in env.execute("files").runs)


STEPS: dict[str, Callable[[Path, Path], int]] = {
    "list": list_files,
    "pin": pin,
    "open": open_log,
    "history": history,
    "job": job,
}


def measured(step: str, data: Path, work: Path) -> tuple[int, float, int]:
    """Return how many files a step had, its seconds, and the bytes by which the peak of the process grew."""
    before = _peak_bytes()
    started = time.perf_counter()
    count = STEPS[step](data, work)
    return count, time.perf_counter() - started, _peak_bytes() - before


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB


def main(arguments: list[str]) -> int:
    """Measure and print; return 1 if a step did not see every file."""
    parser = argparse.ArgumentParser(description="Seconds and memory of many files.")
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--job", action="store_true")
    given = parser.parse_args(arguments)
    status = 0
    processes = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="penstock-files-") as root:
        data, work = Path(root, "data"), Path(root, "work")
        work.mkdir()
        make(data, given.files)
        for step in [step for step in STEPS if given.job or step != "job"]:
            with processes.Pool(1) as pool:
                count, seconds, grown = pool.apply(measured, (step, data, work))
            sys.stdout.write(
                f"{step}: {count:,} files, {seconds:.1f} s, {grown / _KIB / _KIB:.0f} MiB, "
                f"{grown / given.files:.0f} bytes a file\n"
            )
            if count != given.files:
                sys.stdout.write(f"{step}: {given.files - count:,} files are missing\n")
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
