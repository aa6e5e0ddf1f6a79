"""The estimate of when a run has caught up, against speeds that are known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.spark.live.live_progress import CatchUp


@given(
    left=st.integers(1_000, 10**9),
    per_second=st.integers(1, 100),
    pauses=st.lists(st.integers(1, 3), min_size=1, max_size=40),
)
def test_a_steady_speed_gives_the_right_time(left, per_second, pauses):
    estimate = CatchUp()
    now = 50.0
    assert estimate.note(now, left) is None
    for pause in pauses:
        now += pause
        left -= pause * per_second
        if left <= 0:
            assert estimate.note(now, left) == 0
            return
        assert estimate.note(now, left) == pytest.approx(left / per_second)


def test_a_run_that_does_not_come_nearer_has_no_time():
    estimate = CatchUp()
    assert [estimate.note(at, 100) for at in (0, 5, 10)] == [None, None, None]
    assert estimate.note(15, 90) == pytest.approx(90 * 15 / 10)
    assert estimate.note(20, 500) is None, "more has come"
    assert estimate.note(25, 450) == pytest.approx(45)


def test_looks_at_the_same_moment_say_nothing():
    estimate = CatchUp()
    assert [estimate.note(0, 100), estimate.note(0, 10), estimate.note(0.5, 9)] == [None] * 3


def test_what_is_not_known_has_no_time_and_forgets_what_was():
    estimate = CatchUp()
    estimate.note(0, 100)
    assert estimate.note(5, None) is None
    assert estimate.note(10, 50) is None
