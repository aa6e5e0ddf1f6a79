"""All type information in one module.

`base` defines coercion; `scalars`, `records` and `containers` define the types.
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
