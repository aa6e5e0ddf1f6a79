"""Plots for the documentation, from what `python -m benchmarks --json` printed.

    python -m benchmarks.reporting.plots docs/images benchmarks/results/*.jsonl

writes `docs/images/bench-<file>.svg` for the newest result of every file: a bar per system, a
panel per case. The same results give the same bytes. `--png` writes PNG files, to look at.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.reporting.render import read_results, title_of

_OURS, _PEER, _FAINT = "#1f6f8b", "#b9b4a7", 0.35
_WIDE = 20.0
"""From this ratio of the longest to the shortest bar the axis is logarithmic."""

_PANEL_INCHES, _LABEL_INCHES, _BAR_INCHES, _MARGIN_INCHES = 2.7, 2.2, 0.27, 1.0

SETTINGS: Any = {
    "svg.hashsalt": "penstock",
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
"""Names in the file come from the salt rather than from chance, and text stays text."""


_OUR_WORDS = ("penstock", "coded")
"""How names of systems begin that are not peers; of encodings behind the shape of the rows."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A system in a panel.

    Attributes:
        system: Its name.
        value: Its length.
        beyond: Length of a faint bar behind it, None for none.
    """

    system: str
    value: float
    beyond: float | None = None

    @property
    def is_ours(self) -> bool:
        """Whether it is not a peer."""
        return any(word.startswith(_OUR_WORDS) for word in self.system.split())


@dataclass(frozen=True, slots=True)
class Panel:
    """A case.

    Attributes:
        title: What sets it apart from the other cases; empty if it is the only one.
        bars: From top to bottom.
    """

    title: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Measure:
    """What the bars of a program show.

    Attributes:
        label: With the unit, and which way is better.
    """

    label: str

    def bar(self, each: dict[str, Any]) -> Bar:
        """Return the bar of a system."""
        return Bar(each["system"], each["records_per_ms"])


class _Seconds(Measure):
    def bar(self, each: dict[str, Any]) -> Bar:
        return Bar(each["system"], each["seconds"]["median"])


class _Latency(Measure):
    def bar(self, each: dict[str, Any]) -> Bar:
        found = each["latency_ms"]
        return Bar(each["system"], found["p50"], found["p99"])


_SPEED = Measure("records/ms, more is better")
_TO_SINK = _Latency("ms from event to sink, p50 (p99 faint), less is better")
_MEASURES: dict[str, Measure] = {
    "switch": _Seconds("seconds to the first live output, less is better"),
    "cold": _Seconds("seconds from the command to the first output, less is better"),
    "latency": _TO_SINK,
    "isolation": _TO_SINK,
}
"""Program to what its bars show, if it is not speed."""


def panels(result: dict[str, Any]) -> list[Panel]:
    """Return a panel per case, in order; systems with wrong outputs have no bar."""
    measure = _MEASURES.get(result["name"], _SPEED)
    cases = _cases(result["results"])
    return [
        Panel(title, tuple(measure.bar(each) for each in case if each["outputs_equal"]))
        for title, case in zip(_titles(cases), cases, strict=True)
    ]


def _cases(results: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the systems of each case: a name that comes again begins the next one."""
    cases: list[list[dict[str, Any]]] = []
    seen: set[str] = set()
    for each in results:
        if not cases or each["system"] in seen:
            cases.append([])
            seen.clear()
        cases[-1].append(each)
        seen.add(each["system"])
    return cases


def _titles(cases: Sequence[Sequence[dict[str, Any]]]) -> list[str]:
    """Return what sets each case apart from the others, by its first system."""
    facts = [
        {
            "records": f"{first['records']:,}",
            "keys": f"{first['options']['keys']:,}",
            "cores": str(first["options"]["parallelism"]),
        }
        for first, *_ in cases
    ]
    telling = [name for name in facts[0] if len({each[name] for each in facts}) > 1]
    return [", ".join(f"{each[name]} {name}" for name in telling) for each in facts]


def plot(result: dict[str, Any], title: str | None = None) -> Figure:
    """Return the figure of one program.

    Args:
        result: What was measured.
        title: None is the program's name.
    """
    found = panels(result)
    systems = list(dict.fromkeys(bar.system for panel in found for bar in panel.bars))
    width = _LABEL_INCHES + _PANEL_INCHES * len(found)
    height = _MARGIN_INCHES + _BAR_INCHES * len(systems)
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(1, len(found), sharex=True, sharey=True, squeeze=False)[0]
    lengths = [bar.beyond or bar.value for panel in found for bar in panel.bars]
    is_log = max(lengths) > _WIDE * min(lengths)
    for panel, ax in zip(found, axes, strict=True):
        _draw(ax, panel, systems)
    if is_log:
        axes[0].set_xscale("log")
    axes[0].set_xlim(min(lengths) / 4 if is_log else 0, max(lengths) * (6 if is_log else 1.3))
    axes[0].set_yticks(range(len(systems)), systems)
    axes[0].set_ylim(len(systems) - 0.4, -0.6)
    measure = _MEASURES.get(result["name"], _SPEED)
    figure.supxlabel(measure.label + (" (logarithmic)" if is_log else ""), fontsize=8.5)
    figure.suptitle(title or result["name"], fontsize=10, fontweight="bold")
    return figure


def _draw(ax: Axes, panel: Panel, systems: list[str]) -> None:
    for bar in panel.bars:
        at, colour = systems.index(bar.system), _OURS if bar.is_ours else _PEER
        if bar.beyond is not None:
            ax.barh(at, bar.beyond, color=colour, alpha=_FAINT, height=0.7)
        ax.barh(at, bar.value, color=colour, height=0.7)
        end = bar.beyond or bar.value
        both = "" if bar.beyond is None else f" ({_number(bar.beyond)})"
        ax.annotate(
            f"{_number(bar.value)}{both}",
            (end, at),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
        )
    ax.set_title(panel.title, fontsize=8.5)
    ax.tick_params(axis="y", length=0)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"  # noqa: PLR2004 - two digits


def write(
    result: dict[str, Any], directory: Path, kind: str = "svg", title: str | None = None
) -> Path:
    """Write the figure of one program and return its file.

    Args:
        result: What was measured.
        directory: Where to.
        kind: `svg` or `png`.
        title: Of the figure and in the name of the file; None is the program's name.
    """
    path = directory / f"bench-{title or result['name']}.{kind}"
    with rc_context(SETTINGS):
        plot(result, title).savefig(path, format=kind, dpi=110, metadata=_METADATA[kind])
    return path


_METADATA: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "png": {"Software": None}}
"""Kind of file to what is left out of it, because it differs from run to run."""


def main(arguments: Sequence[str]) -> int:
    """Write the figures of the files named on the command line."""
    kind = "png" if "--png" in arguments else "svg"
    directory, *names = (argument for argument in arguments if argument != "--png")
    for name in names:
        for result in read_results(Path(name)):
            path = write(result, Path(directory), kind, title_of(result, Path(name)))
            sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
