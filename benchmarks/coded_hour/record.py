"""The record of the hour: a file of JSON lines, and its table.

{"begin": {...}}        what was asked for, machine, versions
{"sample": {...}}       an `HourSample`, of each job every few seconds, while it runs
{"columns": {...}}      the samples of a job as columns, once it has ended: those that the picture shows
{"end": {...}}          records, results of each job and those that they should have
{"rows": {...}}         bytes of a row in several encodings (`coded_hour.rows`)
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measuring.series import as_columns, as_samples

JOBS = ("on", "off")
"""Coded rows on and off."""

KEPT = (
    "seconds",
    "cpu_seconds.driver",
    "cpu_seconds.jvm",
    "cpu_seconds.workers",
    "resident_bytes.jvm",
    "resident_bytes.workers",
    "local_bytes",
    "checkpoint_bytes",
)
"""Fields of a sample that the picture shows."""

EVERY = 4
"""The picture needs every fourth sample."""

_MIB = 1 << 20


@dataclass(slots=True)
class HourRecord:
    """What was recorded.

    Attributes:
        begin: What was asked for.
        samples: Of both jobs, in order of time.
        end: How it ended; empty if it was stopped.
        rows: Bytes of a row in several encodings; empty if they were not computed.
    """

    begin: dict[str, Any] = field(default_factory=dict)
    samples: list[dict[str, Any]] = field(default_factory=list)
    end: dict[str, Any] = field(default_factory=dict)
    rows: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> HourRecord:
        """Read a file of JSON lines."""
        record = cls()
        for line in path.read_text(encoding="utf-8").splitlines():
            ((kind, value),) = json.loads(line).items()
            if kind == "sample":
                record.samples.append(value)
            elif kind == "columns":
                job = {"job": value.pop("job")}
                record.samples += [job | sample for sample in as_samples(value)]
            else:
                setattr(record, kind, value)
        return record

    def write(self, path: Path) -> None:
        """Write the record with every fourth sample of a job as columns, and its last one whole."""
        lines: list[dict[str, Any]] = [{"begin": self.begin}]
        for job in JOBS:
            samples = self.of(job)
            kept = as_columns(samples[:-1:EVERY], KEPT)
            lines += [{"columns": {"job": job} | kept}, {"sample": samples[-1]}]
        lines += [{"end": self.end}, *([{"rows": self.rows}] if self.rows else [])]
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        path.write_text(text, encoding="utf-8")

    def of(self, job: str) -> list[dict[str, Any]]:
        """Return the samples of one job."""
        return [sample for sample in self.samples if sample["job"] == job]

    @property
    def differences(self) -> list[str]:
        """How the results differ from what they should be."""
        if not self.end:
            return ["it did not run to its end"]
        return [
            f"{job}: {self.end['results'][job]} instead of {self.end['expected']}"
            for job in JOBS
            if self.end["results"][job] != self.end["expected"]
        ]


def cpu_of_second_half(samples: list[dict[str, Any]]) -> float:
    """Return the cores in use from the middle to the end, when the JVM has compiled what it will."""
    middle, last = samples[len(samples) // 2], samples[-1]
    spent = sum(last["cpu_seconds"].values()) - sum(middle["cpu_seconds"].values())
    return float(spent / (last["seconds"] - middle["seconds"]))


_ROWS: dict[str, Callable[[list[dict[str, Any]]], str]] = {
    "records read": lambda samples: f"{samples[-1]['records']:,}",
    "micro-batches": lambda samples: f"{samples[-1]['micro_batches']:,}",
    "CPU time, all processes": lambda samples: f"{sum(samples[-1]['cpu_seconds'].values()):,.0f} s",
    "of it workers": lambda samples: f"{samples[-1]['cpu_seconds']['workers']:,.0f} s",
    "cores in use, second half": lambda samples: f"{cpu_of_second_half(samples):.2f}",
    "resident at the end, JVM": lambda samples: _mib(samples[-1]["resident_bytes"]["jvm"]),
    "resident at the end, workers together": lambda samples: _mib(
        samples[-1]["resident_bytes"]["workers"]
    ),
    "state in the checkpoint": lambda samples: _mib(samples[-1]["checkpoint_bytes"]),
    "changes logged": lambda samples: _mib(samples[-1]["state"].get("log_bytes", 0)),
    "written by compaction": lambda samples: _mib(samples[-1]["state"].get("compaction_bytes", 0)),
    "local copies on disk": lambda samples: _mib(samples[-1]["local_bytes"]),
}
"""Row of the table to what it shows of the samples of a job."""


def table(record: HourRecord) -> str:
    """Return the figures as a table of Markdown."""
    lines = ["| | coded rows on | off |", "|---|---|---|"]
    by_job = [record.of(job) for job in JOBS]
    lines += [
        f"| {name} | {' | '.join(show(samples) for samples in by_job)} |"
        for name, show in _ROWS.items()
    ]
    return "\n".join(lines) + "\n"


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / _MIB:,.0f} MiB"
