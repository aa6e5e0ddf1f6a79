"""Differences of two shapes of a graph, in words.

A shape is what `describe_shape` gives, or what an earlier driver recorded of it as JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

_UID, _KIND, _LEVEL, _PARALLELISM, _CUT = 0, 1, 2, 3, 7
"""Positions in the description of an operator."""

_PANES = 3  # numbers that say how a window is cut: size, slide, offset; bounds of a join are two


_FIRST = ("operators", "sinks", "sources")
"""Parts that the user has written, which come before their consequences."""


def first_difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    """Return the first thing in which two shapes differ, as a phrase for a message."""
    # What was recorded comes back in order of names, and an operator that is new changes exchanges too.
    for aspect in sorted(old, key=_order):
        before, after = old[aspect], new.get(aspect)
        if before != after:
            return _WORDS.get(aspect, _plainly)(aspect, before, after)
    return "nothing"


def _order(aspect: str) -> int:
    return _FIRST.index(aspect) if aspect in _FIRST else len(_FIRST)


def _operators(_: str, before: Sequence[Any], after: Sequence[Any]) -> str:
    was = {operator[_UID]: operator for operator in before}
    now = {operator[_UID]: operator for operator in after}
    gone, fresh = [uid for uid in was if uid not in now], [uid for uid in now if uid not in was]
    if gone or fresh:
        changes = [f"{_names(gone)} gone"] if gone else []
        changes += [f"{_names(fresh)} new"] if fresh else []
        return f"operators: {' and '.join(changes)}"
    for uid, operator in now.items():
        if operator != was[uid]:
            return _of_operator(uid, was[uid], operator)
    return "operators have another order"


def _of_operator(uid: str, was: Sequence[Any], now: Sequence[Any]) -> str:
    if was[_KIND] != now[_KIND]:
        return f"operator {uid!r} was a {_kind(was[_KIND])}, is a {_kind(now[_KIND])}"
    if was[_PARALLELISM] != now[_PARALLELISM]:
        return (
            f"operator {uid!r} had {_parallelism(was[_PARALLELISM])}, "
            f"has {_parallelism(now[_PARALLELISM])}"
        )
    if was[_CUT:] != now[_CUT:] and len(was) > _CUT:
        return f"operator {uid!r} had {_cut(was[_CUT])}, has {_cut(now[_CUT])}"
    if was[_LEVEL] != now[_LEVEL]:
        return f"operator {uid!r} had {was[_LEVEL]} exchanges before it, has {now[_LEVEL]}"
    return f"operator {uid!r} sends its records to other operators than before"


def _cut(numbers: Sequence[int] | None) -> str:
    if numbers is None:
        return "windows of another kind"
    if len(numbers) < _PANES:
        return f"an interval from {numbers[0]} to {numbers[1]} ms"
    size, slide, offset = numbers
    every = "" if slide == size else f" every {slide} ms"
    shifted = f", shifted by {offset} ms" if offset else ""
    return f"windows of {size} ms{every}{shifted}"


def _channels(_: str, before: Sequence[Any], after: Sequence[Any]) -> str:
    if len(before) != len(after):
        return f"there were {len(before)} exchanges between operators, there are {len(after)}"
    was, now = next((b, a) for b, a in zip(before, after, strict=True) if b != a)
    one, other = (f"{_kind(each[5])} to {_parallelism(each[6])}" for each in (was, now))
    changed = "leads somewhere else" if one == other else f"was {one}, is {other}"
    return f"exchange {was[0]} {changed}"


def _ends(aspect: str, before: Sequence[Any], after: Sequence[Any]) -> str:
    was, now = (", ".join(_end(each) for each in several) or "none" for several in (before, after))
    return f"{aspect} were {was}; are {now}"


def _end(described: Sequence[Any]) -> str:
    *_, name, kinds = described
    return f"{name!r} ({kinds if isinstance(kinds, str) else ', then '.join(kinds)})"


def _plainly(aspect: str, before: object, after: object) -> str:
    return f"{aspect.replace('_', ' ')} was {before}, is {after}"


def _names(uids: Sequence[str]) -> str:
    return ", ".join(repr(uid) for uid in uids) + (" is" if len(uids) == 1 else " are")


def _kind(name: str) -> str:
    return name.lower().replace("_", " ")


def _parallelism(number: int | None) -> str:
    return "the parallelism of the job" if number is None else f"parallelism {number}"


_WORDS: dict[str, Callable[[str, Any, Any], str]] = {
    "operators": _operators,
    "channels": _channels,
    "sources": _ends,
    "sinks": _ends,
    "runs": _ends,
}
"""Aspect of a shape to what says how it has changed; others are plain values."""
