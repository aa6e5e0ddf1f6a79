"""Types: laws of coercion, then what each family takes and refuses."""

from __future__ import annotations

import copy
import pickle
from array import array
from collections import namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import ArgumentError, UnknownFieldError
from penstock.types import BasicTypeInfo, TypeInformation, find_mismatch
from penstock.types.basic import BASIC_RULES
from penstock.types.row import Row, RowKind
from penstock.types.time import Instant
from penstock.types.types import Types
from tests.types.type_strategies import ALL, ANYTHING, CLASSES

_USER = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])


@dataclass
class _DataUser:
    age: int
    name: str


@dataclass(slots=True)
class _One:
    name: str


class _TupleUser(NamedTuple):
    age: int
    name: str


_Other = namedtuple("_Other", ["a", "b"])  # noqa: PYI024


def _outcome(call: Any, *args: Any) -> Any:
    try:
        return call(*args)
    except ValueError as refused:
        return str(refused)


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=40)
@given(data=st.data())
def test_declared_forms_are_returned_as_they_are(name: str, data: st.DataObject) -> None:
    type_info, strategy = ALL[name]
    values = data.draw(st.lists(strategy, max_size=6))
    assert all(type_info.coerce(value) is value for value in values)
    assert type_info.coerce_batch(values) is values


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=40)
@given(data=st.data())
def test_coerce_is_idempotent_and_batches_agree(name: str, data: st.DataObject) -> None:
    type_info, strategy = ALL[name]
    values = data.draw(st.lists(strategy | ANYTHING, min_size=1, max_size=6))
    one_by_one = _outcome(lambda: [type_info.coerce(value) for value in values])
    batch = _outcome(type_info.coerce_batch, values)
    assert batch == one_by_one
    assert repr(batch) == repr(one_by_one)
    if not isinstance(one_by_one, str):
        assert all(type_info.coerce(value) is value for value in one_by_one)


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=40)
@given(data=st.data())
def test_batches_of_one_class_agree(name: str, data: st.DataObject) -> None:
    type_info, _ = ALL[name]
    values = data.draw(st.sampled_from(CLASSES).flatmap(lambda c: st.lists(c, min_size=1)))
    one_by_one = _outcome(lambda: [type_info.coerce(value) for value in values])
    batch = _outcome(type_info.coerce_batch, values)
    assert (batch, repr(batch)) == (one_by_one, repr(one_by_one))


_SHAPES: dict[str, Any] = {
    "row": lambda name, age: Row(name=name, age=age),
    "other order": lambda name, age: Row(age=age, name=name),
    "positional row": Row,
    "deletion": lambda name, age: Row.of_kind(RowKind.DELETE, name=name, age=age),
    "tuple": lambda name, age: (name, age),
    "list": lambda name, age: [name, age],
    "dict": lambda name, age: {"age": age, "name": name},
    "short dict": lambda name, _: {"name": name},
    "long dict": lambda name, age: {"age": age, "name": name, "z": 1},
    "dataclass": lambda name, age: _DataUser(age, name),
    "named tuple": lambda name, age: _TupleUser(age, name),
    "foreign named tuple": _Other,
    "short tuple": lambda name, _: (name,),
}


@pytest.mark.parametrize("type_name", ["row", "tuple", "list_of_rows"])
@pytest.mark.parametrize("shape", _SHAPES)
@settings(max_examples=40)
@given(data=st.data())
def test_batches_of_one_shape_agree(type_name: str, shape: str, data: st.DataObject) -> None:
    type_info = {
        "row": _USER,
        "tuple": Types.TUPLE([Types.STRING(), Types.DOUBLE()]),
        "list_of_rows": Types.LIST(_USER),
    }[type_name]
    fields = st.tuples(st.text(max_size=2), st.integers(-3, 3) | st.none() | st.just(2**31))
    records = [_SHAPES[shape](*f) for f in data.draw(st.lists(fields, min_size=1, max_size=4))]
    values = [records, []] if type_name == "list_of_rows" else records
    one_by_one = _outcome(lambda: [type_info.coerce(value) for value in values])
    batch = _outcome(type_info.coerce_batch, values)
    assert (batch, repr(batch)) == (one_by_one, repr(one_by_one))


@pytest.mark.parametrize("name", ALL)
def test_types_are_values(name: str) -> None:
    type_info, _ = ALL[name]
    again = pickle.loads(pickle.dumps(type_info))
    assert again == type_info == copy.deepcopy(type_info)
    assert hash(again) == hash(type_info)
    assert repr(again) == repr(type_info)
    assert sum(other == type_info for other, _ in ALL.values()) == 1


class _Colour(Enum):
    RED = "red"


class _TextColour(str, Enum):  # noqa: UP042 - not StrEnum, whose str() is the value
    RED = "red"


class _Level(IntEnum):
    HIGH = 3


@pytest.mark.parametrize(
    ("type_info", "value", "expected"),
    [
        (Types.LONG(), np.int64(5), 5),
        (Types.LONG(), _Level.HIGH, 3),
        (Types.DOUBLE(), 5, 5.0),
        (Types.DOUBLE(), np.float32(0.5), 0.5),
        (Types.FLOAT(), 0.1, 0.10000000149011612),
        (Types.FLOAT(), float("inf"), float("inf")),
        (Types.BOOLEAN(), np.bool_(True), True),
        (Types.STRING(), _TextColour.RED, "red"),
        (Types.BIG_DEC(), 5, Decimal(5)),
        (Types.BIG_INT(), Decimal("5.0"), 5),
        (Types.SQL_TIMESTAMP(), pd.Timestamp("2020-01-02"), datetime(2020, 1, 2)),  # noqa: DTZ001
        (
            Types.TIMESTAMP_LTZ(),
            datetime(2020, 1, 2, tzinfo=timezone(timedelta(hours=1))),
            datetime(2020, 1, 1, 23, tzinfo=UTC),
        ),
        (Types.INSTANT(), datetime(1969, 12, 31, 23, 59, 59, 5, tzinfo=UTC), Instant(-1, 5000)),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), bytearray(b"ab"), b"ab"),
        (Types.PRIMITIVE_ARRAY(Types.INT()), array("i", [1, 2]), [1, 2]),
        (Types.BASIC_ARRAY(Types.DOUBLE()), np.array([1.0, 2.0]), [1.0, 2.0]),
        (Types.LIST(Types.DOUBLE()), (1, None), [1.0, None]),
        (Types.MAP(Types.LONG(), Types.DOUBLE()), {1: 2}, {1: 2.0}),
        (Types.TUPLE([Types.LONG(), Types.STRING()]), Row(a=1, b="x"), (1, "x")),
        (Types.TUPLE([Types.LONG(), Types.DOUBLE()]), [1, 2], (1, 2.0)),
    ],
)
def test_accepted(type_info: TypeInformation, value: Any, expected: Any) -> None:
    coerced = type_info.coerce(value)
    assert (coerced, type(coerced)) == (expected, type(expected))
    assert type_info.coerce_batch([value]) == [expected]


@pytest.mark.parametrize(
    ("type_info", "value", "reason"),
    [
        (Types.BYTE(), 128, "out of range, -128 to 127"),
        (Types.SHORT(), -32_769, "out of range"),
        (Types.INT(), 2**31, "2147483648 is out of range"),
        (Types.LONG(), 2**63, "out of range"),
        (Types.LONG(), True, "True of class bool is not an integer"),
        (Types.LONG(), 1.0, "not an integer"),
        (Types.LONG(), "1", "not an integer"),
        (Types.LONG(), None, "not an integer"),
        (Types.DOUBLE(), True, "not a number"),
        (Types.DOUBLE(), 10**400, "out of range"),
        (Types.DOUBLE(), Decimal(1), "not a number"),
        (Types.FLOAT(), 1e300, "out of range for 32 bits"),
        (Types.BOOLEAN(), 1, "not a bool"),
        (Types.STRING(), b"x", "not a str"),
        (Types.STRING(), _Colour.RED, "not a str"),
        (Types.CHAR(), "ab", "not one character"),
        (Types.BIG_INT(), Decimal("1.5"), "not an integer"),
        (Types.BIG_DEC(), 1.5, "not an integer"),
        (Types.BIG_DEC(), Decimal("NaN"), "not a finite decimal"),
        (Types.SQL_DATE(), datetime(2020, 1, 2), "not a datetime.date"),  # noqa: DTZ001
        (Types.SQL_TIME(), time(1, tzinfo=UTC), "without time zone"),
        (Types.SQL_TIMESTAMP(), datetime(2020, 1, 2, tzinfo=UTC), "without time zone"),
        (Types.SQL_TIMESTAMP(), date(2020, 1, 2), "not a datetime"),
        (Types.SQL_TIMESTAMP(), pd.Timestamp(1), "whole microseconds"),
        (Types.SQL_TIMESTAMP(), pd.NaT, "not a datetime"),
        (Types.TIMESTAMP_LTZ(), datetime(2020, 1, 2), "with time zone"),  # noqa: DTZ001
        (Types.INSTANT(), 5, "not an Instant"),
        (Types.PRIMITIVE_ARRAY(Types.INT()), [None], "not an integer"),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), [1], "not bytes"),
        (Types.LIST(Types.STRING()), "abc", "not a list"),
        (Types.LIST(Types.STRING()), {"a"}, "not a list"),
        (Types.MAP(Types.STRING(), Types.LONG()), {None: 1}, "without None as key"),
        (Types.MAP(Types.STRING(), Types.LONG()), [1], "not a dict"),
        (Types.TUPLE([Types.LONG()]), (None,), "field 'f0': None"),
        (Types.TUPLE([Types.LONG()]), (1, 2), "of 1 fields but 2"),
        (Types.TUPLE([Types.LONG()]), 1, "not a tuple, list or Row"),
        (_USER, ("Ann",), r"of 2 fields \(name, age\) but 1"),
        (_USER, ("Ann", "11"), "field 'age': '11'"),
        (_USER, Row(name="Ann"), r"lacks fields \['age'\]"),
        (_USER, {"name": "Ann", "agee": 1}, r"unknown fields \['agee'\]"),
        (_USER, "x", "not a Row, tuple"),
        (_USER, None, "not a Row, tuple"),
    ],
)
def test_refused(type_info: TypeInformation, value: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as single:
        type_info.coerce(value)
    with pytest.raises(ValueError, match=reason) as batch:
        type_info.coerce_batch([value])
    assert str(single.value) == str(batch.value)
    assert find_mismatch(type_info, [value]) == (0, str(single.value))


@pytest.mark.parametrize(
    "value",
    [
        Row(name="Ann", age=11),
        Row(age=11, name="Ann"),
        Row("Ann", 11),
        ("Ann", 11),
        ["Ann", 11],
        {"age": 11, "name": "Ann"},
        _DataUser(11, "Ann"),
        _TupleUser(11, "Ann"),
        _Other("Ann", 11),
    ],
)
def test_rows_are_made_of_any_record(value: Any) -> None:
    expected = "Row(name='Ann', age=11)"
    assert repr(_USER.coerce(value)) == expected
    assert list(map(repr, _USER.coerce_batch([value, value]))) == [expected] * 2
    assert list(map(repr, _USER.coerce_batch([value, ("Bob", 1)]))) == [
        expected,
        "Row(name='Bob', age=1)",
    ]


def test_single_field_records() -> None:
    one = Types.ROW_NAMED(["name"], [Types.STRING()])
    assert one.coerce_batch([_One("a")]) == [Row(name="a")]
    assert one.coerce_batch([("a",)]) == [Row(name="a")]


def test_missing_dict_entries_are_none() -> None:
    assert _USER.coerce({"age": 11}) == Row(name=None, age=11)
    assert _USER.coerce_batch([{"age": 11}, {}]) == [
        Row(name=None, age=11),
        Row(name=None, age=None),
    ]


def test_coercion_keeps_the_kind_and_leaves_its_input_alone() -> None:
    old = Row.of_kind(RowKind.DELETE, "Ann", np.int64(11))
    plain = Row.of_kind(RowKind.DELETE, "Ann", 11)
    for new in (_USER.coerce(old), *_USER.coerce_batch([old, plain])):
        assert new == Row.of_kind(RowKind.DELETE, name="Ann", age=11)
        new["name"] = "Bob"
    assert (old[0], plain[0]) == ("Ann", "Ann")
    assert "<Row" in repr(old)


def test_rows_without_names_become_f0_f1() -> None:
    assert repr(Types.ROW([Types.LONG(), Types.LONG()]).coerce((1, 2))) == "Row(f0=1, f1=2)"


def test_names_of_types() -> None:
    assert repr(_USER) == "Row(name: String, age: Integer)"
    assert repr(Types.TUPLE([Types.LONG(), Types.LIST(_USER)])) == (
        "Tuple(Long, List(Row(name: String, age: Integer)))"
    )
    assert repr(Types.MAP(Types.STRING(), Types.SQL_DATE())) == "Map(String, SqlDate)"
    assert repr(Types.PICKLED_BYTE_ARRAY()) == "any object"


def test_every_rule_has_a_factory() -> None:
    made = {t.name for t, _ in ALL.values() if isinstance(t, BasicTypeInfo)}
    assert made == set(BASIC_RULES)


def test_row_type_fields() -> None:
    assert _USER.get_field_names() == ["name", "age"]
    assert _USER.get_field_types() == [Types.STRING(), Types.INT()]
    assert _USER.get_field_index("age") == 1
    with pytest.raises(UnknownFieldError):
        _USER.get_field_index("size")
    assert Types.TUPLE([Types.LONG()]).get_field_types() == [Types.LONG()]


def test_conversion_methods() -> None:
    assert _USER.need_conversion()
    assert not Types.PICKLED_BYTE_ARRAY().need_conversion()
    assert Types.DOUBLE().to_internal_type(1) == 1.0
    assert Types.DOUBLE().to_internal_type(None) is None
    assert Types.DOUBLE().from_internal_type(1.5) == 1.5


_UNTYPED: Any = Types


@pytest.mark.parametrize(
    "make",
    [
        lambda: _UNTYPED.ROW([]),
        lambda: _UNTYPED.TUPLE([]),
        lambda: _UNTYPED.ROW([Types.LONG]),
        lambda: _UNTYPED.ROW([int]),
        lambda: _UNTYPED.ROW_NAMED(["a", "a"], [Types.LONG(), Types.LONG()]),
        lambda: _UNTYPED.ROW_NAMED(["a"], [Types.LONG(), Types.LONG()]),
        lambda: _UNTYPED.ROW_NAMED([1], [Types.LONG()]),
        lambda: Types.PRIMITIVE_ARRAY(Types.STRING()),
        lambda: Types.BASIC_ARRAY(Types.LIST(Types.LONG())),
        lambda: _UNTYPED.LIST(int),
        lambda: Types.MAP(Types.LIST(Types.LONG()), Types.LONG()),
        lambda: _UNTYPED.MAP(Types.LONG(), None),
        lambda: BasicTypeInfo("Money"),
    ],
)
def test_wrong_types_cannot_be_made(make: Any) -> None:
    with pytest.raises(ArgumentError) as raised:
        make()
    assert raised.value.code == "GRAPH_ARGUMENT"
