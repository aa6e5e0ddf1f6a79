"""The equality helper must fail when it should."""

from __future__ import annotations

import subprocess
import sys
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Row
from penstock.testing import difference, last_per_key, same_answer
from penstock.types.row import RowKind

records = st.lists(
    st.one_of(
        st.integers(-2, 2),
        st.booleans(),
        st.floats(),
        st.text(max_size=2),
        st.lists(st.integers(0, 1), max_size=2),
        st.dictionaries(st.integers(0, 1), st.none()),
        st.sets(st.integers(0, 2)),
        st.tuples(st.integers(0, 1), st.lists(st.booleans())),
    ),
    max_size=6,
)


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclass
class Place:
    x: Any
    note: str = field(default="", compare=False)


class Word(str):  # noqa: SLOT000
    """Has attributes."""


class Color(Enum):
    RED = 1


class Shade(Enum):
    RED = 1


class Flexible:
    """Equal to anything, by its own account."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class Slotted:
    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x = x


def word(text: str, mark: Any) -> Word:
    made = Word(text)
    made.mark = mark  # type: ignore[attr-defined]
    return made


def round_of(value: Any) -> list[Any]:
    found = [value]
    found.append(found)
    return found


berlin, paris = ZoneInfo("Europe/Berlin"), ZoneInfo("Europe/Paris")
moment = datetime(2024, 10, 27, 2, 30, tzinfo=berlin)

# Values around another one: every container and kind of object.
AROUND: dict[str, Callable[[Any], Any]] = {
    "itself": lambda x: x,
    "tuple": lambda x: (x,),
    "list": lambda x: [x],
    "dict": lambda x: {"k": x},
    "key": lambda x: {frozenset([x]): 1},
    "set": lambda x: {x},
    "frozenset": lambda x: frozenset([x]),
    "deque": lambda x: deque([x]),
    "OrderedDict": lambda x: OrderedDict(k=x),
    "defaultdict": lambda x: defaultdict(list, k=x),
    "named tuple": lambda x: Pair(0, x),
    "Row": Row,
    "Row with names": lambda x: Row(a=x),
    "dataclass": Place,
    "object with ==": Flexible,
    "slots": Slotted,
    "attribute": lambda x: word("a", x),
    "exception": ValueError,
    "object array": lambda x: np.array([x, None], dtype=object),
    "Series": lambda x: pd.Series([x, None], dtype=object),
    "DataFrame": lambda x: pd.DataFrame({"a": pd.Series([x, None], dtype=object)}),
    "Index": lambda x: pd.Index([x, "a"], dtype=object),
    "deep": lambda x: Row(a=[Place({"k": Pair(OrderedDict(k=(x,)), 0)})]),
    "one in itself": round_of,
}

# Values of which == says that they are equal, or that they are not equal to themselves.
LIKE: list[tuple[Any, Any]] = [
    (1, 1.0),
    (1, True),
    (0, False),
    (0.0, -0.0),
    (1, 1 + 0j),
    (0j, -0j),
    (1, Decimal(1)),
    (1, Fraction(1)),
    (Decimal("1.0"), Decimal("1.00")),
    (Decimal(0), Decimal("-0")),
    (1, np.int64(1)),
    (np.int32(1), np.int64(1)),
    (1.5, np.float64(1.5)),
    (True, np.bool_(True)),
    ("a", Word("a")),
    ("a", np.str_("a")),
    ((1, 2), Pair(1, 2)),
    (moment, moment.replace(fold=1)),
    (moment, moment.replace(tzinfo=paris)),
    (datetime(2024, 1, 1, 12, tzinfo=UTC), datetime(2024, 1, 1, 13, tzinfo=berlin)),
    (time(1, tzinfo=UTC), time(1, fold=1, tzinfo=UTC)),
    (datetime(2024, 1, 1, tzinfo=UTC), pd.Timestamp("2024-01-01", tz=UTC)),
    (pd.Timestamp(1), pd.Timestamp(0)),
    (timedelta(1), pd.Timedelta(1, "D")),
    (Color.RED, Shade.RED),
    (float("inf"), float("-inf")),
]
SAME: list[Callable[[], Any]] = [
    *(lambda: float("nan"), lambda: Decimal("nan"), lambda: np.float64("nan"), lambda: pd.NaT),
    *(lambda: complex(0, float("nan")), lambda: "a" * 3, lambda: 10**30, lambda: None),
    *(lambda: moment.replace(fold=1), lambda: Color.RED, lambda: timedelta(1), lambda: b"a"),
    *(lambda: pd.Timestamp(1), lambda: np.datetime64(1, "ns"), lambda: date(2024, 1, 1)),
]


@pytest.mark.parametrize("around", AROUND)
def test_like_values_differ_however_deep_they_are(around: str) -> None:
    put = AROUND[around]
    for one, other in LIKE:
        assert not same_answer([put(one)], [put(other)]), (one, other)
        assert not same_answer([put(other)], [put(one)]), (one, other)


@pytest.mark.parametrize("around", AROUND)
def test_values_equal_themselves_however_deep_they_are(around: str) -> None:
    put = AROUND[around]
    for make in SAME:
        assert same_answer([put(make())], [put(make())]), make()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)),
        (OrderedDict(a=1), {"a": 1}),
        (defaultdict(list), {}),
        (defaultdict(list), defaultdict(set)),
        (Counter("a"), {"a": 1}),
        (deque([1]), deque([1], 2)),
        (deque([1]), [1]),
        (bytearray(b"a"), b"a"),
        (memoryview(b"a"), b"a"),
        (array("i", [1]), array("q", [1])),
        (range(3), [0, 1, 2]),
        (Place(1, "a"), Place(1, "b")),
        (Place(1), Pair(1, "")),
        (Flexible(1), Slotted(1)),
        (ValueError(1), TypeError(1)),
        (np.array([1]), np.array([1.0])),
        (np.array([1], np.int32), np.array([1], np.int64)),
        (np.array([0.0]), np.array([-0.0])),
        (np.array([1, 2]), np.array([[1, 2]])),
        (np.array([1]), [1]),
        (np.array([1, 2]), np.array([1, 3])),
        (np.datetime64(1, "ns"), np.datetime64(0, "ns")),
        (np.datetime64(1, "s"), np.datetime64(1000, "ms")),
        (np.array([(1, 2)], dtype=[("a", int), ("b", int)]), np.array([(1, 2)])),
        (pd.Series([1]), pd.Series([1.0])),
        (pd.Series([1], name="a"), pd.Series([1], name="b")),
        (pd.Series([1], index=[0]), pd.Series([1], index=[1])),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]})),
        (pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [2, 1]})),
        (int, float),
        (lambda: 1, lambda: 2),
    ],
    ids=lambda value: type(value).__name__,
)
def test_containers_and_arrays_differ(one: Any, other: Any) -> None:
    assert not same_answer([one], [other])
    assert not same_answer([other], [one])
    for value in (one, other):
        assert same_answer([value], [value if isinstance(value, memoryview) else copy(value)])


def test_order_counts_where_it_is_content() -> None:
    assert same_answer([{"a": 1, "b": 2}], [{"b": 2, "a": 1}])
    assert same_answer([{1, 2}], [{2, 1}])
    assert not same_answer([[1, 2]], [[2, 1]])


def test_pandas_need_not_be_there() -> None:
    code = "import sys, penstock.testing as t; t.same_answer([1], [2]); assert 'pandas' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@given(records, st.randoms())
def test_order_does_not_matter(found, random):
    shuffled = list(found)
    random.shuffle(shuffled)
    assert same_answer(found, shuffled)


@given(records.filter(bool), st.data())
def test_a_missing_or_repeated_record_is_noticed(found, data):
    index = data.draw(st.integers(0, len(found) - 1))
    assert not same_answer(found, found[:index] + found[index + 1 :])
    assert not same_answer(found[:index] + found[index + 1 :], found)
    assert not same_answer(found, [*found, found[index]])


class Point:
    """Compares by value and so cannot be hashed."""

    def __init__(self, x: int) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and self.x == other.x

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1], [1.0]),
        ([1], [True]),
        ([0.0], [-0.0]),
        ([(1,)], [[1]]),
        ([(1, (2, 3))], [(1, (2, 3.0))]),
        ([{1: 2}], [{1: True + 1.0}]),
        ([{1}], [frozenset({1})]),
        ([None], []),
        ([1, 1, 2], [1, 2, 2]),
        ([Row(1, 2)], [(1, 2)]),
        ([Row(a=1)], [Row(b=1)]),
        ([Row(a=1)], [Row(a=True)]),
        ([Point(1)], [Point(2)]),
        ([Point(1), Point(1)], [Point(1)]),
    ],
)
def test_these_differ(one, other):
    assert not same_answer(one, other)
    assert not same_answer(other, one)


def test_a_row_of_another_kind_differs():
    deleted = Row(a=1)
    deleted.set_row_kind(RowKind.DELETE)
    assert not same_answer([Row(a=1)], [deleted])


@pytest.mark.parametrize("value", [float("nan"), Point(1), Row(a=[1]), {1: [2]}, {1}, b"a"])
def test_unhashable_and_strange_records_equal_themselves(value):
    assert same_answer([value, value], [value, value])


def test_equal_objects_without_hash_are_the_same():
    assert same_answer([Point(1), Point(2)], [Point(2), Point(1)])


def test_difference_names_what_is_where():
    assert difference([1, 2], [2, 3]) == "only in the first: [1]; only in the second: [3]"


def test_last_per_key_keeps_the_last():
    found = [("a", 1), ("b", 1), ("a", 2)]
    assert last_per_key(found, lambda record: record[0]) == [("a", 2), ("b", 1)]
