"""Laws of the text forms first, then examples, then what is refused."""

from __future__ import annotations

from datetime import timedelta
from enum import Enum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.config.parse import (
    parse_bool,
    parse_duration,
    parse_enum,
    parse_float,
    parse_int,
    parse_memory,
    parse_str,
    to_text,
)
from penstock.errors import ConfigError


class Colour(Enum):
    RED = 1
    DARK_BLUE = 2


durations = st.integers(0, timedelta.max // timedelta(milliseconds=1)).map(
    lambda millis: timedelta(milliseconds=millis)
)


@pytest.mark.parametrize(
    ("parse", "values"),
    [
        (parse_bool, st.booleans()),
        (parse_int, st.integers()),
        (parse_float, st.floats(allow_nan=False)),
        (parse_str, st.text()),
        (parse_duration, durations),
        (parse_enum(Colour), st.sampled_from(Colour)),
    ],
)
def test_text_form_reads_back_as_the_same_value(parse, values):
    @given(values)
    def law(value):
        again = parse(to_text(value))
        assert (type(again), again) == (type(value), value)

    law()


@given(st.text(max_size=12))
def test_any_text_is_a_duration_or_a_config_error(text):
    try:
        value = parse_duration(text)
    except ConfigError:
        return
    assert value >= timedelta(0)
    assert parse_duration(to_text(value)) == value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", timedelta(0)),
        ("0s", timedelta(0)),
        ("12000", timedelta(seconds=12)),
        ("250ms", timedelta(milliseconds=250)),
        ("5s", timedelta(seconds=5)),
        ("5 s", timedelta(seconds=5)),
        (" 5 sec ", timedelta(seconds=5)),
        ("2min", timedelta(minutes=2)),
        ("2 m", timedelta(minutes=2)),
        ("1h", timedelta(hours=1)),
        ("1d", timedelta(days=1)),
        ("3 Days", timedelta(days=3)),
        (timedelta(milliseconds=1500), timedelta(milliseconds=1500)),
    ],
)
def test_durations(text, expected):
    assert parse_duration(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", " ", "00 1", "-5s", "1.5s", "5 parsecs", "s", "5s5s", "\u0665s", "999999999999d"],
)
def test_refused_durations(text):
    with pytest.raises(ConfigError) as caught:
        parse_duration(text)
    assert caught.value.code == "CONFIG_INVALID"
    assert repr(text) in caught.value.problem


@pytest.mark.parametrize("value", [timedelta(microseconds=1), timedelta(seconds=-1)])
def test_refused_timedeltas(value):
    with pytest.raises(ConfigError, match="whole number of milliseconds"):
        parse_duration(value)
    with pytest.raises(ConfigError, match="whole number of milliseconds"):
        to_text(value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12", 12),
        ("12b", 12),
        ("2kb", 2048),
        ("64mb", 64 * 1024**2),
        ("128 mb", 128 * 1024**2),
        ("1g", 1024**3),
        ("1 TB", 1024**4),
    ],
)
def test_memory_sizes(text, expected):
    assert parse_memory(text) == expected


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_memory, "1.5g"),
        (parse_memory, "-1g"),
        (parse_memory, "1 pigeon"),
        (parse_bool, "yes"),
        (parse_bool, "1"),
        (parse_int, ""),
        (parse_int, "1_000"),
        (parse_int, "1.0"),
        (parse_int, "\u0664"),
        (parse_float, "much"),
        (parse_enum(Colour), "GREEN"),
    ],
)
def test_refused_texts(parse, text):
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert repr(text) in caught.value.problem


def test_booleans_integers_and_enums_in_other_spellings():
    assert parse_bool(" TRUE ") is True
    assert parse_bool("False") is False
    assert parse_int(" +4 ") == 4
    assert parse_enum(Colour)("dark_blue") is Colour.DARK_BLUE


@pytest.mark.parametrize("value", [None, [1], {"a": 1}, b"bytes", object()])
def test_values_without_a_text_form(value):
    with pytest.raises(ConfigError, match=type(value).__name__):
        to_text(value)
