"""Lengths and points of time."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import ArgumentError
from penstock.types.time import Duration, Instant, Time


@given(st.integers())
def test_instants_keep_milliseconds(millis: int) -> None:
    assert Instant.of_epoch_milli(millis).to_epoch_milli() == millis


@given(st.integers(), st.integers())
def test_order_is_that_of_the_numbers(left: int, right: int) -> None:
    assert (Instant.of_epoch_milli(left) < Instant.of_epoch_milli(right)) == (left < right)
    assert (Time(left) < Time(right)) == (left < right)
    assert (Duration(left) == Duration(right)) == (left == right)


def test_units() -> None:
    assert Time.days(1) == Time.hours(24) == Time.minutes(1440) == Time.seconds(86_400)
    assert Time.milliseconds(5).to_milliseconds() == 5
    assert Duration.of_days(1) == Duration.of_hours(24) == Duration.of_minutes(1440)
    assert Duration.of_seconds(2) == Duration.of_millis(2000) == Duration.of_nanos(2 * 10**9)
    assert Duration.of_nanos(1_999_999).to_millis() == 1
    assert Duration.of_nanos(-1).to_millis() == -1


def test_text_forms() -> None:
    assert str(Time(5)) == "5 ms"
    assert repr(Instant(1, 2)) == "Instant<1, 2>"


@pytest.mark.parametrize("value", [Time(5), Duration(5), Instant(5, 6)])
def test_values_are_immutable_and_pickle(value: Any) -> None:
    assert pickle.loads(pickle.dumps(value)) == value == copy.deepcopy(value)
    assert len({value, copy.copy(value)}) == 1
    with pytest.raises((AttributeError, TypeError)):
        value.nanos = 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: Time.seconds(0.5),  # type: ignore[arg-type]
        lambda: Time(True),
        lambda: Duration.of_days("1"),  # type: ignore[arg-type]
        lambda: Instant(0, 10**9),
        lambda: Instant(0, -1),
    ],
)
def test_what_is_no_time_is_refused(make: Any) -> None:
    with pytest.raises(ArgumentError) as raised:
        make()
    assert raised.value.code == "GRAPH_ARGUMENT"
