"""What a record and a micro-batch cost, by place: stacked bars from the profiles in results.

    python -m benchmarks.reporting.costs docs/images/cost-by-place.svg

    records          `reduce`, 10^3 keys, in each mode; beside it the plain loop, which has no engine
    micro-batches    `live-state`; beside it Spark's empty query, of `latency`

A bar is the time of all slots, so it has also what they waited. `JobProfile.by_place` says the same of any job.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.reporting.plots import SETTINGS
from benchmarks.reporting.render import read_results
from penstock.metrics.profile import PLACES, SPARK, JobProfile

RESULTS = Path(__file__).parents[1] / "results"
ALL = "all"
"""Place of a system that has no profile."""

_COLOURS: dict[str, str] = {
    "reading": "#7fb3c8",
    "decode": "#3f8fb0",
    "function": "#1f5f7b",
    "exchange": "#d8a24a",
    "state": "#8a6fb0",
    "commit": "#5f9e6e",
    "start": "#d9d5ca",
    SPARK: "#b9b4a7",
    ALL: "#6b6b6b",
}
_MICROSECONDS, _MILLISECONDS = 1e6, 1e3
_LEGEND_COLUMNS = 5


@dataclass(frozen=True, slots=True)
class Cost:
    """A bar.

    Attributes:
        system: What ran.
        by_place: Place to the time of all slots, per record in µs or per micro-batch in ms.
    """

    system: str
    by_place: Mapping[str, float]

    @property
    def total(self) -> float:
        """The length of the bar."""
        return sum(self.by_place.values())


def of_records(result: Mapping[str, Any], limit: str) -> list[Cost]:
    """Return what a record costs: each system with a profile, and one that is the limit."""
    found = []
    for each in result["results"]:
        scale = _MICROSECONDS / each["records"]
        if "profile" in each:
            found.append(Cost(each["system"], _scaled(each, scale)))
        elif each["system"] == limit:
            slots = each["options"]["parallelism"]
            found.append(Cost(limit, {ALL: each["seconds"]["median"] * slots * scale}))
    return found


def of_micro_batches(live: Mapping[str, Any], latency: Mapping[str, Any], limit: str) -> list[Cost]:
    """Return what a micro-batch costs: of systems with a profile, and of an empty query."""
    size = live["options"]["micro-batch"]
    found = [
        Cost(each["system"], _scaled(each, _MILLISECONDS * size / each["records"]))
        for each in live["results"]
        if "profile" in each
    ]
    for each in latency["results"]:
        if each["system"] == limit:
            slots, commits = each["options"]["parallelism"], each["details"]["commits"]
            seconds = each["seconds"]["median"] * len(commits)
            found.append(Cost(limit, {ALL: seconds * slots * _MILLISECONDS / sum(commits)}))
    return found


def _scaled(each: Mapping[str, Any], scale: float) -> dict[str, float]:
    places = JobProfile.from_json(each["profile"]).by_place()
    return {place: seconds * scale for place, seconds in places.items()}


def newest(name: str) -> dict[str, Any]:
    """Return the newest result in a file of `benchmarks/results`."""
    return read_results(RESULTS / f"{name}.jsonl")[-1]


def plot(records: Sequence[Cost], micro_batches: Sequence[Cost]) -> Figure:
    """Return the picture."""
    height = 2.2 + 0.3 * (len(records) + len(micro_batches))
    figure = Figure(figsize=(8.2, height), layout="constrained")
    rows = figure.subplots(2, 1, height_ratios=[len(records) + 1, len(micro_batches) + 1])
    named = {
        **_draw(rows[0], records, "a record of `reduce`, 1,000 keys: µs of all slots", "{:.2f}"),
        **_draw(
            rows[1], micro_batches, "a micro-batch of `live-state`: ms of all slots", "{:,.0f}"
        ),
    }
    order = [place for place in (*PLACES, SPARK, ALL) if place in named]
    figure.legend(
        [named[place] for place in order], order, loc="outside lower center", ncols=_LEGEND_COLUMNS
    )
    return figure


def _draw(axes: Axes, costs: Sequence[Cost], title: str, form: str) -> dict[str, Any]:
    """Draw the bars, and return a piece of each place for the legend."""
    pieces: dict[str, Any] = {}
    for at, cost in enumerate(costs):
        left = 0.0
        for place, value in cost.by_place.items():
            bar = axes.barh(at, value, left=left, color=_COLOURS[place], height=0.7)
            pieces.setdefault(place, bar)
            left += value
        axes.annotate(
            form.format(cost.total),
            (left, at),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
        )
    axes.set_yticks(range(len(costs)), [cost.system for cost in costs])
    axes.set_ylim(len(costs) - 0.4, -0.6)
    axes.set_xlim(0, max(cost.total for cost in costs) * 1.12)
    axes.set_title(title, fontsize=8.5)
    axes.tick_params(axis="y", length=0)
    return pieces


def main(arguments: Sequence[str]) -> int:
    """Write the picture to the file named on the command line."""
    (name,) = arguments
    records = of_records(newest("reduce"), "loop")
    micro_batches = of_micro_batches(newest("live-state"), newest("latency"), "spark-empty")
    with rc_context(SETTINGS):
        plot(records, micro_batches).savefig(name, format="svg", metadata={"Date": None})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
