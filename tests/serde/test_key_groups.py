"""Key groups never change: golden values, only ever added to."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from unittest.mock import patch
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Row
from penstock.errors import KeyTypeError
from penstock.wire.canonical.key_encodings import stable_hash
from penstock.wire.canonical.key_groups import KeyGroups, hashes_of, subtask_of


class Color(Enum):
    RED = 1


class Level(IntEnum):
    HIGH = 3


@dataclass(frozen=True)
class Place:
    x: int
    y: str
    note: str = field(default="", compare=False)


@dataclass
class Changeable:
    x: int


GOLDEN = [
    (0, 0),
    (1, 79),
    ("a", 89),
    ("", 0),
    (b"a", 89),
    (None, 95),
    (-5, 116),
    (2**70, 55),
    (1.5, 119),
    (Decimal("2.50"), 70),
    (("a", 1), 105),
    ((), 67),
    (("a", ("b", None)), 52),
    (Color.RED, 109),
    (Place(1, "a"), 68),
    (Row("a", 1), 105),
    (Row(name="a", age=1), 123),
    (date(2024, 2, 29), 56),
    (datetime(2024, 2, 29, 12, 30, tzinfo=UTC), 2),
    (time(12, 30), 127),
    (timedelta(hours=1), 63),
    (UUID(int=7), 100),
    (frozenset({1, 2}), 109),
]


@pytest.mark.parametrize(("key", "group"), GOLDEN, ids=repr)
def test_golden(key, group):
    assert KeyGroups(128)[key] == group


plus_two, plus_three = timezone(timedelta(hours=2)), timezone(timedelta(hours=3))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        (-5, -5.0),
        (-5, Decimal(-5)),
        (0.5, Fraction(1, 2)),
        (0.5, Decimal("0.50")),
        (0.0, -0.0),
        (3, Level.HIGH),
        (1, 1 + 0j),
        ((1, "a"), (True, "a")),
        ((-5,), (-5.0,)),
        (frozenset({1, 2}), frozenset({2.0, 1})),
        (Row(a=1, b=2), Row(b=2, a=1)),
        (Row(1, 2), Row(1.0, 2)),
        (Place(1, "a", "x"), Place(1, "a", "y")),
        (datetime(2024, 1, 1, 12, tzinfo=UTC), datetime(2024, 1, 1, 14, tzinfo=plus_two)),
        (time(12, tzinfo=UTC), time(14, tzinfo=plus_two)),
        (datetime(1, 1, 1, 1, tzinfo=plus_two), datetime(1, 1, 1, 2, tzinfo=plus_three)),
    ],
    ids=repr,
)
def test_equal_keys_have_equal_hashes(one, other):
    assert one == other
    assert stable_hash(one) == stable_hash(other)
    assert KeyGroups(128)[one] == KeyGroups(128)[other]


numbers = st.one_of(
    st.integers(),
    st.booleans(),
    st.floats(allow_nan=False),
    st.fractions(),
    st.decimals(allow_nan=False),
)


@given(st.integers(-(2**53), 2**53), st.sampled_from([1, 2, 8, 2**30]))
def test_equal_numbers_have_equal_hashes(numerator, denominator):
    fraction = Fraction(numerator, denominator)
    as_float = numerator / denominator
    same: list[object] = [fraction, as_float, complex(as_float), Decimal(as_float)]
    if fraction.denominator == 1:
        same.append(int(fraction))
    assert all(number == fraction for number in same)
    assert len({stable_hash(number) for number in same}) == 1


keys = st.recursive(
    st.one_of(
        numbers,
        st.text(),
        st.binary(),
        st.none(),
        st.dates(),
        st.datetimes(),
        st.times(),
        st.timedeltas(),
        st.uuids(),
        st.sampled_from(Color),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.frozensets(inner, max_size=3),
        st.lists(inner, max_size=3).map(lambda values: Row(*values)),
    ),
    max_leaves=5,
)


@given(keys, st.integers(1, 32_768))
def test_every_supported_key_has_a_group(key, max_parallelism):
    groups = KeyGroups(max_parallelism)
    assert 0 <= groups[key] < max_parallelism
    assert groups[key] == KeyGroups(max_parallelism)[key]


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
        {1},
        (1, [2]),
        Row(a=[1]),
        object(),
        Changeable(1),
        bytearray(b"a"),
    ],
)
def test_what_cannot_be_a_key_is_refused(key):
    with pytest.raises(KeyTypeError) as caught:
        stable_hash(key)
    assert caught.value.code == "KEY_TYPE"


@pytest.mark.parametrize(
    "key_of",
    [
        lambda i: i,
        lambda i: i << 40,
        lambda i: i / 128,
        lambda i: i / 1000,
        lambda i: f"user-{i}",
        lambda i: ("a", i),
        lambda i: (i % 100, i // 100),
        lambda i: 1_700_000_000_000 + 60_000 * i,
    ],
    ids=["count", "high bits", "binary fractions", "fractions", "names", "tuples", "pairs", "ms"],
)
def test_regular_keys_spread_over_groups(key_of):
    groups = KeyGroups(128)
    counts = [0] * 128
    for i in range(12_800):
        counts[groups[key_of(i)]] += 1
    assert min(counts) > 50
    assert max(counts) < 200


@given(st.integers(1, 200), st.data())
def test_subtasks_own_contiguous_ranges_of_key_groups(max_parallelism, data):
    parallelism = data.draw(st.integers(1, max_parallelism))
    owners = [subtask_of(group, parallelism, max_parallelism) for group in range(max_parallelism)]
    assert owners == sorted(owners)
    assert set(owners) == set(range(parallelism))


_EDGES = (-1, 0, 2**61 - 2, 2**61 - 1, 2**61, -(2**61 - 1), 2**63 - 1, -(2**63), 2**63, True)
_KEYS = st.one_of(
    st.lists(st.integers(-(2**64), 2**64) | st.sampled_from(_EDGES)),
    st.lists(st.integers(-(2**61), 2**61)),
    st.lists(st.text()),
    st.lists(st.text(st.characters())),  # surrogates included
    st.lists(st.integers() | st.text() | st.none() | st.tuples(st.integers())),
)


@given(_KEYS, st.integers(1, 1 << 15))
def test_keys_computed_together_have_the_groups_they_have_one_by_one(keys, max_parallelism):
    one_by_one = KeyGroups(max_parallelism)
    with patch("penstock.wire.canonical.key_groups._MANY_KEYS", 0):
        assert KeyGroups(max_parallelism).of(keys) == [one_by_one[key] for key in keys]


def test_integers_and_strings_are_computed_together_once_there_are_many():
    groups = KeyGroups(128)
    groups.of(range(20_000))
    remembered = len(groups)
    keys = list(range(20_000, 40_000))
    assert groups.of(keys) == [KeyGroups(128)[key] for key in keys]
    assert groups.of(["a"]) == [89]
    assert len(groups) == remembered
    assert hashes_of([1, "a"]) is None
