"""The output of windows that aggregate columns: it makes results of the parts that a window has."""

from __future__ import annotations

from typing import Any

from penstock.expressions.arrow.records import ChainEvaluation
from penstock.runtime.flow.output import FanOut, Output


class ResultsOutput(FanOut):
    """Evaluates the selection of results for a batch at once."""

    __slots__ = ("_results",)

    def __init__(self, output: Output, results: ChainEvaluation) -> None:
        super().__init__((output,))
        self._results = results

    def collect(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Forward the results of a batch, with its timestamps."""
        made, stamps = self._results.of_records(values, timestamps)
        super().collect(made, stamps)
