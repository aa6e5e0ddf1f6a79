"""Types of function arguments, for type checkers: a callable or a function object."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from penstock.api.functions.batch_functions import MapBatchFunction, MapGroupFunction
from penstock.api.functions.function_classes import (
    FilterFunction,
    FlatMapFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ReduceFunction,
)
from penstock.types.type_parameters import K, R, T

ToOne: TypeAlias = Callable[[T], R] | MapFunction[T, R]
"""One result per record."""

ToMany: TypeAlias = Callable[[T], Iterable[R]] | FlatMapFunction[T, R]
"""Any number of results per record."""

Predicate: TypeAlias = Callable[[T], object] | FilterFunction[T]
"""True if to keep a record; anything true will do."""

ToKey: TypeAlias = Callable[[T], K] | KeySelector[T, K]
"""The key of a record."""

Combination: TypeAlias = Callable[[T, T], T | tuple[Any, ...] | dict[str, Any]] | ReduceFunction[T]
"""Two records to one; a tuple or a dict may stand for a row."""

ToBatch: TypeAlias = Callable[[Any], Any] | MapBatchFunction
"""Columns of records to columns of results."""

ToGroup: TypeAlias = Callable[[Any], Any] | MapGroupFunction
"""Columns of records of one key to columns of results."""

ToSubtask: TypeAlias = Callable[[K, int], int] | Partitioner
"""(key, number of subtasks) to a subtask."""
