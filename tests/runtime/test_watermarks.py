"""The receiving end of watermarks: minimum over active splits, then over groups."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from penstock.program.channel import WatermarkGroup
from penstock.runtime.time.watermarks import ChannelWatermarks
from penstock.wire.elements import (
    MAX_WATERMARK,
    MIN_TIMESTAMP,
    EndOfInput,
    NextPart,
    Watermark,
)


def channel(*groups, initial=None):
    return ChannelWatermarks([WatermarkGroup(*group) for group in groups], initial or {})


def say(marks, group, split, timestamp_ms, *, finished=False):
    marks.accept(Watermark(group, split, timestamp_ms, finished))
    return marks.current


def test_nothing_before_every_split_has_spoken():
    marks = channel((0, 2))
    assert say(marks, 0, 0, 10) == MIN_TIMESTAMP
    assert say(marks, 0, 1, 4) == 4


def test_minimum_over_active_splits():
    marks = channel((0, 2))
    say(marks, 0, 0, 10)
    say(marks, 0, 1, 4)
    assert say(marks, 0, 1, 7) == 7
    assert say(marks, 0, 1, 12) == 10


def test_a_finished_split_holds_nothing_back():
    marks = channel((0, 2))
    say(marks, 0, 0, 10)
    assert say(marks, 0, 1, 4, finished=True) == 10


def test_the_last_finished_split_leaves_the_greatest_watermark():
    marks = channel((0, 2))
    say(marks, 0, 0, 10, finished=True)
    assert say(marks, 0, 1, 4, finished=True) == 10


def test_splits_that_go_on_are_waited_for_behind_those_of_earlier_parts():
    spec = WatermarkGroup(0, 2, goes_on=True)
    for order in permutations([(0, 9, False), (0, 5, True), (1, 7, False), (1, 6, True)]):
        marks = ChannelWatermarks([spec], {})
        reached = [say(marks, 0, split, at, finished=ends) for split, at, ends in order]
        assert reached[-1] == 7, order
        waits = [ends for _, _, ends in order[:2]] == [True, True]
        assert not waits or reached[1] == 6, "that of earlier parts counts at once"


def test_splits_that_come_and_go_need_not_all_have_spoken():
    marks = channel((0, 0))
    assert say(marks, 0, 3, 5, finished=True) == 5
    assert say(marks, 0, 9, 4) == 5
    assert say(marks, 0, 9, 8) == 8


def test_a_split_that_is_added_does_not_stand_for_one_that_has_not_spoken():
    marks = channel((0, 2, None, True))
    say(marks, 0, 0, 10)
    assert say(marks, 0, 2, 7) == MIN_TIMESTAMP
    assert say(marks, 0, 1, 4) == 4
    assert say(marks, 0, 1, 99) == 7


def test_minimum_over_groups():
    marks = channel((0, 1), (1, 1))
    assert say(marks, 0, 0, 10) == MIN_TIMESTAMP
    assert say(marks, 1, 0, 5) == 5


def test_a_group_that_ended_holds_nothing_back():
    marks = channel((0, 1), (1, 1))
    say(marks, 0, 0, 10)
    marks.accept(EndOfInput(1))
    assert marks.current == 10
    marks.accept(EndOfInput(0))
    assert marks.current == MAX_WATERMARK


def test_a_handed_over_watermark_counts_until_splits_pass_it():
    marks = channel((0, 2), initial={0: 20})
    assert marks.current == 20
    assert say(marks, 0, 0, 15) == 20
    assert say(marks, 0, 1, 16) == 20
    say(marks, 0, 0, 30)
    assert say(marks, 0, 1, 25) == 25


groups = [(0, 2), (1, 0), (2, 1)]
elements = st.one_of(
    st.builds(Watermark, st.integers(0, 2), st.integers(0, 1), st.integers(-5, 50), st.booleans()),
    st.builds(EndOfInput, st.integers(0, 2)),
)


@given(st.lists(elements), st.integers(0, 20))
def test_never_goes_back_and_survives_a_restart_anywhere(said, restart):
    whole, cut = channel(*groups), channel(*groups)
    seen = []
    for number, element in enumerate(said):
        if number == restart:
            memory, cut = cut.remember(), channel(*groups)
            cut.restore(memory)
        whole.accept(element)
        cut.accept(element)
        assert cut.current == whole.current
        assert cut.by_group() == whole.by_group()
        seen.append(whole.current)
    assert seen == sorted(seen)


@given(st.lists(elements))
def test_memory_is_not_shared_with_the_live_object(said):
    marks = channel(*groups)
    memory = marks.remember()
    for element in said:
        marks.accept(element)
    marks.restore(memory)
    assert marks.remember() == channel(*groups).remember()


def of_parts(*splits, initial=None):
    """Return a channel of one source with parts of so many splits."""
    first, *later = splits
    group = WatermarkGroup(0, first, later=tuple((count, False) for count in later))
    return ChannelWatermarks([group], initial or {})


def test_the_next_part_keeps_the_watermark_and_waits_for_its_own_splits():
    marks = of_parts(2, 2)
    say(marks, 0, 0, 10, finished=True)
    assert say(marks, 0, 1, 4, finished=True) == 10
    assert marks.behind_history() == set()
    marks.accept(NextPart(0))
    assert marks.behind_history() == {0}
    assert marks.of_groups() == {0: (10, False)}
    say(marks, 0, 0, 99)
    assert marks.current == 10
    assert say(marks, 0, 1, 12) == 12
    assert say(marks, 0, 1, 98) == 98


def test_an_earlier_part_is_not_behind_history():
    marks = of_parts(1, 1, 1)
    marks.accept(NextPart(0))
    assert marks.behind_history() == set()
    marks.accept(NextPart(0))
    assert marks.behind_history() == {0}


def test_the_part_is_remembered():
    marks = of_parts(1, 3)
    say(marks, 0, 0, 10, finished=True)
    marks.accept(NextPart(0))
    again = of_parts(1, 3)
    again.restore(marks.remember())
    assert (again.current, again.behind_history()) == (10, {0})
    say(again, 0, 0, 20)
    say(again, 0, 1, 20)
    assert again.current == 10
    assert say(again, 0, 2, 20) == 20
