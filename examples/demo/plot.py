"""The demo's picture. The only module that needs matplotlib."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow.parquet as pq
from matplotlib import dates
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from examples.demo.answers import Answers
from examples.demo.data import DAY_MS
from examples.demo.job import SILENCE_MS
from examples.demo.layout import Layout
from examples.demo.report import top_carriers

mpl.use("Agg")

HISTORY, LIVE, MARK, INK, GRID = "#7a8ca3", "#e07b39", "#b3261e", "#2b2f36", "#e4e7ec"

_STYLE: Any = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GRID,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
_WEEK = 7
# A date of matplotlib is the number of days since 1970. Its classes for them have no types.
_DATES: Any = dates
_YEAR_BEGINS, _LIVE_BEGINS, _YEAR_ENDS = (
    float(np.datetime64(day).astype(int)) for day in ("2013-01-01", "2013-11-01", "2014-01-01")
)


def draw(layout: Layout, answers: Answers) -> Path:
    """Draw departures per day, alerts per week and the carriers' delays; return the file."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(12, 8), layout="constrained")
        grid = figure.add_gridspec(2, 2, height_ratios=(1, 1), width_ratios=(1.5, 1))
        _draw_days(figure.add_subplot(grid[0, :]), layout)
        _draw_alerts(figure.add_subplot(grid[1, 0]), answers)
        _draw_carriers(figure.add_subplot(grid[1, 1]), answers)
        figure.suptitle(
            "Departures from New York City, 2013: history as a batch, then live",
            fontsize=14,
            fontweight="bold",
            x=0.01,
            ha="left",
        )
        figure.savefig(layout.picture, dpi=130)
    return layout.picture


def _draw_days(axes: Axes, layout: Layout) -> None:
    drawn: Counter[int] = Counter()
    for folder, colour, label in (
        (layout.history, HISTORY, "history (batch run)"),
        (layout.live, LIVE, "live (arrived while the job ran)"),
    ):
        table = pq.read_table(folder, columns=["dep_ms", "cancelled"])
        left = table.filter(np.logical_not(table["cancelled"].to_numpy()))
        days, counts = np.unique(left["dep_ms"].to_numpy() // DAY_MS, return_counts=True)
        # Stacked: planned on 31 October, some left on 1 November.
        below = np.array([drawn[day] for day in days.tolist()])
        axes.bar(days, counts, width=1.0, align="edge", bottom=below, color=colour, label=label)
        drawn.update(dict(zip(days.tolist(), counts.tolist(), strict=True)))
    axes.set_title("Departures per day")
    axes.legend(loc="lower left", ncols=2, frameon=True, framealpha=0.9, edgecolor="none")
    _mark_switch(axes, label="switch")
    _month_axis(axes)


def _draw_alerts(axes: Axes, answers: Answers) -> None:
    alert_ms = np.fromiter((alert[2] for alert in answers.alerts.elements()), np.int64)
    weeks, counts = np.unique((alert_ms // DAY_MS - _YEAR_BEGINS) // _WEEK, return_counts=True)
    begins = _YEAR_BEGINS + weeks * _WEEK
    colours = np.where(begins < _LIVE_BEGINS, HISTORY, LIVE)
    axes.bar(begins, counts, width=_WEEK - 1, align="edge", color=colours)
    axes.set_title(f"Alerts per week: aircraft without a departure for {SILENCE_MS // DAY_MS} days")
    _mark_switch(axes)
    _month_axis(axes)


def _draw_carriers(axes: Axes, answers: Answers) -> None:
    carriers = sorted(
        (
            (minutes / departures, carrier, departures)
            for carrier, (_, departures, _, minutes) in top_carriers(answers)
            if departures
        ),
    )
    names = [carrier for _, carrier, _ in carriers]
    means = [mean for mean, _, _ in carriers]
    axes.barh(names, means, color=HISTORY)
    for position, (mean, _, departures) in enumerate(carriers):
        axes.text(
            max(mean, 0) + 0.3, position, f"{mean:.1f}  ({departures:,})", va="center", fontsize=8
        )
    axes.set_xlim(left=min(0.0, *means), right=max(means) * 1.3)
    axes.set_title("Mean delay per carrier, minutes (departures)")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=GRID)
    axes.set_axisbelow(True)


def _mark_switch(axes: Axes, label: str = "") -> None:
    axes.axvline(_LIVE_BEGINS, color=MARK, linewidth=1.5, linestyle="--")
    if label:
        axes.annotate(
            label,
            (_LIVE_BEGINS, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(4, -2),
            textcoords="offset points",
            color=MARK,
            va="top",
            fontweight="bold",
        )


def _month_axis(axes: Axes) -> None:
    axes.xaxis.set_major_locator(_DATES.MonthLocator())
    axes.xaxis.set_major_formatter(_DATES.DateFormatter("%b"))
    axes.set_xlim(_YEAR_BEGINS - 2, _YEAR_ENDS + 2)
    axes.grid(axis="y", color=GRID)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
