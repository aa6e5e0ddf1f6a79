"""Operators that process both inputs together, and the records of both, grouped by key.

The two values of a key need not be lists: functions need a length, and iterate several times in order. So
records of large keys may be on disk.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from itertools import islice, repeat
from operator import length_hint
from typing import Any

from penstock.program.level import OperatorSpec
from penstock.runtime.exchange.channel_writer import results_among
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.operators.base import Collect
from penstock.runtime.operators.keyed import KeyedOperator

Batch = tuple[list[Any], list[int] | None]
"""(values, timestamps)."""


def results_apart(waiting: list[list[Batch]]) -> tuple[list[list[Batch]], list[list[Batch]]]:
    """Return the results of a bounded region, which come first, and the other records, by input."""
    if not any(results_among(values) for batches in waiting for values, _ in batches):
        return [[] for _ in waiting], waiting
    results: list[list[Batch]] = [[] for _ in waiting]
    others: list[list[Batch]] = [[] for _ in waiting]
    for number, batches in enumerate(waiting):
        for values, stamps in batches:
            end = results_among(values)
            results[number].append((values[:end], None if stamps is None else stamps[:end]))
            others[number].append((values[end:], None if stamps is None else stamps[end:]))
    return results, others


class BuffersInputs(KeyedOperator):
    """Buffers the batches of each input until all inputs are complete."""

    def __init__(
        self, spec: OperatorSpec, output: Output, context: OperatorContext, scope: KeyedScope
    ) -> None:
        super().__init__(spec, output, context, scope)
        self._waiting: list[list[Batch]] = [[] for _ in spec.key_selectors]

    def collector(self, number: int) -> Collect:
        """Return the receiver of the records of input `number`, which buffers them."""

        def hold(values: list[Any], timestamps: list[int] | None) -> None:
            self.records_in += len(values)
            self._waiting[number].append((values, timestamps))

        return hold

    def take_waiting(self) -> list[list[Batch]]:
        """Remove and return the buffered batches by input."""
        waiting, self._waiting = self._waiting, [[] for _ in self._waiting]
        return waiting


_ABSENT = object()
SOME_KEYS = 512
"""Keys that are paired at a time: their lists are read while they are in the processor's cache."""

KeyedValues = tuple[list[Any], list[Any]]
"""Keys, and as many values."""

Pairs = tuple[list[Any], list[Any], list[Any]]
"""Keys, and for each its values of the first input and of the second."""


def pairs_by_key(first: KeyedValues, second: KeyedValues) -> Iterator[Pairs]:
    """Return every key, its values of `first` and its values of `second`, some keys at a time.

    Keys are in order of their first value, those of `first` before others. Values are in the given
    order, in lists that the caller owns.
    """
    keys = set(first[0])
    if len(keys) == len(first[0]):
        seconds = dict(zip(*second, strict=True))
        if len(seconds) == len(second[0]):
            return _unique_pairs(keys, first, seconds)
    return _pairs_of_lists(lists_by_key(*first), lists_by_key(*second))


def _unique_pairs(
    distinct: set[Any], first: KeyedValues, seconds: dict[Any, Any]
) -> Iterator[Pairs]:
    keys, values = first
    for start in range(0, len(keys), SOME_KEYS):
        some = keys[start : start + SOME_KEYS]
        others = map(seconds.get, some, repeat(_ABSENT))
        yield (
            some,
            [[value] for value in values[start : start + SOME_KEYS]],
            [[] if other is _ABSENT else [other] for other in others],
        )
    rest = (item for item in seconds.items() if item[0] not in distinct)
    while items := list(islice(rest, SOME_KEYS)):
        yield [key for key, _ in items], [[] for _ in items], [[value] for _, value in items]


def _pairs_of_lists(firsts: dict[Any, list[Any]], seconds: dict[Any, list[Any]]) -> Iterator[Pairs]:
    keys = iter(firsts)
    while some := list(islice(keys, SOME_KEYS)):
        yield some, [firsts[key] for key in some], [seconds.get(key) or [] for key in some]
    rest = (key for key in seconds if key not in firsts)
    while some := list(islice(rest, SOME_KEYS)):
        yield some, [[] for _ in some], [seconds[key] for key in some]


def lists_by_key(keys: list[Any], values: list[Any]) -> dict[Any, list[Any]]:
    """Return key to its values, in order."""
    lists: defaultdict[Any, list[Any]] = defaultdict(list)
    # Runs in C, in half the time of a loop that appends.
    position = iter(values)
    deque(map(list.append, map(lists.__getitem__, keys), position), maxlen=0)
    # the code of a key raised StopIteration, and raises it again here
    if left := length_hint(position):
        for key, value in zip(keys[-left:], values[-left:], strict=True):
            lists[key].append(value)
    lists.default_factory = None
    return lists
