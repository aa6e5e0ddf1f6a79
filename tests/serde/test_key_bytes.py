"""Bytes of keys never change: golden values, only ever added to."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from fractions import Fraction
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Row, RowKind
from penstock.errors import DecodeError, KeyTypeError
from penstock.wire.canonical.key_bytes import MAX_KEY_BYTES, decode_key, encode_key, is_decodable
from penstock.wire.canonical.key_encodings import stable_hash


class Color(Enum):
    RED = 1


class Fruit(Enum):
    RED = 1


class Level(IntEnum):
    HIGH = 3


class Name(StrEnum):
    ANN = "ann"


@dataclass(frozen=True)
class Place:
    x: int
    y: str
    note: str = field(default="", compare=False)


@dataclass(frozen=True)
class Spot:
    x: int
    y: str


@dataclass
class Changeable:
    x: int


Pair = namedtuple("Pair", "a b")  # noqa: PYI024 - the untyped kind is a key too
plus_two = timezone(timedelta(hours=2))
berlin = ZoneInfo("Europe/Berlin")

GOLDEN = [
    (None, "01"),
    (0, "12 80 00 00 00"),
    (1, "12 80 00 00 01"),
    (-5, "12 7f ff ff fb"),
    (2**31, "13 80 00 00 00 80 00 00 00"),
    (-(2**31) - 1, "11 7f ff ff ff 7f ff ff ff"),
    (2**70, "14 00 00 00 09 40 00 00 00 00 00 00 00 00"),
    (-(2**70), "10 ff ff ff f6 c0 00 00 00 00 00 00 00 00"),
    (1.5, "16 3f f8 00 00 00 00 00 00"),
    (Decimal("2.50"), "16 40 04 00 00 00 00 00 00"),
    (Decimal("0.1"), "17 05 12 80 00 00 01 05 12 80 00 00 0a"),
    (float("inf"), "16 7f f0 00 00 00 00 00 00"),
    (1 + 2j, "18 05 12 80 00 00 01 05 12 80 00 00 02"),
    ("", "20"),
    ("a", "20 61"),
    ("\ud800", "20 ed a0 80"),
    (b"a", "21 61"),
    ((), "30"),
    (("a", ("b", None)), "30 02 20 61 06 30 02 20 62 01 01"),
    (Row("a", 1), "31 02 2b 49 02 20 61 05 12 80 00 00 01"),
    (Row(b=1, a=2), "32 02 2b 49 01 61 05 12 80 00 00 02 01 62 05 12 80 00 00 01"),
    (frozenset({1, "a"}), "33 05 12 80 00 00 01 02 20 61"),
    (date(2024, 2, 29), "40 12 80 0b 46 81"),
    (datetime(1970, 1, 1, 0, 0, 1), "41 12 80 0f 42 40"),  # noqa: DTZ001
    (datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), "42 12 80 0f 42 40"),
    (time(0, 0, 1), "43 12 80 0f 42 40"),
    (time(0, 0, 1, tzinfo=UTC), "44 12 80 0f 42 40"),
    (timedelta(seconds=-1), "45 12 7f f0 bd c0"),
    (UUID(int=7), "46 " + "00 " * 15 + "07"),
    ("x" * 239, "20" + " 78" * 239),
    (
        "x" * 240,
        (
            "7f b4 7d 66 eb ed 5c 4f 3f a1 03 43 81 eb 74 e2 "
            "39 92 5e 69 3b b9 97 c3 c9 4c f6 2e 45 28 66 92 8f"
        ),
    ),
]


@pytest.mark.parametrize(("key", "expected"), GOLDEN, ids=[golden for _, golden in GOLDEN])
def test_golden(key, expected):
    assert encode_key(key).hex(" ") == expected


def test_classes_are_named_in_the_bytes():
    assert encode_key(Color.RED) == b"\x35" + bytes((len(__name__) + 6,)) + (
        f"{__name__}.Color".encode() + b"\x03RED"
    )
    assert encode_key(Place(1, "a")).startswith(b"\x34" + bytes((len(__name__) + 6,)))


EQUAL = [
    (1, 1.0),
    (1, True),
    (-5, Decimal(-5)),
    (10**400, Decimal("1E+400")),
    (0.5, Fraction(1, 2)),
    (0.5, Decimal("0.50")),
    (Fraction(1, 3), Fraction(2, 6)),
    (Fraction(1, 10**400), Decimal("1E-400")),
    (float("inf"), Decimal("Infinity")),
    (0.0, -0.0),
    (3, Level.HIGH),
    ("ann", Name.ANN),
    (1, 1 + 0j),
    ((1, "a"), (True, "a")),
    ((1, "a"), Pair(1.0, "a")),
    (frozenset({1, 2}), frozenset({2.0, 1})),
    (Row(a=1, b=2), Row(b=2, a=1)),
    (Row(1, 2), Row(1.0, 2)),
    (Place(1, "a", "x"), Place(1, "a", "y")),
    (datetime(2024, 1, 1, 12, tzinfo=UTC), datetime(2024, 1, 1, 14, tzinfo=plus_two)),
    (
        datetime(2024, 10, 27, 2, 30, tzinfo=berlin),
        datetime(2024, 10, 27, 2, 30, tzinfo=berlin, fold=1),
    ),
    (time(12, tzinfo=UTC), time(14, tzinfo=plus_two)),
]


@pytest.mark.parametrize(("one", "other"), EQUAL, ids=lambda value: repr(value)[:30])
def test_equal_keys_have_equal_bytes(one, other):
    assert one == other
    assert encode_key(one) == encode_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, "1"),
        ("a", b"a"),
        (None, "None"),
        ((1,), 1),
        ((), None),
        (("a", "b"), ("ab",)),
        ((("a",), "b"), ("a", ("b",))),
        (Row(1, 2), (1, 2)),
        (Row(1, 2), Row(a=1, b=2)),
        (Row(a=1), Row(b=1)),
        (Row(1), Row.of_kind(RowKind.DELETE, 1)),
        (Color.RED, Fruit.RED),
        (Color.RED, 1),
        (Place(1, "a"), Spot(1, "a")),
        (frozenset({1}), (1,)),
        (date(2024, 1, 1), datetime(2024, 1, 1)),  # noqa: DTZ001
        (datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC)),  # noqa: DTZ001
        (time(1), time(1, tzinfo=UTC)),
        (0.1, Decimal("0.1")),
        (2**53, 2**53 + 1),
        (float("inf"), -float("inf")),
        ("x" * 300, "x" * 301),
        (2**3000, -(2**3000)),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_unequal_keys_have_unequal_bytes(one, other):
    assert one != other
    assert encode_key(one) != encode_key(other)


numbers = st.one_of(
    st.integers(),
    st.integers(-3, 3),
    st.booleans(),
    st.floats(allow_nan=False),
    st.fractions(),
    st.decimals(allow_nan=False, min_value=-(10**50), max_value=10**50),
    st.sampled_from([0.5, Fraction(1, 2), Decimal("0.5"), 1.0, 1 + 0j, 1j]),
)

keys = st.recursive(
    st.one_of(
        numbers,
        st.text(max_size=3),
        st.binary(max_size=3),
        st.none(),
        st.dates(),
        st.datetimes(timezones=st.sampled_from([None, UTC, plus_two])),
        st.times(timezones=st.sampled_from([None, UTC, plus_two])),
        st.timedeltas(),
        st.uuids(),
        st.sampled_from([*Color, *Fruit, *Level, *Name]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.frozensets(inner, max_size=3),
        st.lists(inner, max_size=3).map(lambda values: Row(*values)),
        st.dictionaries(st.sampled_from("ab"), inner, min_size=1).map(lambda d: Row(**d)),
        st.builds(Place, inner, inner, inner),
    ),
    max_leaves=5,
)


@given(keys, keys)
def test_bytes_are_equal_exactly_if_keys_are(one, other):
    assert (encode_key(one) == encode_key(other)) == (one == other)
    assert len(encode_key(one)) <= MAX_KEY_BYTES


# Few values, so that equal ones of different types meet often.
close_numbers = st.one_of(
    *(
        st.integers(-2, 2).map(convert)
        for convert in (
            int,
            float,
            Decimal,
            Fraction,
            complex,
            lambda n: n / 2,
            Fraction(1, 3).__mul__,
        )
    )
)
close = st.recursive(
    close_numbers, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=2)
)


@given(close, close)
def test_bytes_are_equal_exactly_if_close_keys_are(one, other):
    assert (encode_key(one) == encode_key(other)) == (one == other)


@given(st.integers() | st.integers(-(2**80), 2**80), st.integers() | st.integers(-(2**80), 2**80))
def test_integers_sort_as_their_bytes(one, other):
    assert (encode_key(one) < encode_key(other)) == (one < other)


plain = st.recursive(
    st.none() | st.integers() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4).map(tuple),
)


@given(plain)
def test_plain_keys_come_back_from_their_bytes(key):
    encoded = encode_key(key)
    if is_decodable(key, encoded):
        assert decode_key(encoded) == key
        assert repr(decode_key(encoded)) == repr(key)
    else:
        assert len(encoded) == 33


@pytest.mark.parametrize(
    "key",
    [
        True,
        1.0,
        Decimal(1),
        Level.HIGH,
        Name.ANN,
        Pair(1, 2),
        (1, 2.5),
        (1, (True,)),
        "x" * 240,
        ("x" * 240,),
        Color.RED,
        Row(1),
        date(2024, 1, 1),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_other_keys_are_not_decodable(key):
    assert not is_decodable(key, encode_key(key))


@given(st.binary(max_size=20) | st.binary(max_size=20).map(lambda tail: b"\x30" + tail))
def test_any_bytes_decode_or_are_refused(data):
    try:
        key = decode_key(data)
    except DecodeError:
        return
    assert isinstance(key, int | str | bytes | tuple | None)


@pytest.mark.parametrize(
    "key",
    [
        float("nan"),
        Decimal("nan"),
        Decimal("snan"),
        complex(0, float("nan")),
        ("a", float("nan")),
        [1],
        {"a": 1},
        (1, [2]),
        Row(a=[1]),
        object(),
        Place,
        Changeable(1),
        bytearray(b"a"),
    ],
)
def test_what_cannot_be_a_key_is_refused_as_for_key_groups(key):
    with pytest.raises(KeyTypeError) as caught:
        encode_key(key)
    assert caught.value.code == "KEY_TYPE"
    with pytest.raises(KeyTypeError):
        stable_hash(key)


@pytest.mark.parametrize("key", [Decimal("1E+999999999"), Decimal("-1E-999999")], ids=repr)
def test_numbers_that_would_fill_the_memory_are_refused(key):
    with pytest.raises(KeyTypeError) as caught:
        encode_key(key)
    assert "beyond" in caught.value.problem


@given(keys)
def test_every_key_with_a_group_has_bytes(key):
    stable_hash(key)
    assert 0 < len(encode_key(key)) <= MAX_KEY_BYTES


def test_bytes_of_no_key_are_refused_by_code():
    with pytest.raises(DecodeError) as caught:
        decode_key(b"")
    assert caught.value.code == "SERDE_DECODE"
