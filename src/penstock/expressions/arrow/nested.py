"""Kernels of lists and of rows inside records."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.expressions.tree import Call


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
    at = value.type.get_field_index(call.parameters[0])
    return pc.struct_field(value, indices=[at])
