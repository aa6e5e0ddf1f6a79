"""Columns: round trips of every type, every readable Arrow type, and errors by code."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import ArgumentError, SourceError, TypeMismatchError
from penstock.types import RowTypeInfo
from penstock.types.arrow import (
    BASIC_ARROW,
    arrow_columns,
    arrow_schema,
    columns_to_lists,
    one_batch,
    type_of_arrow,
)
from penstock.types.basic import BASIC_RULES
from penstock.types.row import Row, row_factory
from penstock.types.time import Instant
from penstock.types.types import Types
from tests.types.type_strategies import COLUMNAR

_UTC = dt.UTC
_USER = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])


def _round_trip(type_info: Any, values: list[Any]) -> list[Any]:
    schema = arrow_schema(type_info)
    columns = arrow_columns(type_info, values)
    assert [column.type for column in columns] == schema.types
    batch = pa.RecordBatch.from_arrays(columns, schema=schema)
    read = list(zip(*columns_to_lists(batch), strict=True))
    # What is read has the declared form of the type that the schema stands for.
    as_read = row_factory(schema.names)(map(list, read))
    assert type_of_arrow(schema).coerce_batch(as_read) is as_read
    # Sliced batches carry offsets.
    tail = list(zip(*columns_to_lists(batch.slice(1)), strict=True))
    assert tail == read[1:]
    return type_info.coerce_batch(read)  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", COLUMNAR)
@settings(max_examples=40)
@given(data=st.data())
def test_rows_round_trip(name: str, data: st.DataObject) -> None:
    field, strategy = COLUMNAR[name]
    type_info = Types.ROW_NAMED(["k", "v"], [Types.LONG(), field])
    values = data.draw(st.lists(st.none() | strategy, min_size=1, max_size=6))
    rows = [Row(k=index, v=value) for index, value in enumerate(values)]
    assert _round_trip(type_info, rows) == rows


@pytest.mark.parametrize("name", COLUMNAR)
@settings(max_examples=40)
@given(data=st.data())
def test_tuples_round_trip(name: str, data: st.DataObject) -> None:
    field, strategy = COLUMNAR[name]
    values = [(value,) for value in data.draw(st.lists(strategy, min_size=1, max_size=6))]
    assert _round_trip(Types.TUPLE([field]), values) == values


def test_no_records_make_empty_columns() -> None:
    assert [len(column) for column in arrow_columns(_USER, [])] == [0, 0]


def test_every_basic_type_has_a_column() -> None:
    assert set(BASIC_ARROW) == set(BASIC_RULES)


@pytest.mark.parametrize(
    "values",
    [
        [Row(name="Ann", age=11), Row(name="Bob", age=None)],
        [Row("Ann", 11), Row("Bob", None)],
        [("Ann", 11), ["Bob", None]],
        [{"age": 11, "name": "Ann"}, {"name": "Bob"}],
        [Row(age=11, name="Ann"), ("Bob", None)],
        [("Ann", np.int64(11)), ("Bob", None)],
    ],
)
def test_records_of_any_shape_make_columns(values: list[Any]) -> None:
    names, ages = arrow_columns(_USER, values)
    assert names.to_pylist() == ["Ann", "Bob"]
    assert ages.to_pylist() == [11, None]


_AWARE = dt.datetime(2020, 1, 1, tzinfo=_UTC)
_NAIVE = dt.datetime(2020, 1, 1)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        (Types.INT(), 1, 2**31),
        (Types.LONG(), 1, 2**63),
        (Types.LONG(), 1, 1.0),
        (Types.LONG(), 1, True),
        (Types.LONG(), 1, "1"),
        (Types.FLOAT(), 1.0, 1e300),
        (Types.DOUBLE(), 1.0, True),
        (Types.STRING(), "a", b"a"),
        (Types.STRING(), "a", "\ud800"),
        (Types.CHAR(), "a", "ab"),
        (Types.SQL_DATE(), _NAIVE.date(), _NAIVE),
        (Types.SQL_TIMESTAMP(), _NAIVE, _AWARE),
        (Types.TIMESTAMP_LTZ(), _AWARE, _NAIVE),
        (Types.INSTANT(), Instant(1, 0), Instant(1, 1)),
        (Types.INSTANT(), Instant(1, 0), Instant(10**15, 0)),
        (Types.BIG_INT(), 1, 10**38),
        (Types.BIG_DEC(), Decimal("0.5"), Decimal("0.1") ** 19),
        (Types.LIST(Types.LONG()), [1], ["1"]),
        (_USER, Row(name="Ann", age=1), Row(name="Ann", age="1")),
        (Types.MAP(Types.STRING(), Types.BIG_INT()), {"a": 1}, {"a": 10**38}),
    ],
)
def test_a_value_that_does_not_fit_is_located(field: Any, good: Any, bad: Any) -> None:
    type_info = Types.ROW_NAMED(["ok", "amount"], [Types.LONG(), field])
    with pytest.raises(TypeMismatchError) as raised:
        arrow_columns(type_info, [(1, good), (2, None), (3, bad), (4, good)])
    assert raised.value.code == "TYPE_MISMATCH"
    for part in ("'amount'", "record 2", repr(bad)):
        assert part in raised.value.problem


def test_none_in_a_tuple_is_located() -> None:
    with pytest.raises(TypeMismatchError, match="'f0' of record 1 of the batch is None"):
        arrow_columns(Types.TUPLE([Types.LONG()]), [(1,), (None,)])


@pytest.mark.parametrize("bad", [("Ann",), 5, {"nam": "Ann"}, Row(a=1, b=2)])
def test_a_record_of_the_wrong_shape_is_located(bad: Any) -> None:
    with pytest.raises(TypeMismatchError, match="record 1 of the batch") as raised:
        arrow_columns(_USER, [("Ann", 1), bad])
    assert repr(bad) in raised.value.problem


@pytest.mark.parametrize(
    "type_info",
    [
        Types.LONG(),
        Types.PICKLED_BYTE_ARRAY(),
        Types.ROW([Types.PICKLED_BYTE_ARRAY()]),
        Types.TUPLE([Types.LIST(Types.PICKLED_BYTE_ARRAY())]),
    ],
)
def test_types_without_columns_are_refused(type_info: Any) -> None:
    with pytest.raises(ArgumentError) as raised:
        arrow_schema(type_info)
    assert raised.value.code == "GRAPH_ARGUMENT"


_MANY_WORDS = [f"word {index % 5}" if index % 7 else None for index in range(5000)]
_MANY_IDS = [f"id {index}" for index in range(5000)]


@pytest.mark.parametrize(
    ("column", "field"),
    [
        (pa.array([1, None], pa.uint8()), Types.SHORT()),
        (pa.array([1, 2], pa.uint16()), Types.INT()),
        (pa.array([1, 2**32 - 1], pa.uint32()), Types.LONG()),
        (pa.array([1, 2**64 - 1], pa.uint64()), Types.BIG_INT()),
        (pa.array([0.5, None], pa.float32()), Types.FLOAT()),
        (pa.array([0.5, 1.5]).cast(pa.float16()), Types.FLOAT()),
        (pa.array(["a", None], pa.large_string()), Types.STRING()),
        (pa.array(["a", None], pa.string_view()), Types.STRING()),
        (pa.array(_MANY_WORDS), Types.STRING()),
        (pa.array(_MANY_WORDS, pa.string_view()), Types.STRING()),
        (pa.array(_MANY_IDS), Types.STRING()),
        (pa.array([*_MANY_IDS[:99], *_MANY_WORDS]).dictionary_encode(), Types.STRING()),
        (pa.array([1, None, 1]).dictionary_encode(), Types.LONG()),
        (pa.array([None, None]), Types.STRING()),
        (pa.array([b"a", None], pa.large_binary()), Types.PRIMITIVE_ARRAY(Types.BYTE())),
        (pa.array([b"ab", None], pa.binary(2)), Types.PRIMITIVE_ARRAY(Types.BYTE())),
        (pa.array([_NAIVE.date(), None], pa.date64()), Types.SQL_DATE()),
        (pa.array([dt.time(1), None], pa.time32("s")), Types.SQL_TIME()),
        (pa.array([dt.time(1, 2, 3, 4), None], pa.time64("ns")), Types.SQL_TIME()),
        (pa.array([_NAIVE, None], pa.timestamp("s")), Types.SQL_TIMESTAMP()),
        (pa.array([_NAIVE, None], pa.timestamp("ns")), Types.SQL_TIMESTAMP()),
        (pa.array([-62_135_596_800, 253_402_300_799], pa.timestamp("s")), Types.SQL_TIMESTAMP()),
        (pa.array([_AWARE, None], pa.timestamp("ms", "Asia/Tokyo")), Types.TIMESTAMP_LTZ()),
        (pa.array([dt.date.min, dt.date.max]), Types.SQL_DATE()),
        (pa.array([Decimal("1.50"), None], pa.decimal128(5, 2)), Types.BIG_DEC()),
        (pa.array([Decimal("1.50"), None], pa.decimal256(50, 2)), Types.BIG_DEC()),
        (pa.array([[1], None, []], pa.large_list(pa.int64())), Types.LIST(Types.LONG())),
        (pa.array([[1, 2], [3, None]], pa.list_(pa.int64(), 2)), Types.LIST(Types.LONG())),
    ],
)
@pytest.mark.parametrize("start", [0, 1])
def test_arrow_types_are_read(column: Any, field: Any, start: int) -> None:
    batch = pa.RecordBatch.from_arrays([column], names=["x"]).slice(start)
    type_info = type_of_arrow(batch.schema)
    assert type_info == RowTypeInfo([field], ["x"])
    (values,) = columns_to_lists(batch)
    rows = [Row(x=value) for value in values]
    assert type_info.coerce_batch(rows) is rows
    assert values == column.to_pylist()[start:]


def test_equal_words_are_one_object() -> None:
    (words,) = columns_to_lists(pa.RecordBatch.from_arrays([pa.array(_MANY_WORDS)], ["x"]))
    assert len(set(map(id, words))) == 6


def test_zoned_times_come_in_utc() -> None:
    tokyo = dt.timezone(dt.timedelta(hours=9))
    column = pa.array([dt.datetime(2020, 1, 1, 9, tzinfo=tokyo)], pa.timestamp("us", "Asia/Tokyo"))
    ((value,),) = columns_to_lists(pa.RecordBatch.from_arrays([column], ["x"]))
    assert (value, value.tzinfo) == (_AWARE, _UTC)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1], pa.timestamp("ns")),
        pa.array([1], pa.timestamp("ns", "UTC")),
        pa.array([1], pa.time64("ns")),
        pa.array([2**62], pa.timestamp("us")),
        pa.array([2**62], pa.timestamp("s")),
        pa.array([2**62], pa.timestamp("us", "UTC")),
        pa.array([2**31 - 1], pa.date32()),
    ],
)
def test_times_that_datetime_cannot_hold_are_refused(column: Any) -> None:
    with pytest.raises(TypeMismatchError, match="column 'x'") as raised:
        columns_to_lists(pa.RecordBatch.from_arrays([column], ["x"]))
    assert raised.value.code == "TYPE_MISMATCH"


def test_unreadable_columns_are_named() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([1], pa.duration("s"))], ["took"])
    for call in (lambda: type_of_arrow(batch.schema), lambda: columns_to_lists(batch)):
        with pytest.raises(SourceError, match="'took'") as raised:
            call()
        assert raised.value.code == "SOURCE"
    with pytest.raises(SourceError):
        type_of_arrow(pa.schema([]))


def test_batches_of_one_schema_are_one_batch() -> None:
    parts = [
        pa.record_batch({"k": [1, None], "s": ["a", "b"]}),
        pa.record_batch({"k": [3], "s": pa.array([None], pa.string())}),
    ]
    parts.insert(1, parts[0].slice(0, 0))
    assert one_batch(parts).to_pydict() == {"k": [1, None, 3], "s": ["a", "b", None]}
    assert one_batch(parts[:1]) is parts[0]
