"""PyFlink's classes of types, under PyFlink's names."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from penstock import common
from penstock.common import RowKind, TypeInformation, Types, typeinfo
from penstock.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    InstantTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    SqlTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
)
from penstock.errors import ArgumentError, UnknownFieldError
from penstock.types.infer import InferredTypeInfo, common_type, described, enforced

LONG, STRING = Types.LONG(), Types.STRING()


def test_the_module_has_pyflinks_names() -> None:
    assert typeinfo.Types is common.Types
    assert set(typeinfo.__all__) >= {"TypeInformation", "Types", "BasicTypeInfo", "RowTypeInfo"}
    assert all(hasattr(typeinfo, name) for name in typeinfo.__all__)


@pytest.mark.parametrize("basic", BasicType)
def test_every_basic_type_has_three_ways_to_it(basic: BasicType) -> None:
    factory = getattr(Types, basic.name)()
    assert BasicTypeInfo(basic) == factory  # type: ignore[arg-type]
    assert getattr(BasicTypeInfo, f"{basic.name}_TYPE_INFO")() == factory
    assert isinstance(factory, BasicTypeInfo)
    assert repr(factory) == basic.value


@pytest.mark.parametrize(
    ("made", "same", "classes"),
    [
        (SqlTimeTypeInfo.DATE(), Types.SQL_DATE(), [DateTypeInfo, SqlTimeTypeInfo]),
        (SqlTimeTypeInfo.TIME(), Types.SQL_TIME(), [TimeTypeInfo, SqlTimeTypeInfo]),
        (
            SqlTimeTypeInfo.TIMESTAMP(),
            Types.SQL_TIMESTAMP(),
            [TimestampTypeInfo, SqlTimeTypeInfo, LocalTimeTypeInfo],
        ),
        (DateTypeInfo(), Types.SQL_DATE(), [DateTypeInfo]),
        (TimeTypeInfo(), Types.SQL_TIME(), [TimeTypeInfo]),
        (TimestampTypeInfo(), Types.SQL_TIMESTAMP(), [TimestampTypeInfo]),
        (InstantTypeInfo(), Types.INSTANT(), [InstantTypeInfo]),
        (InstantTypeInfo(BasicType.INSTANT), Types.INSTANT(), [InstantTypeInfo]),
        (
            LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE),
            Types.SQL_DATE(),
            [LocalTimeTypeInfo, DateTypeInfo],
        ),
        (
            LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_TIME),
            Types.SQL_TIME(),
            [LocalTimeTypeInfo],
        ),
        (
            LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME),
            Types.SQL_TIMESTAMP(),
            [LocalTimeTypeInfo],
        ),
    ],
)
def test_types_of_time(made: Any, same: TypeInformation, classes: list[type]) -> None:
    assert made == same
    assert pickle.loads(pickle.dumps(made)) == same
    assert all(isinstance(made, cls) for cls in [*classes, BasicTypeInfo, TypeInformation])
    assert not isinstance(LONG, tuple(classes))


@pytest.mark.parametrize(
    "make",
    [lambda: InstantTypeInfo(BasicType.LONG), lambda: LocalTimeTypeInfo("x")],  # type: ignore[arg-type]
)
def test_other_arguments_are_refused(make: Any) -> None:
    with pytest.raises(ArgumentError):
        make()


@pytest.mark.parametrize(
    ("made", "cls"),
    [
        (Types.PICKLED_BYTE_ARRAY(), PickledBytesTypeInfo),
        (Types.PRIMITIVE_ARRAY(LONG), PrimitiveArrayTypeInfo),
        (Types.BASIC_ARRAY(LONG), BasicArrayTypeInfo),
        (Types.OBJECT_ARRAY(LONG), ObjectArrayTypeInfo),
        (Types.LIST(LONG), ListTypeInfo),
        (Types.MAP(STRING, LONG), MapTypeInfo),
        (Types.ROW([LONG]), RowTypeInfo),
        (Types.TUPLE([LONG]), TupleTypeInfo),
    ],
)
def test_factories_make_pyflinks_classes(made: TypeInformation, cls: type) -> None:
    assert isinstance(made, cls)
    assert isinstance(made, TypeInformation)
    assert made == pickle.loads(pickle.dumps(made))
    assert made != LONG


def test_rows_know_their_fields() -> None:
    named = RowTypeInfo([STRING, LONG], ["name", "n"])
    assert named == Types.ROW_NAMED(["name", "n"], [STRING, LONG])
    assert named.get_field_names() == ["name", "n"]
    assert named.get_field_types() == [STRING, LONG]
    assert named.get_field_index("n") == 1
    assert Types.ROW([LONG, LONG]).get_field_names() == ["f0", "f1"]
    assert Types.TUPLE([STRING, LONG]).get_field_types() == [STRING, LONG]
    assert Types.LIST(LONG).elem_type == LONG
    with pytest.raises(UnknownFieldError) as raised:
        named.get_field_index("x")
    assert isinstance(raised.value, ValueError)


def test_conversion_methods_are_pyflinks() -> None:
    row = Types.ROW([LONG])
    assert row.need_conversion()
    assert not Types.PICKLED_BYTE_ARRAY().need_conversion()
    assert row.from_internal_type(row.to_internal_type((1,))) == row.coerce((1,))
    assert row.to_internal_type(None) is None


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (RowKind.INSERT, "+I"),
        (RowKind.UPDATE_BEFORE, "-U"),
        (RowKind.UPDATE_AFTER, "+U"),
        (RowKind.DELETE, "-D"),
    ],
)
def test_kinds_print_as_in_flink(kind: RowKind, text: str) -> None:
    assert str(kind) == text
    assert repr(kind) == f"<RowKind.{kind.name}: {kind.value}>"


def test_an_inferred_type_holds_for_nothing() -> None:
    inferred = InferredTypeInfo(LONG)
    assert inferred.coerce("x") == "x"
    values = ["x", 1, None]
    assert inferred.coerce_batch(values) is values
    assert not inferred.need_conversion()
    assert isinstance(inferred, PickledBytesTypeInfo)
    assert (described(inferred), described(STRING)) == (LONG, STRING)
    assert (enforced(inferred), enforced(STRING)) == (Types.PICKLED_BYTE_ARRAY(), STRING)
    assert repr(inferred) == "Inferred(Long)"
    assert pickle.loads(pickle.dumps(inferred)) == inferred != InferredTypeInfo(STRING)
    with pytest.raises(ArgumentError):
        InferredTypeInfo(Types.INT)  # type: ignore[arg-type]


def test_the_common_type_of_streams() -> None:
    pickled = Types.PICKLED_BYTE_ARRAY()
    one, other = InferredTypeInfo(LONG), InferredTypeInfo(STRING)
    assert common_type([LONG, LONG]) == LONG
    assert common_type([LONG, STRING]) is None
    assert common_type([one, one]) == one
    assert common_type([one, other]) == pickled == common_type([pickled, one])
    assert common_type([LONG, one]) is None is common_type([one, LONG])
