"""Type information: every type of the system, from one place.

The rules of conversion are in `base`; the families are in `scalars`, `records` and
`containers`.
"""

from __future__ import annotations

from penstock.types.base import TypeInformation, find_mismatch
from penstock.types.containers import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
)
from penstock.types.records import RowTypeInfo, TupleTypeInfo
from penstock.types.scalars import BasicTypeInfo, PickledBytesTypeInfo

__all__ = [
    "BasicArrayTypeInfo",
    "BasicTypeInfo",
    "ListTypeInfo",
    "MapTypeInfo",
    "ObjectArrayTypeInfo",
    "PickledBytesTypeInfo",
    "PrimitiveArrayTypeInfo",
    "RowTypeInfo",
    "TupleTypeInfo",
    "TypeInformation",
    "find_mismatch",
]
