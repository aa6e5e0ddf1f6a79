"""A job of ours whose latency is measured: it runs until it is cancelled, and its sink notes arrivals."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from benchmarks.systems.arrival_sink import read_arrivals
from benchmarks.systems.latency_system import Events, LatencySystem
from penstock.api.environment.job import JobClient
from penstock.common import JobStatus
from penstock.errors import JobCancelledError


class PenstockLatency(LatencySystem):
    """Follows the job that `start` submits as `_job`, whose `ArrivalSink` writes to `_arrivals`."""

    _job: JobClient
    _arrivals: Path

    def check_alive(self) -> None:
        """Raise what ended the job."""
        if self._job.get_job_status().result() is not JobStatus.RUNNING:
            self._job.get_job_execution_result().result()
            raise RuntimeError("the job ended by itself")

    def arrivals(self) -> Iterable[tuple[int, Events]]:
        """Return what the sink noted."""
        return read_arrivals(self._arrivals)

    def close(self) -> None:
        """Cancel the job."""
        self._job.cancel()
        try:
            self._job.get_job_execution_result().result()
        except JobCancelledError:
            return
