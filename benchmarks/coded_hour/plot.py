"""The picture of the hour: CPU, memory, state and the use of local copies over time."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from benchmarks.coded_hour.record import JOBS, HourRecord
from benchmarks.reporting.plots import SETTINGS

_MIB = 1 << 20
_MINUTE = 60.0
_COLOURS = {"on": "#1f6f8b", "off": "#c2553f"}
_SMOOTHED = 60.0
"""Seconds of which CPU is the mean."""


def draw(record: HourRecord, path: Path) -> None:
    """Write the picture; the ending of the path decides how."""
    with rc_context(SETTINGS):
        figure = Figure(figsize=(8.0, 7.2), layout="constrained")
        panels = figure.subplots(4, 1, sharex=True)
        for job in JOBS:
            samples, colour = record.of(job), _COLOURS[job]
            minutes = [sample["seconds"] / _MINUTE for sample in samples]
            at, cores = _cores(samples)
            panels[0].plot(at, cores, color=colour, label=f"coded rows {job}", linewidth=0.9)
            for kind, style in (("jvm", "-"), ("workers", "--")):
                held = [sample["resident_bytes"][kind] / _MIB for sample in samples]
                panels[1].plot(
                    minutes, held, style, color=colour, label=f"{kind}, {job}", linewidth=0.9
                )
            for panel, name in ((panels[2], "checkpoint_bytes"), (panels[3], "local_bytes")):
                sizes = [sample[name] / _MIB for sample in samples]
                panel.plot(minutes, sizes, color=colour, label=f"coded rows {job}", linewidth=0.9)
        labels = ("cores in use", "resident, MiB", "checkpoint, MiB", "local copies, MiB")
        for panel, label in zip(panels, labels, strict=True):
            panel.set_ylabel(label)
            panel.set_ylim(bottom=0)
            panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        panels[3].set_xlabel("minutes")
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _cores(samples: list[dict[str, Any]]) -> tuple[list[float], list[float]]:
    """Return minutes and cores in use, each the mean of some samples."""
    kept = samples[:1]
    for sample in samples:
        if sample["seconds"] - kept[-1]["seconds"] >= _SMOOTHED:
            kept.append(sample)
    spans = [
        (
            after["seconds"] / _MINUTE,
            (sum(after["cpu_seconds"].values()) - sum(before["cpu_seconds"].values()))
            / (after["seconds"] - before["seconds"]),
        )
        for before, after in pairwise(kept)
    ]
    return [at for at, _ in spans], [cores for _, cores in spans]
