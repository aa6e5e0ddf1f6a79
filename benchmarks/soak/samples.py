"""What the processes of the job hold at a moment, and how fast results came since the last one."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring.processes import ProcessMemory, members, memory_of

_QUANTILES = {"p50": 0.5, "p99": 0.99, "max": 1.0}


@dataclass(frozen=True, slots=True)
class Sample:
    """A moment of the soak; sizes are of resident memory now.

    Attributes:
        seconds: Since the first driver started.
        driver: Number of the driver, from 0.
        driver_bytes: Of the driver.
        jvm_bytes: Of its JVM.
        worker_bytes: Of the largest Python worker.
        workers: How many there are.
        descriptors: Open in all processes of the job.
        job_files: In its checkpoint directory.
        temporary_files: In its directory of temporary files, Spark's included.
        input_files: That the feed has written.
        results: That were seen since the last sample.
        latency_ms: `p50`, `p99` and `max` of these; empty if there were none.
    """

    seconds: float
    driver: int
    driver_bytes: int
    jvm_bytes: int
    worker_bytes: int
    workers: int
    descriptors: int
    job_files: int
    temporary_files: int
    input_files: int
    results: int
    latency_ms: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        """Return the form to record."""
        return asdict(self)


def processes_held(session: int) -> dict[str, int]:
    """Return the fields of a `Sample` about the processes of a session, which the driver leads."""
    pids = members(session)
    memory = [found for pid in pids if (found := memory_of(pid))]
    others = [found for found in memory if found.pid != session]
    workers = [found for found in others if found.name.startswith("python")]
    return {
        "driver_bytes": _largest(found for found in memory if found.pid == session),
        "jvm_bytes": _largest(found for found in others if found.name == "java"),
        "worker_bytes": _largest(workers),
        "workers": len(workers),
        "descriptors": sum(map(_descriptors, pids)),
    }


def _largest(found: Iterable[ProcessMemory]) -> int:
    return max((each.resident_bytes for each in found), default=0)


def _descriptors(pid: int) -> int:
    try:
        return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return 0  # ended meanwhile


def files_below(directory: Path) -> int:
    """Return how many files there are in a directory that changes meanwhile."""
    return sum(len(files) for _, _, files in os.walk(directory))


def quantiles(latencies_ms: np.ndarray) -> dict[str, float]:
    """Return the quantiles of latencies.

    >>> quantiles(np.array([1, 2, 3]))
    {'p50': 2.0, 'p99': 3.0, 'max': 3.0}
    >>> quantiles(np.array([]))
    {}
    """
    if not len(latencies_ms):
        return {}
    at = np.quantile(latencies_ms, list(_QUANTILES.values()))
    return {name: float(round(value)) for name, value in zip(_QUANTILES, at, strict=True)}
