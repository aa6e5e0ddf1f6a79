"""What a long past costs the driver of a live run: 10^5 files in 10^4 micro-batches, then a start after all that.

    python -m benchmarks.driver_cost --files 100000 --per-batch 10

The files are there before the job starts, and each micro-batch takes as many as it is told. Each phase runs in a process of its
own, with a JVM of its own. Prints, for each tenth of the files, milliseconds per micro-batch, memory of driver and JVM,
and files in the checkpoint directory, and how much each grows per 1,000 micro-batches; then the seconds from a start to the
first micro-batch, with all the past and with none.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.pool import Pool
from pathlib import Path
from statistics import linear_regression

from benchmarks.file_cost import ROW, make
from benchmarks.measuring.processes import members, memory_of
from penstock.common import Configuration, JobClient, Types, WatermarkStrategy
from penstock.connectors.files.file_source import FileSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import StreamExecutionEnvironment

TENTHS = 10
_POLL_SECONDS = 0.02
_MIB = 1 << 20


def start(data: Path, job: Path, per_batch: int) -> JobClient:
    """Start the live run over all files of a directory."""
    settings = {
        "execution.runtime-mode": "STREAMING",
        "execution.checkpointing.dir": str(job),
        "execution.live.max-files-per-batch": per_batch,
        "execution.live.catch-up-factor": 1,
        "parallelism.default": 2,
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    source = FileSource.json(data, ROW).monitor_continuously()
    rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "rows")
    pairs = rows.map(lambda row: (row.n % 10, 1), Types.TUPLE([Types.LONG(), Types.LONG()]))
    pairs.key_by(lambda pair: pair[0]).sum(1).uid("counts").sink_to(DiscardingSink()).uid("out")
    return env.execute_async("long past")


def committed(job: Path) -> int:
    """Return how many micro-batches are recorded."""
    records = (job / "run-0" / "epochs" / "records").glob("[0-9]*")
    return max((int(path.name) for path in records), default=-1) + 1


def wait_until(client: JobClient, job: Path, micro_batches: int) -> float:
    """Wait for so many micro-batches; return the time of the clock then.

    Raises:
        PenstockError: The job has failed.
    """
    while committed(job) < micro_batches:
        if client.get_job_execution_result().done():
            client.get_job_execution_result().result()
        time.sleep(_POLL_SECONDS)
    return time.perf_counter()


@dataclass(frozen=True, slots=True)
class Sample:
    """What a tenth of the past took, and what there was after it.

    Attributes:
        micro_batches: How many are committed.
        milliseconds: Of each micro-batch of this tenth, on average.
        driver_bytes: Resident size of the driver.
        jvm_bytes: Resident size of its JVM.
        files: Files in the checkpoint directory.
    """

    micro_batches: int
    milliseconds: float
    driver_bytes: int
    jvm_bytes: int
    files: int

    def __str__(self) -> str:
        return f"{self.micro_batches:,} micro-batches: {self.milliseconds:.0f} ms each, {held_text(self)}"


def held_text(sample: Sample) -> str:
    """Return memory and files of a sample as text."""
    driver, jvm = (size / _MIB for size in (sample.driver_bytes, sample.jvm_bytes))
    return f"driver {driver:.0f} MiB, JVM {jvm:.0f} MiB, {sample.files} files"


def sampled(job: Path, micro_batches: int, milliseconds: float) -> Sample:
    """Return what driver and JVM have in memory now, and how many files the job has."""
    found = [memory for pid in members(os.getpid()) if (memory := memory_of(pid))]
    return Sample(
        micro_batches,
        milliseconds,
        sum(each.resident_bytes for each in found if each.pid == os.getpid()),
        sum(each.resident_bytes for each in found if each.name == "java"),
        sum(path.is_file() for path in job.rglob("*")),
    )


def slope(samples: Sequence[Sample], of: Callable[[Sample], float]) -> float:
    """Return how much more of something there is per micro-batch, by least squares."""
    found = linear_regression([s.micro_batches for s in samples], [of(s) for s in samples])
    return found.slope


def slopes_text(samples: Sequence[Sample]) -> str:
    """Return what grows with the past, per 1,000 micro-batches; the first tenth is not in it: caches fill."""
    later = samples[1:]
    milliseconds, driver, jvm, files = (
        slope(later, of) * 1_000
        for of in (
            lambda s: s.milliseconds,
            lambda s: s.driver_bytes / _MIB,
            lambda s: s.jvm_bytes / _MIB,
            lambda s: s.files,
        )
    )
    return (
        f"per 1,000 micro-batches: {milliseconds:+.1f} ms each, driver {driver:+.1f} MiB, "
        f"JVM {jvm:+.1f} MiB, {files:+.1f} files"
    )


def read_all(data: Path, job: Path, files: int, per_batch: int) -> list[Sample]:
    """Read all files; print and return what each tenth took."""
    client = start(data, job, per_batch)
    last = wait_until(client, job, 1)
    done, total = 1, files // per_batch
    samples: list[Sample] = []
    for tenth in range(1, TENTHS + 1):
        until = total * tenth // TENTHS
        now = wait_until(client, job, until)
        milliseconds = (now - last) / max(until - done, 1) * 1000
        samples.append(sampled(job, until, milliseconds))
        sys.stdout.write(f"{samples[-1]}\n")
        sys.stdout.flush()
        last, done = now, until
    client.cancel()
    return samples


def first_of(data: Path, job: Path, name: str, per_batch: int) -> None:
    """Let one more file arrive and print how long a new driver takes to read it."""
    begun = time.perf_counter()
    before = committed(job)
    client = start(data, job, per_batch)
    seconds = wait_until(client, job, before + 1) - begun
    told = held_text(sampled(job, before + 1, seconds * 1000))
    sys.stdout.write(f"{name}: {seconds:.1f} s to the first micro-batch, {told}\n")
    sys.stdout.flush()
    client.cancel()


def phase() -> Pool:
    """Return a process for a phase. It leads a session, by which its JVM is found."""
    return multiprocessing.get_context("spawn").Pool(1, initializer=os.setsid)


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What a long past costs the driver.")
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--per-batch", type=int, default=10)
    given = parser.parse_args(arguments)
    if given.files < TENTHS * given.per_batch:
        parser.error(f"there must be {TENTHS} micro-batches or more")
    with tempfile.TemporaryDirectory(prefix="penstock-driver-") as root:
        data, none = Path(root, "data"), Path(root, "none")
        make(data, given.files)
        make(none, 1)
        job = Path(root, "job")
        with phase() as pool:
            samples = pool.apply(read_all, (data, job, given.files, given.per_batch))
        sys.stdout.write(f"{slopes_text(samples)}\n")
        (data / "one-more.json").write_text('{"n": 1}\n', encoding="ascii")
        for name, files, of in (
            ("with all the past", data, job),
            ("new", none, Path(root, "new")),
        ):
            with phase() as pool:
                pool.apply(first_of, (files, of, name, given.per_batch))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
