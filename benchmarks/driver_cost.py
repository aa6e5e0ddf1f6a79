"""What a long past costs the driver of a live run: 10^5 files in 10^4 micro-batches, then a start after all that.

    python -m benchmarks.driver_cost --files 100000 --per-batch 10

The files are there before the job starts, and each micro-batch takes as many as it is told. Each phase runs in a process of its
own, with a JVM of its own. Prints, for each tenth of the files, milliseconds per micro-batch, memory of driver and JVM,
and files in the checkpoint directory; then the seconds from a start to the first micro-batch, with all the past and with
none.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.file_cost import ROW, make
from benchmarks.measuring.processes import members, memory_of
from penstock.common import Configuration, JobClient, Types, WatermarkStrategy
from penstock.connectors.files.file_source import FileSource
from penstock.connectors.python.discard import DiscardingSink
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


def held(job: Path) -> str:
    """Return what driver and JVM have in memory, and how many files the job has."""
    found = [memory for pid in members(os.getpid()) if (memory := memory_of(pid))]
    driver = sum(each.resident_bytes for each in found if each.pid == os.getpid())
    jvm = sum(each.resident_bytes for each in found if each.name == "java")
    files = sum(path.is_file() for path in job.rglob("*"))
    return f"driver {driver / _MIB:.0f} MiB, JVM {jvm / _MIB:.0f} MiB, {files} files"


def read_all(data: Path, job: Path, files: int, per_batch: int) -> None:
    """Read all files; print what each tenth took."""
    os.setsid()  # the processes of the phase are found by their session
    client = start(data, job, per_batch)
    last = wait_until(client, job, 1)
    done, total = 1, files // per_batch
    for tenth in range(1, TENTHS + 1):
        until = total * tenth // TENTHS
        now = wait_until(client, job, until)
        milliseconds = (now - last) / max(until - done, 1) * 1000
        sys.stdout.write(f"{until:,} micro-batches: {milliseconds:.0f} ms each, {held(job)}\n")
        sys.stdout.flush()
        last, done = now, until
    client.cancel()


def first_of(data: Path, job: Path, name: str, per_batch: int) -> None:
    """Let one more file arrive and print how long a new driver takes to read it."""
    os.setsid()
    begun = time.perf_counter()
    before = committed(job)
    client = start(data, job, per_batch)
    seconds = wait_until(client, job, before + 1) - begun
    sys.stdout.write(f"{name}: {seconds:.1f} s to the first micro-batch, {held(job)}\n")
    sys.stdout.flush()
    client.cancel()


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What a long past costs the driver.")
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--per-batch", type=int, default=10)
    given = parser.parse_args(arguments)
    processes = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="penstock-driver-") as root:
        data, none = Path(root, "data"), Path(root, "none")
        make(data, given.files)
        make(none, 1)
        job = Path(root, "job")
        with processes.Pool(1) as pool:
            pool.apply(read_all, (data, job, given.files, given.per_batch))
        (data / "one-more.json").write_text('{"n": 1}\n', encoding="ascii")
        for name, files, of in (
            ("with all the past", data, job),
            ("new", none, Path(root, "new")),
        ):
            with processes.Pool(1) as pool:
                pool.apply(first_of, (files, of, name, given.per_batch))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
