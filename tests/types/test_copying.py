"""Copies: equal to what was copied, apart from it, and no copy where none is needed.

The law compares with `pickle`, which shares nothing with the flat paths, and changes every
container inside a copy to see that the original stays.
"""

from __future__ import annotations

import pickle
import threading
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Row, Types
from penstock.datastream import OutputTag
from penstock.errors import UserCodeError
from penstock.types import value_kinds
from penstock.types.base import TypeInformation
from penstock.types.infer import InferredTypeInfo
from penstock.types.row import RowKind
from penstock.types.value_kinds import (
    batch_copier,
    copy_batch,
    copy_value,
    declared_copier,
    emission_copier,
    gives_one_object_again,
    is_immutable,
)


@dataclass
class Point:
    x: Any
    tags: Any = field(default_factory=list)


@dataclass(slots=True)
class Slotted:
    x: Any


class Counting:
    """Has a `__reduce__` of its own."""

    def __init__(self, n):
        self.n = n

    def __reduce__(self):
        return Counting, (self.n,)

    def __eq__(self, other):
        return isinstance(other, Counting) and self.n == other.n

    __hash__ = None  # type: ignore[assignment]


atoms = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=3), st.binary(max_size=3)
)
values = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(max_size=2), inner, max_size=4),
        st.lists(inner, max_size=3).map(tuple),
        st.lists(inner, min_size=1, max_size=3).map(lambda found: Row(*found)),
        st.tuples(inner, inner).map(lambda pair: Row(a=pair[0], b=pair[1])),
        st.builds(Point, inner, st.lists(inner, max_size=2)),
        st.builds(Slotted, st.lists(inner, max_size=2)),
        st.sets(st.integers(), max_size=3),
    ),
    max_leaves=8,
)


def spoil(value):  # noqa: C901 - one branch per class
    """Change every container inside of a value."""
    if isinstance(value, dict):
        for inner in list(value.values()):
            spoil(inner)
        value["spoiled"] = True
    elif isinstance(value, list):
        for inner in value:
            spoil(inner)
        value.append("spoiled")
    elif isinstance(value, tuple):
        for inner in value:
            spoil(inner)
    elif isinstance(value, set):
        value.add("spoiled")
    elif isinstance(value, Row):
        for at, inner in enumerate(list(value)):
            spoil(inner)
            value[at] = "spoiled"
        value.set_row_kind(RowKind.DELETE)
    elif isinstance(value, Point):
        spoil(value.x)
        spoil(value.tags)
        value.x = "spoiled"
    elif isinstance(value, Slotted):
        spoil(value.x)
        value.x = "spoiled"


@given(values)
def test_a_copy_is_equal_and_apart(value):
    before = pickle.dumps(value)
    copied = copy_value(value)
    assert copied == value
    assert type(copied) is type(value)
    spoil(copied)
    assert pickle.loads(before) == value


@given(st.lists(values, max_size=5))
def test_a_copied_batch_is_equal_and_apart(batch):
    before = pickle.dumps(batch)
    copied = copy_batch(batch)
    assert copied == batch
    for value in copied:
        spoil(value)
    assert pickle.loads(before) == batch


@given(st.lists(st.fixed_dictionaries({"a": atoms, "b": atoms}), min_size=2, max_size=2))
def test_one_object_given_twice_becomes_two(batch):
    again = [batch[0], batch[0]]
    first, second = copy_batch(again)
    spoil(first)
    assert second == batch[0]


@pytest.mark.parametrize(
    "value",
    [1, 1.5, "a", b"a", None, True, Decimal(1), datetime(2026, 1, 1, tzinfo=UTC), (1, "a", None)],
)
def test_what_cannot_be_changed_comes_back_itself(value):
    assert copy_value(value) is value
    assert is_immutable(value)
    batch = [value, value]
    assert copy_batch(batch) is batch


def test_two_references_in_one_record_stay_references_to_one_object():
    inner = [1]
    copied = copy_value({"a": inner, "b": inner})
    copied["a"].append(2)
    assert copied["b"] == [1, 2]
    assert inner == [1]


def test_a_record_that_contains_itself_is_copied():
    loop: dict[str, Any] = {"n": 1}
    loop["self"] = loop
    copied = copy_value(loop)
    assert copied["self"] is copied
    assert copied is not loop


def test_a_tagged_value_keeps_its_tag_and_copies_the_value():
    tag, value = OutputTag("late"), {"n": 1}
    copied = copy_value((tag, value))
    assert copied == (tag, value)
    assert copied[0] is tag
    assert copied[1] is not value


@pytest.mark.parametrize("value", [OrderedDict(a=[1]), deque([1]), Counting([1]), bytearray(b"a")])
def test_other_classes_are_copied_as_pickle_does(value):
    copied = copy_value(value)
    assert copied == value
    assert copied is not value
    assert type(copied) is type(value)


def test_a_local_class_that_cannot_be_pickled_is_copied():
    class Local:
        __slots__ = ("n",)
        n: Any

    value = Local()
    value.n = [1]
    copied = copy_value(value)
    copied.n.append(2)
    assert value.n == [1]


def test_what_cannot_be_copied_is_an_error_that_says_how_to_do_without():
    with pytest.raises(UserCodeError, match="cannot be copied") as caught:
        copy_value([threading.Lock()])
    assert "is_output_value_stored" in caught.value.hint


def test_an_object_given_again_is_noticed_if_it_can_be_changed():
    record = {"n": 1}
    assert gives_one_object_again([record, record])
    assert not gives_one_object_again([record, dict(record)])
    assert not gives_one_object_again([(1, 2), *[(3, 4)] * 2, 5, 5])


ROW = Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()])

NEVER = [
    Types.LONG(),
    Types.STRING(),
    Types.SQL_TIMESTAMP(),
    Types.TUPLE([Types.LONG(), Types.TUPLE([Types.STRING()])]),
]


@pytest.mark.parametrize("type_info", NEVER, ids=repr)
def test_types_whose_values_cannot_be_changed_have_no_copier(type_info):
    assert declared_copier(type_info) is None
    assert batch_copier(type_info) is None


SOMETIMES = [
    (ROW, Row(a=1, b="x")),
    (Types.ROW_NAMED(["r", "l"], [ROW, Types.LIST(Types.LONG())]), Row(r=Row(a=1, b="x"), l=[1])),
    (Types.TUPLE([ROW, Types.LONG()]), (Row(a=1, b="x"), 2)),
    (Types.TUPLE([ROW, Types.LONG()]), (None, 2)),
    (Types.LIST(ROW), [Row(a=1, b="x")]),
    (Types.MAP(Types.STRING(), ROW), {"k": Row(a=1, b="x")}),
    (Types.MAP(Types.STRING(), Types.LONG()), {"k": 1}),
    (Types.PRIMITIVE_ARRAY(Types.LONG()), [1, 2]),
    (Types.OBJECT_ARRAY(ROW), [Row(a=1, b="x")]),
    (Types.PICKLED_BYTE_ARRAY(), {"a": [1]}),
    (InferredTypeInfo(Types.LONG()), {"a": 1}),
    (InferredTypeInfo(Types.TUPLE([Types.LONG()])), ["a", 1]),
]


@pytest.mark.parametrize(("type_info", "value"), SOMETIMES, ids=lambda part: repr(part)[:60])
def test_declared_values_are_copied_field_by_field(type_info, value):
    before = pickle.dumps(value)
    one, batch = declared_copier(type_info), batch_copier(type_info)
    assert one is not None
    assert batch is not None
    for copied in (one(value), *batch([value, value])):
        assert copied == value
        spoil(copied)
        assert pickle.loads(before) == value


def test_rows_keep_their_kind():
    row = Row(a=1, b="x")
    row.set_row_kind(RowKind.DELETE)
    one, batch = declared_copier(ROW), batch_copier(ROW)
    assert one is not None
    assert batch is not None
    assert one(row) == row
    assert batch([row, Row(a=2, b="y")]) == [row, Row(a=2, b="y")]


def test_a_list_that_becomes_a_tuple_later_is_copied_before():
    copier = emission_copier(Types.TUPLE([Types.LONG()]))
    assert copier is not None
    kept, given = [1], (1,)
    assert copier(kept) is not kept
    assert copier(given) is given


def test_the_table_is_total():
    def family(cls):
        return {cls}.union(*map(family, cls.__subclasses__()))

    # By name: a dataclass with slots replaces the class it was made of.
    known = {
        cls.__name__
        for cls in family(TypeInformation)
        if cls.__module__.startswith("penstock.types") and not cls.__name__.startswith("_")
    }
    # values of a stored type of the program are bytes and never copied
    assert known - {"TypeInformation", "StoredUserType"} == {
        cls.__name__ for cls in value_kinds._COPIERS
    }
