"""Shrinking of a difference: first the two ways, then the records, as long as the ways still part."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import TypeVar

from penstock.testing.law.samples import Inputs
from penstock.testing.law.ways import ALL_RECORDS, Way, WayMode

T = TypeVar("T")

Parts = Callable[[Way, Way, Inputs], bool]
"""Returns whether two ways still part on an input."""

_FIELDS = tuple(field.name for field in fields(Way))
_SIMPLER: dict[str, tuple[object, ...]] = {
    "parallelism": (2,),
    "epochs": ((ALL_RECORDS,), (1,)),
    "cut": (None, 0.5),
    "frame_records": (1,),
    "restart_every": (1,),
    "fail_every": (1,),
    "points": (1,),
    "order": (1,),
}
"""Field to simple values that are tried behind its default."""


class Deadline:
    """The time until which shrinking goes on."""

    def __init__(self, seconds: float) -> None:
        """Begin."""
        self._end = time.monotonic() + seconds

    @property
    def is_over(self) -> bool:
        """True if the time is over."""
        return time.monotonic() >= self._end


def shrink(
    first: Way, second: Way, inputs: Inputs, part: Parts, deadline: Deadline
) -> tuple[Way, Way, Inputs]:
    """Return the simplest ways and the smallest input that were found."""
    first, second = shrink_ways(first, second, inputs, part, deadline)
    inputs = shrink_records(first, second, inputs, part, deadline)
    first, second = shrink_ways(first, second, inputs, part, deadline)
    return first, second, inputs


def shrink_ways(
    first: Way, second: Way, inputs: Inputs, part: Parts, deadline: Deadline
) -> tuple[Way, Way]:
    """Return ways with fewer differences between them, and from the defaults."""
    has_changed = True
    while has_changed and not deadline.is_over:
        has_changed = False
        for pair in _simpler_pairs(first, second):
            if deadline.is_over:
                break
            if part(*pair, inputs):
                first, second = pair
                has_changed = True
                break
    return first, second


def _simpler_pairs(first: Way, second: Way) -> Iterator[tuple[Way, Way]]:
    """Yield pairs that are simpler: a field is equal in both, or nearer to its default in one or both."""
    for name in _FIELDS:
        one, other = getattr(first, name), getattr(second, name)
        if one != other:
            yield from _valid(first, replace(second, **{name: one}))
            yield from _valid(replace(first, **{name: other}), second)
    default = Way()
    for name in _FIELDS:
        for value in (getattr(default, name), *_SIMPLER.get(name, ())):
            ranks = [_rank(name, getattr(way, name)) for way in (first, second)]
            rank = _rank(name, value)
            changed = [
                replace(way, **{name: value}) if before > rank else way
                for way, before in zip((first, second), ranks, strict=True)
            ]
            if changed != [first, second]:
                yield from _valid(*changed)


def _rank(name: str, value: object) -> int:
    values = (getattr(Way(), name), *_SIMPLER.get(name, ()))
    return values.index(value) if value in values else len(values)


def _valid(first: Way, second: Way) -> Iterator[tuple[Way, Way]]:
    """Yield a pair unless a way of it has no runs of its mode."""
    if not any(way.mode is WayMode.MIXED and way.cut is None for way in (first, second)):
        yield first, second


def shrink_records(
    first: Way, second: Way, inputs: Inputs, part: Parts, deadline: Deadline
) -> Inputs:
    """Return an input of which no record can be left out."""
    records = [(source, element) for source, sample in inputs.items() for element in sample]

    def input_of(kept: Sequence[tuple[int, object]]) -> Inputs:
        return {
            source: tuple(element for of, element in kept if of == source)  # type: ignore[misc]
            for source in inputs
        }

    kept = minimized(records, lambda some: part(first, second, input_of(some)), deadline)
    return input_of(kept)


def minimized(
    items: Sequence[T], still: Callable[[Sequence[T]], bool], deadline: Deadline
) -> list[T]:
    """Return items of which no single one can be left out, by delta debugging.

    Example:
        >>> minimized(range(100), lambda some: {7, 42} <= set(some), Deadline(10))
        [7, 42]
    """
    kept, pieces = list(items), 2
    while len(kept) > 1 and not deadline.is_over:
        size = -(-len(kept) // pieces)
        for start in range(0, len(kept), size):
            rest = kept[:start] + kept[start + size :]
            if rest and still(rest):
                kept, pieces = rest, max(pieces - 1, 2)
                break
            if deadline.is_over:
                break
        else:
            if size == 1:
                break
            pieces = min(pieces * 2, len(kept))
    return kept
