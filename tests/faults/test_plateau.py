"""A thousand epochs of each of two jobs in one process: memory, descriptors and files stay flat.

What the third quarter of the run held is compared with what the last one does.

Can find: what grows with the number of micro-batches, anywhere between driver, JVM, workers and
checkpoint directory. Cannot find: what grows with keys or records of one micro-batch.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import median

from tests.faults.drivers import ROOT, SECONDS
from tests.faults.jobs.plateau import BACKENDS, HEAP
from tests.faults.processes import processes_below, wait_for, workers_below

JOB = ROOT / "tests" / "faults" / "jobs" / "plateau.py"
SAMPLES = 40
EPOCHS = 1000
MB = 1 << 20
MOST_FILES = 600
"""Of both jobs at any time. A loop has a base after 128 records at the latest."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Sample:
    """What the processes hold after some micro-batches; sizes are of resident memory.

    Attributes:
        driver_bytes: Of the driver.
        jvm_bytes: Of its JVM, with a heap that is there as a whole from the beginning.
        heap_bytes: What is in use of that heap, a few seconds ago, once the collector had run.
        worker_bytes: Of the largest Python worker.
        workers: How many there are.
        descriptors: Open in driver, JVM and the worker that has most.
        files: In the checkpoint directories.
    """

    driver_bytes: int
    jvm_bytes: int
    heap_bytes: int
    worker_bytes: int
    workers: int
    descriptors: int
    files: int


MAY_GROW = Sample(
    driver_bytes=8 * MB,
    jvm_bytes=24 * MB,  # what is beside the heap: compiled code, RocksDB
    heap_bytes=10 * MB,
    worker_bytes=8 * MB,
    workers=4,
    descriptors=24,
    files=60,  # of two loops, which merge their records at different times
)
"""From the third quarter to the last one, by median. That is 500 epochs: of what leaks 60 kB or a file
in each, every number here sees less."""


def taken(driver: int, directory: Path) -> Sample:
    jvms = [p.pid for p in processes_below(driver) if "java" in p.command.split(" ")[0]]
    workers = workers_below(driver)
    return Sample(
        _resident(driver),
        sum(map(_resident, jvms)),
        _heap(directory),
        max(map(_resident, workers), default=0),
        len(workers),
        _descriptors(driver)
        + sum(map(_descriptors, jvms))
        + max(map(_descriptors, workers), default=0),
        sum(1 for backend in BACKENDS for path in (directory / backend).rglob("*")),
    )


def _resident(pid: int) -> int:
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except OSError:
        return 0  # ended meanwhile
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _heap(directory: Path) -> int:
    try:
        return int((directory / HEAP).read_text())
    except OSError:
        return 0  # not looked at yet


def _descriptors(pid: int) -> int:
    try:
        return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return 0


def committed(directory: Path) -> int:
    """Return how many micro-batches the slower of the jobs has committed."""

    def last(commits: Iterable[Path]) -> int:
        return max((int(path.name) for path in commits), default=-1) + 1

    return min(
        last((directory / name / "run-0" / "epochs" / "records").glob("[0-9]*"))
        for name in BACKENDS
    )


def test_nothing_grows_with_the_number_of_epochs(tmp_path: Path) -> None:
    samples = samples_of(tmp_path, EPOCHS)
    for number, sample in samples.items():
        _logger.warning("%d: %s", number, sample)
    before = [s for number, s in samples.items() if 2 <= 4 * number / EPOCHS < 3]
    after = [s for number, s in samples.items() if 4 * number / EPOCHS >= 3]
    assert len(before) > SAMPLES // 8
    assert len(after) > SAMPLES // 8
    for field in fields(Sample):
        first, then = (median(getattr(s, field.name) for s in part) for part in (before, after))
        _logger.warning("%s: %d then %d", field.name, first, then)
        assert first > 0, f"{field.name} is not measured"
        allowed = getattr(MAY_GROW, field.name)
        assert then - first <= allowed, f"{field.name} grows: {first:,.0f} to {then:,.0f}"
    assert max(sample.files for sample in samples.values()) <= MOST_FILES


def samples_of(directory: Path, micro_batches: int) -> dict[int, Sample]:
    """Run the jobs; return the samples, each with how many micro-batches there were."""
    samples: dict[int, Sample] = {}
    every = micro_batches // SAMPLES
    process = subprocess.Popen(
        [sys.executable, str(JOB), str(directory), str(micro_batches + every)],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        for number in range(every, micro_batches + 1, every):
            wait_for(
                lambda: committed(directory) >= number or process.poll() is not None,  # noqa: B023
                SECONDS,
                f"{committed(directory)} of {number} micro-batches",
            )
            if process.poll() is not None:
                break
            samples[number] = taken(process.pid, directory)
        output, _ = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    assert process.returncode == 0, output
    return samples
