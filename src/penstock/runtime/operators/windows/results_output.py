"""The output of windows that aggregate columns: it makes results of the parts that a window has."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from penstock.expressions.arrow.records import ChainEvaluation
from penstock.expressions.keyed_aggregate import WINDOW_BOUNDS
from penstock.program.level import OperatorSpec
from penstock.program.window_bounds import moments_of, zone_of_bounds
from penstock.program.windows import RegularWindows
from penstock.runtime.flow.output import FanOut, Output


class ResultsOutput(FanOut):
    """Evaluates the selection of results for a batch at once.

    The bounds of regular windows are made of the timestamp of a result, which is the last millisecond of its window.
    """

    __slots__ = ("_bounds", "_origin", "_results", "_zone")

    def __init__(self, output: Output, spec: OperatorSpec) -> None:
        super().__init__((output,))
        window = spec.window
        assert window is not None, "it is the output of windows"
        assert window.results is not None, "they aggregate columns"
        self._bounds: RegularWindows | None = window.bounds
        self._origin = spec.origin
        beside = () if self._bounds is None else tuple(WINDOW_BOUNDS)
        self._results = ChainEvaluation(window.results, spec.name, spec.origin, beside=beside)
        self._zone = zone_of_bounds(window.results.records.field_types[-1])

    def collect(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Forward the results of a batch, with its timestamps."""
        beside = None if self._bounds is None else self._bounds_of(self._bounds, timestamps or [])
        made, stamps = self._results.of_records(values, timestamps, beside)
        super().collect(made, stamps)

    def _bounds_of(
        self, windows: RegularWindows, timestamps: list[int]
    ) -> dict[str, list[datetime]]:
        """Return start and end of the window of each result."""
        found = {
            last: moments_of(windows.start_of(last + 1), last + 1, self._zone, self._origin)
            for last in set(timestamps)
        }
        pairs = [found[last] for last in timestamps]
        return {name: [pair[at] for pair in pairs] for at, name in enumerate(WINDOW_BOUNDS)}
