"""Kernels of lists and of rows inside records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.expressions.tree import Call
from penstock.types.arrow import arrow_type


def list_length(_: Call, value: Any) -> Any:
    """Return the numbers of elements."""
    return pc.list_value_length(value).cast(pa.int32())


def get(call: Call, value: Any) -> Any:
    """Return an element of every list; pyarrow's kernel refuses lists that are too short."""
    (index,) = call.parameters
    starts = value.offsets[:-1]
    places = pc.add(starts.cast(pa.int64()), pa.scalar(index, pa.int64()))
    is_there = pc.greater(pc.list_value_length(value), index)
    return value.values.take(pc.if_else(is_there, places, pa.scalar(None, pa.int64())))


def field(call: Call, value: Any) -> Any:
    """Return a field of every row; NULL of NULL."""
    index = value.type.get_field_index(call.parameters[0])
    return pc.struct_field(value, indices=[index])


def list_contains(call: Call, value: Any) -> Any:
    """Return whether lists have an element; NULL elements equal nothing."""
    element = pa.scalar(call.parameters[0], value.type.value_type)
    is_equal = pc.fill_null(pc.equal(pc.list_flatten(value), element), False)  # noqa: FBT003
    # Not list_parent_indices: it counts values below a NULL, which list_flatten leaves out.
    lengths = pc.fill_null(pc.list_value_length(value), 0).to_numpy(zero_copy_only=False)
    owners = np.repeat(np.arange(len(value)), lengths)
    contains = np.zeros(len(value), dtype=bool)
    contains[owners[is_equal.to_numpy(zero_copy_only=False)]] = True
    return pa.array(contains, mask=value.is_null().to_numpy(zero_copy_only=False))


def struct(call: Call, *values: Any) -> Any:
    """Return rows of values."""
    length = max(len(value) for value in values if isinstance(value, pa.Array))
    columns = [
        value if isinstance(value, pa.Array) else pa.repeat(value, length) for value in values
    ]
    assert call.type_info is not None, "the tree has types"
    return pa.StructArray.from_arrays(columns, fields=list(arrow_type(call.type_info)))
