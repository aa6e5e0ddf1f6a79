"""The table of logs: what views carry, and merges of extents that compaction drops meanwhile."""

from __future__ import annotations

import pytest

from penstock.state.log.change_log import Head
from penstock.state.log.extent import Extent
from penstock.state.log.log_table import LogTable

NAME = (1, 0)
EXTENTS = tuple(Extent(2 * n, 2 * n + 1, f"records/{n}", 0, 10, n) for n in range(5))
MERGED = Extent(0, 5, "segments/merged", 0, 30, 7)


def head(first, last=9):
    return Head(first, last, ((last, "t"),)).encode()


@pytest.mark.parametrize(
    ("oldest", "left"),
    [
        (0, (MERGED, *EXTENTS[3:])),
        (1, (MERGED, *EXTENTS[3:])),
        (4, (MERGED, *EXTENTS[3:])),
        (5, (MERGED, *EXTENTS[3:])),
        (6, EXTENTS[3:]),
        (9, EXTENTS[4:]),
        (10, ()),
    ],
)
def test_a_merge_takes_the_place_of_those_sources_that_are_left(oldest, left):
    table = LogTable()
    table.apply({NAME: (head(0), EXTENTS)}, {})
    table.apply({NAME: (head(oldest), ())}, {})
    table.merged(NAME, EXTENTS[:3], MERGED)
    assert table.view(NAME).extents == left
    assert table.files() == {extent.file for extent in left}


def test_a_merge_in_the_middle_keeps_both_sides():
    table = LogTable()
    table.apply({NAME: (head(0), EXTENTS)}, {})
    one = Extent(2, 5, "segments/merged", 0, 20, 7)
    table.merged(NAME, EXTENTS[1:3], one)
    assert table.view(NAME).extents == (EXTENTS[0], one, *EXTENTS[3:])


def test_a_merge_is_due_when_there_is_something_to_gain():
    table = LogTable()
    table.apply({NAME: (head(0), EXTENTS)}, {})
    assert table.is_due(4, 2)
    assert not table.is_due(5, 2)
    table.merge_ended()  # and all five are too large to be merged
    assert not table.is_due(4, 2)
    more = tuple(Extent(10 + n, 10 + n, f"records/{n}", 0, 10, n) for n in range(3))
    table.apply({NAME: (head(0, 12), more)}, {})
    assert table.is_due(4, 2)
    table.apply({NAME: (head(11, 12), ())}, {})
    assert not table.is_due(4, 2)
