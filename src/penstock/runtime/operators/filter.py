"""filter: keeps the records for which the predicate is true."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import compress
from typing import Any

from penstock.runtime.operators.base import Operator
from penstock.types.copying import Copier


def filtered(
    call: Callable[[Any], Any], values: Iterator[Any], copy: Copier
) -> tuple[list[bool], list[Any]]:
    """Return what a predicate says of every value, and copies of those it keeps.

    Each copy is made before the predicate is called again: it may keep a value and change it.
    """
    keep: list[bool] = []
    kept: list[Any] = []
    for value in values:
        is_kept = bool(call(value))
        keep.append(is_kept)
        if is_kept:
            kept.append(copy(value))
    return keep, kept


class FilterOperator(Operator):
    """Calls the predicate on every record."""

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Filter a batch; passes nothing on if nothing is left."""
        position = iter(values)
        copy = self.emission.copy
        try:
            if copy is None:
                keep = list(map(self.call, position))
                kept = list(compress(values, keep))
            else:
                keep, kept = filtered(self.call, position, copy)
        except Exception as cause:
            raise self.failed(cause, values, position) from cause
        if kept:
            stamps = None if timestamps is None else list(compress(timestamps, keep))
            self.output.collect(kept, stamps)
