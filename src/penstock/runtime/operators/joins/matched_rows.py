"""The change of a regular join whose rows of equal keys must satisfy a further condition.

Whether a row has a match is then a matter of the row and not of its key. The rows of both sides are compared pair by
pair; of a side that did not change no more than needed: an inner join compares changed rows with all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.program.join import Existence, JoinKind
from penstock.runtime.operators.joins.join_side import Change, JoinSide

Changes = dict[bytes, Change]


def matched_difference(
    changes: tuple[Changes, Changes],
    sides: tuple[JoinSide, JoinSide],
    kind: JoinKind,
    existence: Existence | None,
    condition: Callable[[Any, Any], bool],
) -> list[tuple[Any, Any, int]]:
    """Return (left, right, change of the count) of the current key."""
    pads = (kind.pads(0) or existence is not None, kind.pads(1) and existence is None)
    lefts = list(_rows(changes[0], sides[0], with_unchanged=bool(changes[1]) or pads[1]))
    rights = list(_rows(changes[1], sides[1], with_unchanged=bool(changes[0]) or pads[0]))
    right_marks = [[False, False] for _ in rights]
    made: list[tuple[Any, Any, int]] = []
    for left, left_before, left_now in lefts:
        had = has = False
        for (right, before, now), mark in zip(rights, right_marks, strict=True):
            if not condition(left, right):
                continue
            had = had or before > 0
            has = has or now > 0
            mark[0] = mark[0] or left_before > 0
            mark[1] = mark[1] or left_now > 0
            if existence is None:
                made.append((left, right, left_now * now - left_before * before))
        if pads[0]:
            counts_matched = existence is Existence.SEMI
            before = left_before if had is counts_matched else 0
            now = left_now if has is counts_matched else 0
            made.append((left, None, now - before))
    if pads[1]:
        for (right, before, now), (had, has) in zip(rights, right_marks, strict=True):
            made.append((None, right, (0 if has else now) - (0 if had else before)))
    return [each for each in made if each[2]]


def _rows(
    changes: Changes, side: JoinSide, *, with_unchanged: bool
) -> Iterator[tuple[Any, int, int]]:
    """Yield (row, count before, count now)."""
    yield from changes.values()
    if with_unchanged:
        for digest, row, count in side.rows():
            if digest not in changes:
                yield row, count, count
