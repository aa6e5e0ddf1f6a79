"""The names of `pyflink.datastream.functions`."""

from __future__ import annotations

from penstock.api.context import RuntimeContext
from penstock.api.functions import (
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
)

__all__ = [
    "FilterFunction",
    "FlatMapFunction",
    "Function",
    "KeySelector",
    "KeyedProcessFunction",
    "MapFunction",
    "ProcessFunction",
    "ReduceFunction",
    "RuntimeContext",
]
