"""Rows, type information and times. No module here reads or sends records."""

from __future__ import annotations

from penstock.types.base import TypeInformation, find_mismatch
from penstock.types.containers import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
)
from penstock.types.infer import InferredTypeInfo, type_of_annotation
from penstock.types.records import RowTypeInfo, TupleTypeInfo
from penstock.types.row import Row, RowKind, row_factory, rows_to_values
from penstock.types.scalars import BasicType, BasicTypeInfo, PickledBytesTypeInfo
from penstock.types.time import Duration, Instant, Time, TimeDomain
from penstock.types.time_types import (
    DateTypeInfo,
    InstantTypeInfo,
    LocalTimeTypeInfo,
    SqlTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from penstock.types.types import Types

__all__ = [
    "BasicArrayTypeInfo",
    "BasicType",
    "BasicTypeInfo",
    "DateTypeInfo",
    "Duration",
    "InferredTypeInfo",
    "Instant",
    "InstantTypeInfo",
    "ListTypeInfo",
    "LocalTimeTypeInfo",
    "MapTypeInfo",
    "ObjectArrayTypeInfo",
    "PickledBytesTypeInfo",
    "PrimitiveArrayTypeInfo",
    "Row",
    "RowKind",
    "RowTypeInfo",
    "SqlTimeTypeInfo",
    "Time",
    "TimeDomain",
    "TimeTypeInfo",
    "TimestampTypeInfo",
    "TupleTypeInfo",
    "TypeInformation",
    "Types",
    "find_mismatch",
    "row_factory",
    "rows_to_values",
    "type_of_annotation",
]
