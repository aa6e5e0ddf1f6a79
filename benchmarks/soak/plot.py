"""The picture of a soak: memory, descriptors, files and latency over time, with the ends of drivers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.reporting.plots import SETTINGS
from benchmarks.soak.record import SoakRecord

_MIB = 1 << 20
_MINUTE = 60.0
_STOPPED = {"SIGTERM": "#b9b4a7", "SIGKILL": "#c2553f"}
"""Signal to the colour of its lines."""


def draw(record: SoakRecord, path: Path) -> None:
    """Write the picture; the ending of the path decides how."""
    with rc_context(SETTINGS):
        figure = Figure(figsize=(8.0, 8.0), layout="constrained")
        panels = figure.subplots(4, 1, sharex=True)
        minutes = [sample["seconds"] / _MINUTE for sample in record.samples]
        _lines(
            panels[0],
            minutes,
            "resident, MiB",
            {
                "JVM": _bytes(record, "jvm_bytes"),
                "driver": _bytes(record, "driver_bytes"),
                "largest worker": _bytes(record, "worker_bytes"),
            },
        )
        _lines(
            panels[1], minutes, "open descriptors", {"all processes": _of(record, "descriptors")}
        )
        _lines(
            panels[2],
            minutes,
            "files",
            {
                "checkpoint directory": _of(record, "job_files"),
                "temporary": _of(record, "temporary_files"),
            },
        )
        for name in ("max", "p99", "p50"):  # the least on top
            told = [
                (at, s["latency_ms"][name])
                for at, s in zip(minutes, record.samples, strict=True)
                if s["latency_ms"]
            ]
            panels[3].plot(*zip(*told, strict=True), label=name, linewidth=0.9)
        panels[3].set_ylabel("latency, ms")
        panels[3].set_yscale("log")
        panels[3].set_xlabel(
            "minutes; vertical lines are ends of drivers, grey by SIGTERM, red by SIGKILL"
        )
        for panel in panels:
            for end in record.stopped:
                panel.axvline(
                    end["seconds"] / _MINUTE, color=_STOPPED[end["signal"]], linewidth=0.5
                )
            panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        metadata = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(path, metadata=metadata)


def _of(record: SoakRecord, name: str) -> list[float]:
    return [sample[name] for sample in record.samples]


def _bytes(record: SoakRecord, name: str) -> list[float]:
    return [value / _MIB for value in _of(record, name)]


def _lines(panel: Axes, minutes: list[float], label: str, lines: dict[str, Any]) -> None:
    for name, values in lines.items():
        panel.plot(minutes, values, label=name, linewidth=0.9)
    panel.set_ylabel(label)
    panel.set_ylim(bottom=0)
