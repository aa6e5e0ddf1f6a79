"""The records of two inputs, side by side per key.

This is the one place where a co-group at the end of the input keeps the records of a key group.
The two values of a key need not be lists: whatever has a length and can be read more than once,
in order, will do for the functions, so records of oversized keys may be kept elsewhere.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Any

_ABSENT = object()

KeyedValues = tuple[list[Any], list[Any]]
"""Keys, and as many values."""


def pairs_by_key(first: KeyedValues, second: KeyedValues) -> Iterator[tuple[Any, Any, Any]]:
    """Yield (key, its values of `first`, its values of `second`) for every key.

    Keys come in order of their first value, those of `first` before others. Values are in the
    order given, in lists that belong to whoever reads them.
    """
    firsts, seconds = dict(zip(*first, strict=True)), dict(zip(*second, strict=True))
    if len(firsts) == len(first[0]) and len(seconds) == len(second[0]):
        for key, value in firsts.items():
            other = seconds.get(key, _ABSENT)
            yield key, [value], [] if other is _ABSENT else [other]
        for key, value in seconds.items():
            if key not in firsts:
                yield key, [], [value]
        return
    firsts, seconds = lists_by_key(*first), lists_by_key(*second)
    for key, values in firsts.items():
        yield key, values, seconds.get(key) or []
    for key, values in seconds.items():
        if key not in firsts:
            yield key, [], values


def lists_by_key(keys: list[Any], values: list[Any]) -> dict[Any, list[Any]]:
    """Return key to its values, in order."""
    lists: defaultdict[Any, list[Any]] = defaultdict(list)
    # All in C: half the time of a loop that appends.
    deque(map(list.append, map(lists.__getitem__, keys), values), maxlen=0)
    lists.default_factory = None
    return lists
