"""Co-groups and joins by definition, from the plain lists of records of both inputs.

A record is (key, time, value, number). Nothing here knows of operators, buffers, timers or state;
which windows there are is what `window_oracle` says of all records together.
"""

from __future__ import annotations

from typing import Any

from tests.runtime.window_oracle import MAX, MIN, contents

Groups = dict[Any, tuple[list[Any], list[Any]]]
"""(key, window) to the records of both inputs."""


def co_groups(shape: Any, left: list[Any], right: list[Any]) -> Groups:
    """Return the groups of every window that has a record; ("whole",) is one window for all."""
    tagged = [
        (*record[:3], (side, record)) for side, of in enumerate((left, right)) for record in of
    ]
    if shape[0] == "whole":
        held: dict[Any, list[Any]] = {}
        for record in tagged:
            held.setdefault((record[0], (MIN, MAX)), []).append(record)
    else:
        held = contents(shape, tagged)
    groups: Groups = {}
    for place, of in held.items():
        sides: tuple[list[Any], list[Any]] = ([], [])
        for _, _, _, (side, record) in of:
            sides[side].append(record)
        groups[place] = sides
    return groups


def joined(groups: Groups, *, pads_left: bool, pads_right: bool) -> list[Any]:
    """Return (number or None, number or None) of all pairs of a window join."""
    pairs: list[Any] = []
    for left, right in groups.values():
        pairs += [(a[3], b[3]) for a in left for b in right]
        if pads_left and not right:
            pairs += [(a[3], None) for a in left]
        if pads_right and not left:
            pairs += [(None, b[3]) for b in right]
    return pairs


def close_pairs(left: list[Any], right: list[Any], lower: int, upper: int) -> list[Any]:
    """Return (number, number, later time) of all pairs of an interval join."""
    return [
        (a[3], b[3], max(a[1], b[1]))
        for a in left
        for b in right
        if a[0] == b[0] and lower <= b[1] - a[1] <= upper
    ]
