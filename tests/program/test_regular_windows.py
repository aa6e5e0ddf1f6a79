"""Windows at regular distances are those of their definition, and panes are parts of the same windows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.program.windows import RegularWindows

SHAPES = {
    "tumbling": RegularWindows(7, 7, 2),
    "sliding": RegularWindows(9, 6, -1),
    "gaps": RegularWindows(4, 6, 0),
    "growing": RegularWindows(12, 4, 3, grows=True),
}


def defined(shape: RegularWindows) -> list[tuple[int, int]]:
    if not shape.grows:
        starts = range(shape.offset - 20 * shape.slide, 200, shape.slide)
        return [(start, start + shape.size) for start in starts]
    starts = range(shape.offset - 20 * shape.size, 200, shape.size)
    lengths = range(shape.slide, shape.size + 1, shape.slide)
    return [(start, start + length) for start in starts for length in lengths]


@pytest.mark.parametrize("name", SHAPES)
@given(time=st.integers(-40, 100))
def test_a_time_is_in_the_windows_of_the_definition(name: str, time: int) -> None:
    shape = SHAPES[name]
    wanted = [each for each in defined(shape) if each[0] <= time < each[1]]
    assert sorted(shape.of(time)) == wanted
    pane = time - (time - shape.offset) % shape.width
    ends = shape.ends_of(pane)
    assert [(shape.start_of(end), end) for end in ends] == wanted
    assert list(ends) == sorted(ends)


@pytest.mark.parametrize("name", SHAPES)
@given(time=st.integers(-40, 100))
def test_the_next_end_and_the_last_one(name: str, time: int) -> None:
    shape = SHAPES[name]
    ends = sorted({end for _, end in defined(shape)})
    assert shape.end_behind(time) == min(end for end in ends if end >= time)
    assert shape.last_end(time) == max(end for start, end in defined(shape) if start <= time)
