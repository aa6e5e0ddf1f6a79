"""The record of a soak: a file of JSON lines, its table and what grew.

{"begin": {...}}        what was asked for, machine, versions
{"sample": {...}}       a `Sample`, every few seconds, while it runs
{"samples": {...}}      all of them as columns, once it has ended
{"stopped": {...}}      signal, when, seconds until nothing of the job ran
{"end": {...}}          records, results, differences
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.measuring.series import as_columns, as_samples

MAY_GROW = 0.2
"""Share by which a measure may grow."""

_MIB = 1 << 20

MEASURES: dict[str, tuple[str, int]] = {
    "driver_bytes": ("driver", 16 * _MIB),
    "jvm_bytes": ("JVM", 64 * _MIB),
    "worker_bytes": ("largest worker", 16 * _MIB),
    "descriptors": ("descriptors", 40),
    "job_files": ("files of the checkpoint directory", 60),
    "temporary_files": ("temporary files", 60),
}
"""Measure to its name, and what it may grow by however small it is: more than it goes up and down by chance."""

_QUARTERS = 4

KEPT = ("seconds", *MEASURES, "latency_ms.p50", "latency_ms.p99", "latency_ms.max")
"""Fields of a sample that the picture and the table show."""


@dataclass(slots=True)
class SoakRecord:
    """What was recorded.

    Attributes:
        begin: What was asked for.
        samples: In order of time.
        stopped: Ends of drivers, in order of time.
        end: How it ended; empty if it was stopped.
    """

    begin: dict[str, Any] = field(default_factory=dict)
    samples: list[dict[str, Any]] = field(default_factory=list)
    stopped: list[dict[str, Any]] = field(default_factory=list)
    end: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> SoakRecord:
        """Read a file of JSON lines."""
        record = cls()
        for line in path.read_text(encoding="utf-8").splitlines():
            ((kind, value),) = json.loads(line).items()
            record.add(kind, value)
        return record

    def write(self, path: Path) -> None:
        """Write the record with its samples as columns."""
        lines: list[dict[str, Any]] = [
            {"begin": self.begin},
            {"samples": as_columns(self.samples, KEPT)},
            *({"stopped": stopped} for stopped in self.stopped),
            {"end": self.end},
        ]
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        path.write_text(text, encoding="utf-8")

    def add(self, kind: str, value: dict[str, Any]) -> None:
        """Add a line."""
        if kind == "sample":
            self.samples.append(value)
        elif kind == "samples":
            self.samples = as_samples(value)
        elif kind == "stopped":
            self.stopped.append(value)
        else:
            setattr(self, kind, value)


@dataclass(frozen=True, slots=True)
class Growth:
    """What a measure was and became.

    Attributes:
        measure: Field of a sample.
        before: Median of the second quarter; in the first one caches fill.
        after: Median of the last quarter.
    """

    measure: str
    before: float
    after: float

    @property
    def is_too_much(self) -> bool:
        """Whether it grew by more than it may."""
        allowed = max(MAY_GROW * self.before, MEASURES[self.measure][1])
        return self.after - self.before > allowed


def growths(samples: Sequence[dict[str, Any]]) -> list[Growth]:
    """Return what became of each measure, from the second quarter of the samples to the last one."""
    quarter = len(samples) // _QUARTERS
    second, last = samples[quarter : 2 * quarter], samples[len(samples) - quarter :]
    return [
        Growth(
            name, *(median(each[name] for each in part) if part else 0 for part in (second, last))
        )
        for name in MEASURES
    ]


def table(record: SoakRecord) -> str:
    """Return the figures of a soak as a table of Markdown."""
    lines = ["| | second quarter | last quarter |", "|---|---|---|"]
    for each in growths(record.samples):
        name = MEASURES[each.measure][0]
        figures = (_shown(each.measure, value) for value in (each.before, each.after))
        lines.append(f"| {name} | {' | '.join(figures)} |")
    quarter = len(record.samples) // _QUARTERS
    parts = record.samples[quarter : 2 * quarter], record.samples[-quarter:]
    for name in ("p50", "p99"):
        found = [[s["latency_ms"][name] for s in part if s["latency_ms"]] for part in parts]
        shown = (f"{median(values):,.0f} ms" if values else "" for values in found)
        lines.append(
            f"| latency, {name} of {record.begin['sample_seconds']:g} s | {' | '.join(shown)} |"
        )
    return "\n".join(lines) + "\n"


def _shown(measure: str, value: float) -> str:
    return f"{value / _MIB:,.0f} MiB" if measure.endswith("_bytes") else f"{value:,.0f}"
