"""What a job of the hour has used and holds at a moment."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.coded_hour.job import HEARD
from benchmarks.measuring.processes import members, memory_of
from benchmarks.soak.driver import Drivers

_TICKS = os.sysconf("SC_CLK_TCK")
_UTIME = 11
"""Index of the ticks in user mode behind the name in `/proc/PID/stat`; those in the kernel follow."""


@dataclass(frozen=True, slots=True)
class HourSample:
    """A moment of one job.

    Attributes:
        job: `on` or `off`.
        seconds: Since the jobs were started.
        cpu_seconds: CPU time so far: `driver`, `jvm`, `workers`.
        resident_bytes: Resident memory now of the same; pages that workers share count once each.
        local_bytes: Disk space of the local copies of state.
        records: Records read, of both tables.
        micro_batches: How many were committed.
        checkpoint_bytes: What state takes in the checkpoint, changes that are not compacted included.
        state: Uses of local copies and bytes written, as in `MetricsReported.state`.
    """

    job: str
    seconds: float
    cpu_seconds: Mapping[str, float]
    resident_bytes: Mapping[str, int]
    local_bytes: int
    records: int = 0
    micro_batches: int = 0
    checkpoint_bytes: int = 0
    state: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the form to record."""
        return asdict(self)


class JobSampler:
    """Takes samples of one job.

    Args:
        name: `on` or `off`.
        drivers: The job.
    """

    def __init__(self, name: str, drivers: Drivers) -> None:
        self._name = name
        self._drivers = drivers
        self._spent: dict[int, tuple[str, float]] = {}

    def sample(self, seconds: float) -> HourSample:
        """Return what is so now."""
        resident = dict.fromkeys(("driver", "jvm", "workers"), 0)
        for pid in members(self._drivers.session):
            memory = memory_of(pid)
            if memory is None:
                continue
            kind = "jvm" if memory.name == "java" else "workers"
            kind = "driver" if pid == self._drivers.session else kind
            resident[kind] += memory.resident_bytes
            self._spent[pid] = kind, cpu_seconds(pid)
        spent = dict.fromkeys(resident, 0.0)
        for kind, cpu in self._spent.values():  # of processes that have ended, too
            spent[kind] += cpu
        return HourSample(
            self._name,
            round(seconds, 1),
            {kind: round(cpu, 2) for kind, cpu in spent.items()},
            resident,
            disk_bytes(self._drivers.temporary),
            **self.heard(),
        )

    def heard(self) -> dict[str, Any]:
        """Return what the job has said last; empty before it has."""
        path = self._drivers.work / "out" / HEARD
        found: dict[str, Any] = (
            json.loads(path.read_text(encoding="ascii")) if path.exists() else {}
        )
        return found


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process, 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[_UTIME]) + int(fields[_UTIME + 1])) / _TICKS


def disk_bytes(directory: Path) -> int:
    """Return the disk space of the local copies of state, while they change."""
    total = 0
    for root, _, files in os.walk(directory):
        if "penstock-state" in root:
            for name in files:
                try:
                    total += (Path(root) / name).stat().st_blocks * 512
                except OSError:
                    continue  # removed meanwhile
    return total
