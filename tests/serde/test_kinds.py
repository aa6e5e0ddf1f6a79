"""What is done with any value follows from one table, so the answers must fit together, for every row of it.

Finds a kind that one of the functions takes apart otherwise than the others, or puts together otherwise than
it was. What is shared after a copy is asked of Python's garbage collector, which knows no table. That each function
is right by itself is asked elsewhere: golden bytes, `test_answers.py` (differs where it should), `test_copying.py`.
"""

from __future__ import annotations

import array
import gc
import pickle
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from types import BuiltinFunctionType, FunctionType, ModuleType, NoneType
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import KeyTypeError, UserCodeError
from penstock.types import strict_equality
from penstock.types.list_key import ListKey, TupleKey, immutable_key, selected_key
from penstock.types.output_tag import OutputTag
from penstock.types.row import Row, RowKind, class_of, row_like
from penstock.types.strict_equality import shape_of
from penstock.types.time import Instant
from penstock.types.value_kinds import (
    KINDS,
    OBJECT,
    OTHER,
    copy_batch,
    copy_value,
    is_immutable,
    kind_of,
)
from penstock.wire.canonical.key_bytes import decode_key, encode_key, is_decodable
from penstock.wire.canonical.key_encodings import KEY_ENCODINGS, PLAIN, stable_hash
from penstock.wire.canonical.record_digest import record_digest


class Color(Enum):
    RED = 1
    BLUE = 2


@dataclass(frozen=True)
class Place:
    x: Any


@dataclass
class Visit:
    """Can be changed, and is its `__dict__`."""

    x: Any
    y: Any


@dataclass(slots=True)
class Slotted:
    """Can be changed, and has no `__dict__`: copied as a pickle."""

    x: Any


class Pair(NamedTuple):
    a: Any
    b: Any


class Word(str):
    """A subclass."""

    __slots__ = ()


ZONES = [UTC, timezone(timedelta(hours=2)), ZoneInfo("Europe/Berlin")]
_FIRST, _LAST = datetime(2, 1, 1), datetime(9998, 1, 1)  # noqa: DTZ001 - the zones are drawn

ATOMIC: dict[type, st.SearchStrategy[Any]] = {
    NoneType: st.none(),
    bool: st.booleans(),
    int: st.integers() | st.integers(-(2**70), 2**70) | st.integers(-1, 1),
    float: st.floats() | st.sampled_from([0.0, -0.0, 1.0, float("nan")]),
    complex: st.complex_numbers(),
    Decimal: st.decimals().filter(lambda found: not found.is_snan())
    | st.sampled_from([Decimal(1), Decimal("1.0")]),
    Fraction: st.fractions(),
    str: st.text(max_size=3) | st.sampled_from(["\ud800", "x" * 300]),
    bytes: st.binary(max_size=3),
    bytearray: st.binary(max_size=3).map(bytearray),
    date: st.dates(),
    datetime: st.datetimes(_FIRST, _LAST, timezones=st.sampled_from([None, *ZONES])),
    time: st.times(timezones=st.sampled_from([None, UTC])),
    timedelta: st.timedeltas(),
    timezone: st.sampled_from(ZONES[:2]),
    tzinfo: st.just(ZONES[2]),
    range: st.builds(range, st.integers(0, 3)),
    type: st.sampled_from([int, Place]),
    UUID: st.uuids(),
    Instant: st.builds(Instant, st.integers(0, 9), st.integers(0, 9)),
    OutputTag: st.sampled_from("ab").map(OutputTag),
    RowKind: st.sampled_from(RowKind),
    Enum: st.sampled_from(Color),
    Word: st.text(max_size=1).map(Word),
    array.array: st.lists(st.integers(0, 9)).map(lambda found: array.array("q", found)),
    np.ndarray: st.lists(st.floats()).map(np.array),
    np.generic: st.integers(0, 9).map(np.int64) | st.floats().map(np.float64),
    memoryview: st.binary(max_size=3).map(memoryview),
    FunctionType: st.just(shape_of),
    BuiltinFunctionType: st.sampled_from([len, print]),
}
"""Class to instances that have no parts."""

_NO_KEYS = {bytearray, array.array, np.ndarray, np.generic, memoryview}
_hashable = st.recursive(
    st.one_of([strategy for cls, strategy in ATOMIC.items() if cls not in _NO_KEYS]),
    lambda inner: st.lists(inner, max_size=2).map(tuple) | st.frozensets(inner, max_size=2),
    max_leaves=3,
)

Inner = st.SearchStrategy[Any]
AROUND: dict[type, Callable[[Inner], Inner]] = {
    tuple: lambda inner: st.lists(inner, max_size=3).map(tuple),
    list: lambda inner: st.lists(inner, max_size=3),
    dict: lambda inner: st.dictionaries(_hashable, inner, max_size=3),
    set: lambda _: st.sets(_hashable, max_size=3),
    frozenset: lambda _: st.frozensets(_hashable, max_size=3),
    Row: lambda inner: st.one_of(
        st.builds(Row, inner, inner),
        st.builds(lambda x, y: Row(b=x, a=y), inner, inner),
        st.builds(Row.of_kind, st.sampled_from(RowKind), inner),
    ),
    ListKey: lambda inner: st.lists(inner, max_size=2).map(ListKey),
    TupleKey: lambda inner: st.lists(inner, max_size=2).map(TupleKey),
    OrderedDict: lambda inner: st.dictionaries(_hashable, inner, max_size=2).map(OrderedDict),
    defaultdict: lambda inner: inner.map(lambda found: defaultdict(list, {"k": found})),
    deque: lambda inner: st.lists(inner, max_size=2).map(deque),
    Pair: lambda inner: st.builds(Pair, inner, inner),
    Place: lambda inner: st.builds(Place, inner),
    Visit: lambda inner: st.builds(Visit, inner, inner),
    Slotted: lambda inner: st.builds(Slotted, inner),
}
"""Class to instances around other values."""

leaves = st.one_of([strategy for cls, strategy in ATOMIC.items() if cls is not memoryview])
values = st.recursive(
    leaves, lambda inner: st.one_of([make(inner) for make in AROUND.values()]), max_leaves=6
)
# Few of them, so that equal ones meet often, also of different classes.
close = st.recursive(
    st.sampled_from([0, 0.0, -0.0, False, None, "", b"", Decimal(0), Decimal("0.0"), Color.RED]),
    lambda inner: st.one_of(
        [AROUND[cls](inner) for cls in (tuple, list, Row, ListKey, Pair, Place)]
    ),
    max_leaves=3,
)

ROWS = sorted({*KINDS, *KEY_ENCODINGS, *strict_equality._CONTENT}, key=repr)


def test_a_kind_has_content_or_parts_and_a_class_of_keys_has_a_form() -> None:
    assert KEY_ENCODINGS.keys() == {*PLAIN, NoneType, bool, TupleKey, Enum}
    for kind in KINDS.values():
        assert not (kind.content and kind.mark)
        assert (kind.held is None) == (kind.flat is None) == (kind.rebuilt is None)
    marks = [kind.mark for kind in KINDS.values() if kind.mark]
    assert len(set(marks)) == len(marks)


def test_classes_without_a_row_have_a_kind() -> None:
    assert kind_of(type(Row(a=1))) is KINDS[Row]
    assert kind_of(Place) is kind_of(Visit) is OBJECT
    assert kind_of(Slotted) is kind_of(Pair) is kind_of(deque) is OTHER


def again(value: Any) -> Any:
    """Return the same value made anew, what has no order in another one."""
    cls = class_of(value)
    if cls is dict:
        return {again(key): again(part) for key, part in reversed(value.items())}
    if cls in (set, frozenset):
        return cls(map(again, reversed(list(value))))
    if cls in (list, tuple):
        return cls(map(again, value))
    if cls is Row:
        return row_like(value, list(map(again, value)))
    return pickle.loads(pickle.dumps(value, 5))


def told(form: Callable[[Any], Any], value: Any) -> Any:
    """Return the form of a value, or that it has none."""
    try:
        return form(value)
    except KeyTypeError as refused:
        return refused.code


def forms(value: Any) -> list[Any]:
    return [told(form, value) for form in (record_digest, encode_key, stable_hash)]


@given(close, close)
def test_strictly_equal_values_have_the_same_forms(one: Any, other: Any) -> None:
    if shape_of(one) == shape_of(other):
        assert forms(one) == forms(other)
    elif "KEY_TYPE" not in (told(record_digest, one), told(record_digest, other)):
        kind = {row.get_row_kind() for row in (one, other) if isinstance(row, Row)}
        assert len(kind) > 1 or record_digest(one) != record_digest(other)


# Not `ATOMS`, which is what is tested.
_UNCHANGEABLE = (
    *(NoneType, bool, int, float, complex, Decimal, Fraction, str, bytes, date, time, timedelta),
    *(tzinfo, range, type, UUID, Instant, OutputTag, Enum, np.generic, ModuleType),
    *(FunctionType, BuiltinFunctionType),
)


def changeable(value: Any) -> dict[int, Any]:
    """Return the objects behind a value that can be changed, by identity."""
    found: dict[int, Any] = {}
    waiting, seen = [value], set()
    while waiting:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, _UNCHANGEABLE):
            continue
        seen.add(id(each))
        if not isinstance(each, (tuple, frozenset)):
            found[id(each)] = each
        waiting += gc.get_referents(each)
    return found


def check_copies(originals: Iterable[Any], copies: Iterable[Any]) -> None:
    for value, copied in zip(originals, copies, strict=True):
        assert type(copied) is type(value)
        assert shape_of(copied) == shape_of(value)
        assert not changeable(value).keys() & changeable(copied).keys()


def check(value: Any) -> None:
    """Check all that follows from how one value is taken apart and put together."""
    before, other = shape_of(value), again(value)
    assert shape_of(other) == before
    assert forms(other) == forms(value)
    check_copies([value], [copy_value(value)])
    check_copies([value, value], copy_batch([value, value]))
    assert shape_of(value) == before
    if is_immutable(value):
        assert copy_value(value) is value
        assert not changeable(value)


@pytest.mark.parametrize("cls", ROWS, ids=lambda cls: cls.__name__)
@settings(max_examples=20)
@given(data=st.data())
def test_every_row_is_taken_apart_and_put_together_in_one_way(cls: type, data: Any) -> None:
    value = data.draw(ATOMIC[cls] if cls in ATOMIC else AROUND[cls](leaves))
    assert isinstance(value, cls)
    check(value) if cls is not memoryview else shape_of(value)


@given(values)
def test_values_in_values_are_taken_apart_and_put_together_in_one_way(value: Any) -> None:
    check(value)


def test_keys_are_taken_apart_by_their_base() -> None:
    class Odd(frozenset[Any]):
        def __iter__(self) -> Any:
            return iter((1,))

    assert Odd([2, 3]) == frozenset([2, 3])
    assert forms(Odd([2, 3]))[1:] == forms(frozenset([2, 3]))[1:]


def test_what_cannot_be_copied_is_refused() -> None:
    with pytest.raises(UserCodeError, match="cannot be copied"):
        copy_value(memoryview(b"a"))


plain = st.recursive(
    st.one_of([ATOMIC[cls] for cls in (NoneType, int, str, bytes, bool, float, Word, Decimal)]),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=4,
)


@given(plain)
def test_a_key_that_comes_back_from_its_bytes_is_strictly_equal(key: Any) -> None:
    encoded = told(encode_key, key)
    if encoded != "KEY_TYPE" and is_decodable(key, encoded):
        assert shape_of(decode_key(encoded)) == shape_of(key)


lists = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple)
)


@given(lists)
def test_a_list_comes_back_from_its_key_strictly_equal(value: Any) -> None:
    assert shape_of(selected_key(immutable_key(value))) == shape_of(value)
