"""Rows, type information and times: the values of the system, without anything that runs."""

from __future__ import annotations

from penstock.types.infer import type_of_annotation
from penstock.types.information import (
    BasicArrayTypeInfo,
    BasicTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    find_mismatch,
)
from penstock.types.row import Row, RowKind, row_factory, rows_to_values
from penstock.types.time import Duration, Instant, Time
from penstock.types.time_domain import TimeDomain
from penstock.types.types import Types

__all__ = [
    "BasicArrayTypeInfo",
    "BasicTypeInfo",
    "Duration",
    "Instant",
    "ListTypeInfo",
    "MapTypeInfo",
    "ObjectArrayTypeInfo",
    "PickledBytesTypeInfo",
    "PrimitiveArrayTypeInfo",
    "Row",
    "RowKind",
    "RowTypeInfo",
    "Time",
    "TimeDomain",
    "TupleTypeInfo",
    "TypeInformation",
    "Types",
    "find_mismatch",
    "row_factory",
    "rows_to_values",
    "type_of_annotation",
]
