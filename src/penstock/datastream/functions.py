"""The names of `pyflink.datastream.functions`."""

from __future__ import annotations

from penstock.api.context import KeyedStateStore, RuntimeContext
from penstock.api.functions import (
    AggregateFunction,
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
    "AggregateFunction",
    "FilterFunction",
    "FlatMapFunction",
    "Function",
    "KeySelector",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "MapFunction",
    "ProcessFunction",
    "ReduceFunction",
    "RuntimeContext",
]
