"""The equality helper must fail when it should."""

from __future__ import annotations

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
