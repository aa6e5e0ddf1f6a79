"""The fingerprint of a plan, and differences of the shapes of two graphs in words."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.plan.physical import PhysicalPlan
from penstock.program.channel import SINK_LEVEL, StreamPartitioner
from penstock.program.level import OperatorSpec

_UID, _KIND, _LEVEL, _PARALLELISM, _CUT = 0, 1, 2, 3, 7
"""Positions in the description of an operator."""

_PANES = (
    3  # numbers that describe the panes of a window: size, slide, offset; bounds of a join are two
)


_FIRST = ("operators", "sinks", "sources")
"""Parts that the user has written, which come before their consequences."""


def without_parallelism(shape: Mapping[str, Any]) -> dict[str, Any]:
    """Return a shape without what follows from the numbers of subtasks and of key groups.

    A change of them adds exchanges and removes them. The targets of the records of
    each operator stay, and whether records go there by key.
    """
    by_key = StreamPartitioner.HASH.name
    targets = {
        number: [level == SINK_LEVEL, target, partitioner == by_key]
        for number, _, level, target, _, partitioner, _ in shape["channels"]
    }

    def ends(chained: Sequence[int], channels: Sequence[int]) -> list[list[Any]]:
        within = [[False, target, False] for target in chained]
        return sorted([*within, *(targets[channel] for channel in channels)])

    operators = sorted(
        [uid, kind, 0, None, ends(chained, channels), [],
         [[tag, ends(*of), []] for tag, *of in sides], *cut]
        for uid, kind, _, _, chained, channels, sides, *cut in shape["operators"]
    )  # fmt: skip
    return {**{part: shape[part] for part in ("sources", "sinks", "runs")}, "operators": operators}


def may_have_key_groups(old: int, new: int) -> bool:
    """Return whether the state of a job can be divided into another number of key groups.

    The key group of a key is the uppermost part of a product, so a doubling divides each of them in two.
    """
    times, rest = divmod(new, old)
    return rest == 0 and times.bit_count() == 1


def first_difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    """Return the first thing in which two shapes differ, as a phrase for a message."""
    # The recorded shape comes back in order of names, and a new operator changes exchanges too.
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
    one, other = (f"{_kind(channel[5])} to {_parallelism(channel[6])}" for channel in (was, now))
    changed = "leads somewhere else" if one == other else f"was {one}, is {other}"
    return f"exchange {was[0]} {changed}"


def _ends(aspect: str, before: Sequence[Any], after: Sequence[Any]) -> str:
    was, now = (", ".join(_end(end) for end in several) or "none" for several in (before, after))
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
"""Aspect of a shape to the function that describes its change; others are plain values."""


def describe_shape(plan: PhysicalPlan) -> dict[str, object]:
    """Return all facts of the plan that a checkpoint depends on, as JSON.

    User functions may change between runs of a job, and numbers of subtasks; operators, their uids, their edges and the
    sequence of runs may not.
    """
    return {
        "operators": [
            [
                op.uid,
                op.kind.name,
                level.level,
                op.parallelism,
                list(op.chained_to),
                list(op.channels),
                [
                    [side.tag, list(side.chained_to), list(side.channels)]
                    for side in op.side_outputs
                ],
                _cut_of_state(op),
            ]
            for level in plan.levels
            for op in level.operators
        ],
        "channels": [
            [
                c.id,
                c.source_level,
                c.target_level,
                c.target_operator,
                c.target_input,
                c.partitioner.name,
                c.subtasks,
            ]
            for c in plan.channels
        ],
        "sources": [[s.id, s.name, [part.kind for part in s.parts]] for s in plan.sources],
        "sinks": [[s.uid, s.sink.kind] for s in plan.sinks],
        "runs": [[r.name, r.kind.name] for r in plan.runs],
        "parallelism": plan.options.parallelism,
        "max_parallelism": plan.options.max_parallelism,
    }


def _cut_of_state(operator: OperatorSpec) -> list[int] | None:
    """Return the numbers that determine the keys of an operator's state, None if there are none.

    These are the lengths of windows in panes, and the bounds of an interval join.
    """
    if operator.interval is not None:
        return [operator.interval.lower, operator.interval.upper]
    panes = None if operator.window is None else operator.window.panes
    if panes is None:
        return None
    return [panes.size, panes.slide, panes.offset, *([1] if panes.grows else [])]


def fingerprint(plan: PhysicalPlan) -> str:
    """Return a short digest of `describe_shape`."""
    text = json.dumps(describe_shape(plan), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
