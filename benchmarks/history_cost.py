"""What a long history costs in BATCH: `reduce` over 10^9 records of 10^8 keys, once, with what it holds meanwhile.

    python -m benchmarks.history_cost --records 1000000000 --keys 100000000 --directory /data --append FILE

`python -m benchmarks scale` runs a program three times, to measure warm runs; here the only run is measured, with the start of
Spark in it, and its outputs are those that are checked. The job is a session of processes of its own, all of whose files are below
one directory, and is ended after `--at-most` minutes. Prints memory and disk at each tenth of the time, then a line of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.answers.reduce_records import combine, count_of, key_of, record_maker
from benchmarks.inputs.sources import generated
from benchmarks.measuring.processes import members, memory_of, signal_all
from benchmarks.model.digest import as_text, digest_of
from benchmarks.model.program import Outputs
from benchmarks.model.shape import BATCH, MODES, Shape
from benchmarks.reporting.machine import commit, machine, versions
from benchmarks.reporting.render import table
from benchmarks.systems.digest_sink import DigestSink, read_outputs
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment

_SAMPLE_SECONDS = 2.0
_CHUNK = 10_000_000
_GIB, _MIB = 1 << 30, 1 << 20
_RESULTS, _SPILLED = "results.jsonl", "spilled.json"
_ENDED = 2
"""Exit status when the time was over, or the answer is wrong."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What the job holds at a moment.

    Attributes:
        seconds: Since it was started.
        driver_bytes: Resident size of its driver.
        jvm_bytes: Resident size of its JVM.
        worker_bytes: Resident size of the largest Python worker.
        workers_bytes: Resident size of all Python workers; pages that they share count for each.
        disk_bytes: Size of its files.
    """

    seconds: float
    driver_bytes: int
    jvm_bytes: int
    worker_bytes: int
    workers_bytes: int
    disk_bytes: int

    def __str__(self) -> str:
        driver, jvm, worker, workers = (
            size / _MIB
            for size in (self.driver_bytes, self.jvm_bytes, self.worker_bytes, self.workers_bytes)
        )
        return (
            f"{self.seconds:.0f} s: driver {driver:.0f} MiB, JVM {jvm:.0f} MiB, workers {workers:.0f} MiB, "
            f"the largest {worker:.0f} MiB, disk {self.disk_bytes / _GIB:.2f} GiB"
        )


def run_job(shape: Shape, work: Path) -> None:
    """Run the job; its outputs and what was spilled are files below `work`."""
    settings = {"parallelism.default": str(shape.parallelism), **MODES[shape.mode]}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    (work / "check").touch()
    stream = generated(env, shape, record_maker(shape.keys)).key_by(key_of)
    found = stream.reduce(combine, associative=True)
    found.sink_to(DigestSink(str(work / "check"), str(work / _RESULTS)))
    results = env.execute("history").get_all_accumulator_results()
    spilled = {name: n for name, n in results.items() if "Spilled" in name}
    (work / _SPILLED).write_text(json.dumps(spilled), encoding="utf-8")


def expected(shape: Shape) -> Outputs:
    """Compute the outputs a part after the other: all at once they take more memory than the job."""
    digest, keys = 0, min(shape.keys, shape.total)
    for first in range(0, keys, _CHUNK):
        part = np.arange(first, min(first + _CHUNK, keys), dtype=np.int64)
        counts = count_of(shape, part)
        digest += digest_of(part, part + (counts - 1) * shape.keys, counts)
    return Outputs(keys, as_text(digest))


def sampled(session: int, work: Path, seconds: float) -> Sample:
    """Return what the processes of a session hold, and the files below a directory."""
    found = [memory for pid in members(session) if (memory := memory_of(pid))]
    workers = [
        each.resident_bytes
        for each in found
        if each.pid != session and each.name.startswith("python")
    ]
    return Sample(
        seconds,
        sum(each.resident_bytes for each in found if each.pid == session),
        max((each.resident_bytes for each in found if each.name == "java"), default=0),
        max(workers, default=0),
        sum(workers),
        sum(_sizes(work)),
    )


def _sizes(directory: Path) -> Iterator[int]:
    for root, _, names in os.walk(directory):
        for name in names:
            try:
                yield Path(root, name).lstat().st_size
            except FileNotFoundError:
                continue  # removed in between


def watched(command: Sequence[str], work: Path, at_most: float) -> tuple[int | None, list[Sample]]:
    """Run a command as a session of its own and look at it; return its status, None if it took too long."""
    began = time.monotonic()
    environment = {**os.environ, "TMPDIR": str(work)}
    job = subprocess.Popen(command, start_new_session=True, env=environment)  # noqa: S603 - ours
    samples: list[Sample] = []
    try:
        while job.poll() is None:
            seconds = time.monotonic() - began
            if seconds > at_most:
                return None, samples
            samples.append(sampled(job.pid, work, seconds))
            time.sleep(_SAMPLE_SECONDS)
        samples.append(sampled(job.pid, work, time.monotonic() - began))
        return job.returncode, samples
    finally:
        signal_all(job.pid, signal.SIGKILL)
        job.wait()


def tenths(samples: Sequence[Sample]) -> list[Sample]:
    """Return the samples nearest to each tenth of the time.

    Examples:
        >>> [each.seconds for each in tenths([Sample(s, 0, 0, 0, 0, 0) for s in range(100)])][:3]
        [9, 19, 29]
    """
    last = len(samples) - 1
    return [samples[last * part // 10] for part in range(1, 11)] if samples else []


def report(shape: Shape, samples: Sequence[Sample], spilled: dict[str, Any]) -> dict[str, Any]:
    """Return what a run took, as JSON has it."""
    seconds = samples[-1].seconds
    held = [each.name for each in fields(Sample) if each.name.endswith("_bytes")]
    return {
        "records": shape.records,
        "keys": shape.keys,
        "parallelism": shape.parallelism,
        "seconds": round(seconds, 1),
        "records_per_ms": round(shape.records / seconds / 1000, 1),
        "peaks": {name: max(getattr(each, name) for each in samples) for name in held},
        "spilled": spilled,
        "samples": [asdict(each) for each in tenths(samples)],
    }


def samples_table(line: dict[str, Any]) -> str:
    """Return the memory and disk of a recorded run at every fourth tenth of its time, as a Markdown table."""
    roles = ("driver_bytes", "jvm_bytes", "workers_bytes", "worker_bytes")
    rows = [
        (
            f"{each['seconds']:,.0f} s",
            *(f"{each[role] / _MIB:,.0f} MiB" for role in roles),
            f"{each['disk_bytes'] / _GIB:.1f} GiB",
        )
        # Behind the last full tenth the job has ended.
        for each in line["samples"][:-1:4]
    ]
    return table(("after", "driver", "JVM", "workers", "largest worker", "disk"), rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and report; the exit status is 2 if the time was over or the answer is wrong."""
    options = _options(arguments)
    shape = Shape(options.records, 0, options.keys, options.parallelism, BATCH)
    if options.job:
        run_job(shape, Path(options.job))
        return 0
    with TemporaryDirectory(prefix="history-", dir=options.directory) as directory:
        work = Path(directory)
        sizes = [
            f"--{name}={getattr(options, name)}" for name in ("records", "keys", "parallelism")
        ]
        command = [sys.executable, "-m", "benchmarks.history_cost", *sizes, f"--job={work}"]
        status, samples = watched(command, work, options.at_most * 60)
        for sample in tenths(samples):
            sys.stdout.write(f"{sample}\n")
        if status != 0:
            told = "the time was over" if status is None else f"the job ended with {status}"
            sys.stdout.write(f"{told}\n")
            return _ENDED
        found = read_outputs(work / _RESULTS)
        spilled = json.loads((work / _SPILLED).read_text(encoding="utf-8"))
    wanted = expected(shape)
    where = {"machine": machine(), "versions": versions(), "commit": commit()}
    line = json.dumps(where | report(shape, samples, spilled) | {"is_right": found == wanted})
    sys.stdout.write(f"{line}\n")
    if options.append is not None:
        with options.append.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
    return 0 if found == wanted else _ENDED


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--records", type=int, default=1_000_000_000)
    parser.add_argument("--keys", type=int, default=100_000_000)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--directory", type=Path, help="where all files go; 60 GB for 10^9 records")
    parser.add_argument("--at-most", type=float, default=24.0, help="minutes")
    parser.add_argument("--append", type=Path, help="a file that gets the line of JSON")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
