"""Records of which some are results of a bounded region (FLIP-331), which come before the others.

A live run reads results in a run of their own, before everything else. A batch run reads all together, and
each key in order of time. So its records say how many of them are results: these come first, as they were
written, whatever their time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class ResultsFirst(list[Any]):
    """Records that begin with results.

    Attributes:
        results: Number of results.
    """

    __slots__ = ("results",)

    def __init__(self, values: Sequence[Any], results: int) -> None:
        super().__init__(values)
        self.results = results


def results_among(values: list[Any]) -> int:
    """Return how many of some records are results; they are the first ones."""
    return values.results if type(values) is ResultsFirst else 0
