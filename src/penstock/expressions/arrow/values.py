"""Kernels of tallies whose values are aggregated: results of all of them, and sums of the different ones.

Floats are counted by their ordinals (`floats`), so -0.0 and 0.0 are two values, and NaN is one.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.expressions.arrow.arithmetic import bits
from penstock.expressions.arrow.floats import decimal_limbs, limbs, of_ordinal
from penstock.expressions.arrow.tallies import entries, map_array, summed
from penstock.expressions.merging import order_of
from penstock.expressions.tree import Call
from penstock.types.arrow import arrow_array
from penstock.types.arrow_lists import columns_to_lists

Counts = list[tuple[Any, int]]
"""Values with how often each is there, at least once."""


def of_values(call: Call, tallies: Any) -> Any:
    """Return aggregates of the values that tallies have more than 0 times; NULL of none."""
    how, separator, is_distinct, are_ordinals, _ = call.parameters
    assert call.type_info is not None, "the tree has types"
    _, keys, counts = entries(tallies)
    if are_ordinals:
        keys = of_ordinal(call, keys)
    (values,) = columns_to_lists(pa.RecordBatch.from_arrays([keys], names=["value"]))
    pairs = zip(values, counts.tolist(), strict=True)
    results: list[Any] = []
    for size in np.diff(tallies.offsets.to_numpy()).tolist():
        known = [
            (value, 1 if is_distinct else count)
            for value, count in islice(pairs, size)
            if count > 0
        ]
        results.append(_RESULTS[how](known, separator) if known or how == "map" else None)
    return arrow_array(how, call.type_info, results)


def _order(pair: tuple[Any, int]) -> Any:
    return order_of(pair[0])


def _repeated(counts: Counts) -> list[Any]:
    return [value for value, count in sorted(counts, key=_order) for _ in range(count)]


_RESULTS: dict[str, Callable[[Counts, str], Any]] = {
    "min": lambda counts, _: min(counts, key=_order)[0],
    "max": lambda counts, _: max(counts, key=_order)[0],
    "join": lambda counts, separator: separator.join(_repeated(counts)),
    "list": lambda counts, _: _repeated(counts),
    "map": lambda counts, _: dict(counts),
}
"""Aggregate to its result; lists are in order of their values."""


def over_values(call: Call, tallies: Any) -> Any:
    """Return sums over the different values of tallies, less those whose count is below 0; 0 of none."""
    how, are_ordinals, *parameters = call.parameters
    rows, keys, counts = entries(tallies)
    signs = np.sign(counts)
    length = len(tallies)
    if are_ordinals:
        keys = of_ordinal(call, keys)
    inner = Call(how, (), tuple(parameters))
    if how.endswith("limbs"):
        split = decimal_limbs if how == "decimal_limbs" else limbs
        owners, places, digits = entries(split(inner, keys))
        sizes, codes, totals = summed(
            rows[owners], places.to_numpy(), digits * signs[owners], length
        )
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
        return map_array(
            offsets, pa.array(codes, pa.int32()), pa.array(totals), np.ones(length, dtype=bool)
        )
    numbers = signs
    if how == "sum":
        numbers = signs * keys.cast(pa.int64()).to_numpy()
    elif how == "bits":
        numbers = signs * bits(inner, keys).to_numpy()
    sums = np.zeros(length, dtype=np.int64)
    np.add.at(sums, rows, numbers)
    return pa.array(sums)
