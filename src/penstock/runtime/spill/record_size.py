"""Memory of records, measured on a few of them.

The pickled form is a poor measure: a string of a thousand characters takes a thousand bytes in both,
a tuple of three small numbers a dozen bytes pickled and two hundred in memory.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from types import FunctionType, ModuleType
from typing import Any

from penstock.types.value_kinds import slot_names

_OVERHEAD = 160
_TIME_OVERHEAD = 120
_RECORDS = 32
_OBJECTS = 20_000
_SHARED = (type, FunctionType, ModuleType)
_SMALL_INTS = range(-5, 257)  # CPython makes them once


def bytes_per_record(values: Sequence[Any]) -> int:
    """Return the size of an average record with all it refers to, 0 if there is none.

    Looks at no more than 32 records, evenly spread, and 20,000 objects. An object that
    several of them share counts once.
    """
    if not values:
        return 0
    step = max(1, len(values) // _RECORDS)
    sample = values[::step][:_RECORDS]
    seen: set[int] = set()
    total = measured = 0
    for record in sample:
        total += _deep_size(record, seen)
        measured += 1
        if len(seen) > _OBJECTS:
            break
    return total // measured


def record_overhead(*, stamped: bool) -> int:
    """Return the bytes a record takes beside itself while its key group is processed.

    These are places in lists, its key, the state of a key of its own, and with a timestamp that
    and the pair of both. The numbers are the largest `tracemalloc` showed for tuples of four, in
    reduce, process, a window of all records and co-group, for unique keys and for a hundred.
    """
    return _OVERHEAD + _TIME_OVERHEAD if stamped else _OVERHEAD


def _deep_size(record: Any, seen: set[int]) -> int:
    """Return the bytes of an object and its references; `seen` keeps the ids of both."""
    total = 0
    todo = [record]
    visited = 0
    while todo:
        part = todo.pop()
        if id(part) in seen or isinstance(part, _SHARED):
            continue
        if type(part) is int and part in _SMALL_INTS:
            continue
        seen.add(id(part))
        total += sys.getsizeof(part)
        visited += 1
        if visited == _OBJECTS:
            # The rest is like what was seen: a record so large is a long list of the same.
            return total + total * len(todo) // visited
        todo += _parts(part)
    return total


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value
        yield from value.values()
    elif isinstance(value, tuple | list | set | frozenset):
        yield from value
    if type(value).__module__ == "builtins":
        return
    yield from (getattr(value, "__dict__", None) or {}).values()
    for name in slot_names(type(value)):
        part = getattr(value, name, None) if not name.startswith("__") else None
        if part is not None:
            yield part
