"""The records of two inputs, side by side per key.

This is the one place where a co-group at the end of the input keeps the records of a key group.
The two values of a key need not be lists: whatever has a length and can be read more than once,
in order, will do for the functions, so records of oversized keys may be kept elsewhere.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from itertools import chain, islice, repeat
from operator import length_hint
from typing import Any

_ABSENT = object()
_SOME_KEYS = 512

KeyedValues = tuple[list[Any], list[Any]]
"""Keys, and as many values."""


def pairs_by_key(first: KeyedValues, second: KeyedValues) -> Iterator[tuple[Any, Any, Any]]:
    """Return (key, its values of `first`, its values of `second`) for every key.

    Keys come in order of their first value, those of `first` before others. Values are in the
    order given, in lists that belong to whoever reads them.
    """
    firsts, seconds = dict(zip(*first, strict=True)), dict(zip(*second, strict=True))
    if len(firsts) == len(first[0]) and len(seconds) == len(second[0]):
        return chain.from_iterable(_unique_pairs(firsts, seconds))
    return _pairs_of_lists(lists_by_key(*first), lists_by_key(*second))


def _unique_pairs(firsts: dict[Any, Any], seconds: dict[Any, Any]) -> Iterator[Any]:
    """Yield some keys at a time: to yield one after the other takes longer than to find them."""
    keys, values = iter(firsts), iter(firsts.values())
    others = map(seconds.get, firsts, repeat(_ABSENT))
    while some := list(islice(keys, _SOME_KEYS)):
        yield zip(
            some,
            [[value] for value in islice(values, _SOME_KEYS)],
            [[] if other is _ABSENT else [other] for other in islice(others, _SOME_KEYS)],
            strict=True,
        )
    yield ((key, [], [value]) for key, value in seconds.items() if key not in firsts)


def _pairs_of_lists(
    firsts: dict[Any, list[Any]], seconds: dict[Any, list[Any]]
) -> Iterator[tuple[Any, Any, Any]]:
    for key, values in firsts.items():
        yield key, values, seconds.get(key) or []
    for key, values in seconds.items():
        if key not in firsts:
            yield key, [], values


def lists_by_key(keys: list[Any], values: list[Any]) -> dict[Any, list[Any]]:
    """Return key to its values, in order."""
    lists: defaultdict[Any, list[Any]] = defaultdict(list)
    # All in C: half the time of a loop that appends.
    position = iter(values)
    deque(map(list.append, map(lists.__getitem__, keys), position), maxlen=0)
    if left := length_hint(position):  # a key's own code raised StopIteration, and does it again
        for key, value in zip(keys[-left:], values[-left:], strict=True):
            lists[key].append(value)
    lists.default_factory = None
    return lists
