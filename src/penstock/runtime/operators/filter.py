"""filter: keeps the records for which the predicate is true."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import compress
from typing import Any

from penstock.runtime.operators.base import Operator
from penstock.types.copying import Copier


def filtered(
    call: Callable[[Any], Any], position: Iterator[Any], values: list[Any], copy: Copier | None
) -> tuple[list[bool], list[Any]]:
    """Return what a predicate says of every value, and those it keeps.

    Args:
        call: The predicate.
        position: Over `values`; what is left of it tells, if anything raises, on which value.
        values: The batch.
        copy: Applied to what is kept before the predicate is called again, which may have kept a
            value itself and change it; None is not at all.
    """
    if copy is None:
        # What is true is decided here: `compress` would end at a `__bool__` that raises StopIteration.
        keep = [bool(call(value)) for value in position]
        return keep, list(compress(values, keep))
    keep = []
    kept: list[Any] = []
    for value in position:
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
        try:
            keep, kept = filtered(self.call, position, values, self.emission.copy)
        except BaseException as cause:
            raise self.failed(cause, values, position) from cause
        if kept:
            stamps = None if timestamps is None else list(compress(timestamps, keep))
            self.output.collect(kept, stamps)
