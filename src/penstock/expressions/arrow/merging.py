"""Merges records of parts that are columns, key by key: the kernels of `expressions.merging`.

    key  n  total             key  n  total
    a    1  5                 a    2  7
    b    1  3        ──▶      b    1  3
    a    1  2

Rows of one key are merged in their order, so sums of floats are those of the records one after the other. Sums that may
leave their type are computed by Python, which names the key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.expressions.arrow.tallies import entries, map_array, summed
from penstock.expressions.keyed_aggregate import KeyedAggregate
from penstock.expressions.kinds import DECIMAL, FLOATS
from penstock.types.arrow import arrow_schema

_LONG = 1 << 63
_SAFE = float(1 << 62)
"""Sum of sizes, with what rounding may lose, up to which no sum of some of them leaves LONG."""
_WIDE = pa.decimal256(76, 18)

_Kernel = tuple[str, str]
"""(column, function)."""


_Finish = Callable[[pa.Table], Any]
"""Returns the column of a part, given the results of kernels."""


@cache
def _decimal_limit() -> pa.Scalar:
    """Return the least value that leaves DECIMAL. Made when it is needed: the first scalar of Arrow imports pandas."""
    return pa.scalar(10**20, _WIDE)


class CannotMergeError(Exception):
    """Kernels cannot decide whether a sum leaves its type; Python can."""


class ColumnMerge:
    """Merges columns of parts.

    Attributes:
        keys: Number of columns of the key, which are the first ones.
    """

    def __init__(self, aggregate: KeyedAggregate) -> None:
        self.schema = arrow_schema(aggregate.parts)
        self.keys = aggregate.keys
        names = [getattr(kind, "name", "") for kind in aggregate.parts.field_types]
        self._floats = [position for position in range(self.keys) if names[position] in FLOATS]
        self._merges: list[tuple[str, str, Callable[..., _Finish]]] = [
            (str(position), how, _OF_TYPE.get((how, name), _plain))
            for position, (how, name) in enumerate(zip(aggregate.merges, names, strict=True))
            if how is not None
        ]

    def prepared(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return columns of the declared types, in which keys that are equal have equal bytes."""
        columns = [
            column if column.type == field.type else column.cast(field.type)
            for column, field in zip(batch.columns, self.schema, strict=True)
        ]
        for position in self._floats:  # 0.0 and -0.0 are one key
            columns[position] = pc.add(columns[position], pa.scalar(0.0, columns[position].type))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def merged(
        self, batches: Sequence[pa.RecordBatch], further: Sequence[pa.Array] = ()
    ) -> tuple[pa.RecordBatch, list[pa.Array]]:
        """Return one row per key, in the order in which keys first come, and the further columns of it."""
        table = pa.Table.from_batches(batches)
        columns: list[Any] = [*table.columns, *further]
        by = [
            str(position)
            for position in (*range(self.keys), *range(len(table.columns), len(columns)))
        ]
        wide = dict(zip(map(str, range(len(columns))), columns, strict=True))
        kernels: list[_Kernel] = []
        finish: list[_Finish] = []
        for name, how, make in self._merges:
            finish.append(make(wide, name, how, kernels))
        wide[_FIRST] = pa.array(np.arange(table.num_rows))
        kernels.append((_FIRST, "min"))
        table = pa.Table.from_arrays(list(wide.values()), names=list(wide))
        groups = table.group_by(by, use_threads=False).aggregate(kernels)
        # Arrow has an order of its own for texts, for several columns, and for many keys.
        first = groups[f"{_FIRST}_min"].to_numpy()
        if (first[1:] < first[:-1]).any():
            groups = groups.take(pa.array(np.argsort(first)))
        merged = [
            *(groups[name] for name in by[: self.keys]),
            *(finisher(groups) for finisher in finish),
        ]
        whole = [
            _one(column, field.type) for column, field in zip(merged, self.schema, strict=True)
        ]
        kept = pa.RecordBatch.from_arrays(whole, schema=self.schema)
        return kept, [_one(groups[name], groups[name].type) for name in by[self.keys :]]

    def distinct(self, batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
        """Return the keys of batches, each once, in no defined order."""
        names = [str(position) for position in range(self.keys)]
        table = pa.Table.from_batches(batches).select(range(self.keys)).rename_columns(names)
        groups = table.group_by(names, use_threads=False).aggregate([])
        columns = [_one(groups[name], groups[name].type) for name in names]
        return pa.RecordBatch.from_arrays(columns, names=names)


def _plain(_wide: dict[str, Any], name: str, how: str, kernels: list[_Kernel]) -> _Finish:
    kernels.append((name, how))
    return lambda groups: groups[f"{name}_{how}"]


def _sum_of_longs(wide: dict[str, Any], name: str, how: str, kernels: list[_Kernel]) -> _Finish:
    column = wide[name]
    limits = pc.min_max(column).as_py()
    least, greatest = limits["min"] or 0, limits["max"] or 0
    if max(-least, greatest) * len(column) >= _LONG and _total(column) >= _SAFE:
        raise CannotMergeError  # sums may wrap around
    return _plain(wide, name, how, kernels)


def _total(column: Any) -> float:
    """Return the sum of the sizes of whole numbers, about."""
    return float(pc.sum(pc.abs(column.cast(pa.float64(), safe=False))).as_py() or 0.0)


def _sum_of_decimals(wide: dict[str, Any], name: str, how: str, kernels: list[_Kernel]) -> _Finish:
    wide[name] = wide[name].cast(_WIDE)
    kernels.append((name, how))

    def checked(table: pa.Table) -> Any:
        total = table[f"{name}_{how}"]
        if pc.any(pc.greater_equal(pc.abs(total), _decimal_limit())).as_py():
            raise CannotMergeError
        return total

    return checked


def _extreme_float(wide: dict[str, Any], name: str, how: str, kernels: list[_Kernel]) -> _Finish:
    # Arrow's kernels leave NaN out, which is greater than any number: the greatest is NaN if one is, the least if all are.
    # Filled, because up to version 24 `any` of groups reads the flags of a slice with NULL from the wrong place,
    # and the flags of the second batch are a slice.
    is_nan = pc.is_nan(wide[name])
    if not pc.any(is_nan).as_py():
        return _plain(wide, name, how, kernels)
    flag, merge = f"{name} is NaN", {"min": "all", "max": "any"}[how]
    wide[flag] = pc.fill_null(is_nan, how == "min")
    kernels += [(name, how), (flag, merge)]

    def with_nan(table: pa.Table) -> Any:
        value = table[f"{name}_{how}"]
        is_lost = pc.and_(table[f"{flag}_{merge}"], pc.is_valid(value))
        return pc.if_else(is_lost, pa.scalar(np.nan, value.type), value)

    return with_nan


_FIRST = "first"
"""Name of the column of the numbers of rows, of which keys have the first."""

_ROW = "row"
"""Name of the column of the numbers of rows."""


def _tally(wide: dict[str, Any], name: str, _how: str, kernels: list[_Kernel]) -> _Finish:
    """Add the counts of values; groups are found by the numbers of their rows."""
    column = _one(wide.pop(name), None)
    _add_rows(wide, len(column), kernels)

    def added(table: pa.Table) -> pa.Array:
        rows, keys, counts = entries(column)
        group_of = _groups_of_rows(_one(table[f"{_ROW}_list"], None), len(column))
        coded = keys.dictionary_encode()
        sizes, codes, totals = summed(
            group_of[rows], coded.indices.to_numpy(), counts, table.num_rows
        )
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
        values = coded.dictionary.take(pa.array(codes))
        return map_array(offsets, values, pa.array(totals), sizes > 0)

    return added


def _groups_of_rows(lists: pa.ListArray, length: int) -> npt.NDArray[np.int64]:
    """Return the number of the list that each row is in."""
    offsets = lists.offsets.to_numpy()
    group_of = np.empty(length, dtype=np.int64)
    members = lists.values.to_numpy()[offsets[0] : offsets[-1]]
    group_of[members] = np.repeat(np.arange(len(lists)), np.diff(offsets))
    return group_of


def _list(wide: dict[str, Any], name: str, _how: str, kernels: list[_Kernel]) -> _Finish:
    """Append lists in the order of their rows."""
    column = _one(wide.pop(name), None)
    _add_rows(wide, len(column), kernels)

    def appended(table: pa.Table) -> pa.Array:
        groups = _one(table[f"{_ROW}_list"], None)
        ordered = column.take(groups.flatten())
        sizes = pc.fill_null(pc.list_value_length(ordered), 0).to_numpy()
        until = np.concatenate(([0], np.cumsum(sizes)))
        bounds = groups.offsets.to_numpy() - groups.offsets[0].as_py()
        offsets = until[bounds]
        known = np.concatenate(([0], np.cumsum(ordered.is_valid().to_numpy(zero_copy_only=False))))
        is_known = known[bounds[1:]] > known[bounds[:-1]]
        return pa.ListArray.from_arrays(
            pa.array(offsets.astype(np.int32)), ordered.flatten(), mask=pa.array(~is_known)
        )

    return appended


def _add_rows(wide: dict[str, Any], length: int, kernels: list[_Kernel]) -> None:
    if _ROW not in wide:
        wide[_ROW] = pa.array(np.arange(length))
        kernels.append((_ROW, "list"))


_OF_TYPE: dict[tuple[str, str], Callable[..., _Finish]] = {
    ("sum", "Long"): _sum_of_longs,
    ("sum", DECIMAL): _sum_of_decimals,
    ("tally", ""): _tally,
    ("list", ""): _list,
    **{(how, name): _extreme_float for how in ("min", "max") for name in FLOATS},
}
"""(merge, name of type) to the function that requests kernels, and returns the function that makes the column of results."""


def _one(column: Any, kind: pa.DataType | None) -> pa.Array:
    """Return a column as one array, of a type if one is given."""
    whole = column
    if isinstance(column, pa.ChunkedArray):
        whole = column.combine_chunks()
        if isinstance(whole, pa.ChunkedArray):  # of no chunks
            whole = pa.array([], column.type)
    return whole if kind is None or whole.type == kind else whole.cast(kind)
