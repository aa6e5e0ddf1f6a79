"""Random changelogs, and the relational join of what they amount to, for the tests of joins."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import strategies as st

from penstock.program.join import JoinKind
from penstock.types import Row, RowKind

ADDS = (RowKind.INSERT, RowKind.UPDATE_AFTER)

keys = st.one_of(st.none(), st.integers(0, 2))
changes = st.builds(
    Row.of_kind,
    st.sampled_from([*ADDS, RowKind.INSERT, RowKind.DELETE, RowKind.UPDATE_BEFORE]),
    keys,
    st.sampled_from("ab"),
)
changelogs = st.lists(changes, max_size=25)


def rows_of(changelog: list[Row]) -> Counter[tuple[Any, ...]]:
    """Return what is there after all changes; a row deleted too often is not there."""
    counts: Counter[tuple[Any, ...]] = Counter()
    for change in changelog:
        counts[tuple(change)] += 1 if change.get_row_kind() in ADDS else -1
    return +counts


def join(
    left: Counter[tuple[Any, ...]], right: Counter[tuple[Any, ...]], kind: JoinKind
) -> Counter[tuple[Any, Any]]:
    """Return the join on the first field, by the book."""
    joined: Counter[tuple[Any, Any]] = Counter()
    for one, times in left.items():
        for other, more_times in right.items():
            if one[0] is not None and one[0] == other[0]:
                joined[one, other] += times * more_times
    if kind in {JoinKind.LEFT, JoinKind.FULL}:
        for one, times in left.items():
            if one[0] is None or all(other[0] != one[0] for other in right):
                joined[one, None] += times
    if kind in {JoinKind.RIGHT, JoinKind.FULL}:
        for other, times in right.items():
            if other[0] is None or all(one[0] != other[0] for one in left):
                joined[None, other] += times
    return joined


def materialised(output: list[Row]) -> Counter[tuple[Any, Any]]:
    """Apply a joined changelog.

    Raises:
        AssertionError: It is not one: it deletes what is not there, or has other kinds.
    """
    counts: Counter[tuple[Any, Any]] = Counter()
    for change in output:
        pair = (_plain(change.left), _plain(change.right))
        assert change.get_row_kind() in {RowKind.INSERT, RowKind.DELETE}
        counts[pair] += 1 if change.get_row_kind() is RowKind.INSERT else -1
        assert counts[pair] >= 0, f"{change} deletes what is not there"
    return +counts


def _plain(side: Row | None) -> tuple[Any, ...] | None:
    if side is None:
        return None
    assert side.get_row_kind() is RowKind.INSERT
    return tuple(side)
