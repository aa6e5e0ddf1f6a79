"""The clock of a task: sections nest, and together they are the whole time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.metrics import task_clock
from penstock.metrics.task_clock import TaskClock


class Ticks:
    """Nanoseconds that pass when a test says so."""

    def __init__(self):
        self.now = 0

    def __call__(self):
        return self.now


def clock_at(ticks, monkeypatch, section="a"):
    monkeypatch.setattr(task_clock, "perf_counter_ns", ticks)
    return TaskClock(section)


def test_a_section_gets_its_own_time_only(monkeypatch):
    ticks = Ticks()
    clock = clock_at(ticks, monkeypatch)
    ticks.now = 5
    before = clock.switch("b")
    ticks.now = 7
    assert clock.switch(before) == "b"
    ticks.now = 17
    assert clock.take("level-1") == {"level-1.a": 15, "level-1.b": 2}


def test_what_was_taken_does_not_come_again(monkeypatch):
    ticks = Ticks()
    clock = clock_at(ticks, monkeypatch)
    ticks.now = 5
    assert clock.take("x") == {"x.a": 5}
    assert clock.take("x") == {}
    ticks.now = 6
    assert clock.take("x") == {"x.a": 1}


def test_a_break_belongs_to_no_section(monkeypatch):
    ticks = Ticks()
    clock = clock_at(ticks, monkeypatch)
    ticks.now = 5
    clock.switch("b")
    ticks.now = 100
    clock.resume("c")
    ticks.now = 103
    assert clock.take("x") == {"x.a": 5, "x.c": 3}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 1000))))
def test_sections_add_up_to_the_time_that_passed(steps):
    ticks = Ticks()
    with pytest.MonkeyPatch.context() as patch:
        clock = clock_at(ticks, patch)
        for section, passes in steps:
            clock.switch(section)
            ticks.now += passes
        taken = clock.take("x")
    assert sum(taken.values()) == ticks.now
