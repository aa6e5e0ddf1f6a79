"""JSON and CSV rows, and strings: there and back, and what is refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import ByteArraySchema, Row, SimpleStringSchema, Types
from penstock.datastream.formats.csv import (
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
)
from penstock.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from penstock.errors import ArgumentError, DecodeError, TypeMismatchError
from penstock.types import Instant

FLAT = Types.ROW_NAMED(
    ["name", "size", "price", "ok", "day", "at"],
    [
        Types.STRING(),
        Types.LONG(),
        Types.BIG_DEC(),
        Types.BOOLEAN(),
        Types.SQL_DATE(),
        Types.INSTANT(),
    ],
)
VALUE = Row(
    name='a,"b"\nÄ',
    size=-3,
    price=Decimal("1.50"),
    ok=True,
    day=dt.date(2026, 2, 3),
    at=Instant(5, 250_000_000),
)
NESTED = Types.ROW_NAMED(
    ["inner", "many", "pairs", "raw", "mixed"],
    [
        Types.ROW_NAMED(["day"], [Types.SQL_DATE()]),
        Types.OBJECT_ARRAY(Types.SQL_DATE()),
        Types.MAP(Types.LONG(), Types.STRING()),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        Types.TUPLE([Types.INT(), Types.STRING()]),
    ],
)


def json_schemas(type_info: Any) -> tuple[Any, Any]:
    return (
        JsonRowSerializationSchema.Builder().with_type_info(type_info).build(),
        JsonRowDeserializationSchema.builder().type_info(type_info).build(),
    )


def test_json_rows_come_back() -> None:
    to, back = json_schemas(FLAT)
    assert back.deserialize(to.serialize(VALUE)) == VALUE
    empty = Row(**dict.fromkeys(FLAT.field_names))
    assert back.deserialize(to.serialize(empty)) == empty


def test_nested_json_rows_come_back() -> None:
    day = dt.date(2026, 1, 1)
    value = NESTED.coerce(
        {
            "inner": {"day": day},
            "many": [day, None],
            "pairs": {7: "x"},
            "raw": b"\0z",
            "mixed": (1, "y"),
        }
    )
    to, back = json_schemas(NESTED)
    assert back.deserialize(to.serialize(value)) == value


def test_the_json_text_is_that_of_flink_for_unnamed_rows() -> None:
    to, _ = json_schemas(Types.ROW([Types.INT(), Types.STRING()]))
    assert to.serialize((1, "hi")) == b'{"f0":1,"f1":"hi"}'


def test_json_fields_are_matched_by_name_and_others_left_out() -> None:
    _, back = json_schemas(Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.INT()]))
    assert back.deserialize(b'{"b":2,"c":3}') == Row(a=None, b=2)


@pytest.mark.parametrize("text", [b"{", b"[1]", b'{"a":"x"}', b"3", b"\xff"])
def test_what_is_no_such_json_is_refused_or_skipped(text: bytes) -> None:
    kind = Types.ROW_NAMED(["a"], [Types.INT()])
    builder = JsonRowDeserializationSchema.builder().type_info(kind)
    with pytest.raises(DecodeError):
        builder.build().deserialize(text)
    assert builder.ignore_parse_errors().build().deserialize(text) is None


def test_a_missing_field_may_be_an_error() -> None:
    kind = Types.ROW_NAMED(["a"], [Types.INT()])
    strict = JsonRowDeserializationSchema.builder().type_info(kind).fail_on_missing_field()
    with pytest.raises(DecodeError, match="no field 'a'"):
        strict.build().deserialize(b"{}")
    with pytest.raises(ArgumentError, match="exclude"):
        strict.ignore_parse_errors().build()


def test_a_type_from_a_json_schema() -> None:
    schema = """{"type": "object", "properties": {
        "n": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}}}"""
    made = JsonRowDeserializationSchema.builder().json_schema(schema).build()
    assert made.deserialize(b'{"n": 5, "tags": ["x"]}') == Row(n=5, tags=["x"])
    with pytest.raises(ArgumentError):
        JsonRowDeserializationSchema.builder().json_schema('{"type": "string"}')


def test_json_of_another_type_is_refused() -> None:
    to, _ = json_schemas(Types.ROW([Types.INT()]))
    with pytest.raises(TypeMismatchError):
        to.serialize(("x",))


def csv_schemas(type_info: Any) -> tuple[Any, Any]:
    return (
        CsvRowSerializationSchema.Builder(type_info).build(),
        CsvRowDeserializationSchema.Builder(type_info).build(),
    )


def test_csv_rows_come_back() -> None:
    kind = Types.ROW(
        [Types.STRING(), Types.LONG(), Types.DOUBLE(), Types.BOOLEAN(), Types.SQL_DATE()]
    )
    to, back = csv_schemas(kind)
    value = Row('a,"b"', 3, 0.5, False, dt.date(2026, 2, 3))
    assert to.serialize(value) == b'"a,""b""",3,0.5,false,2026-02-03\n'
    assert list(back.deserialize(to.serialize(value))) == list(value)


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"])),
        min_size=1,
        max_size=4,
    )
)
def test_any_text_of_one_line_survives_csv(texts: list[str]) -> None:
    to, back = csv_schemas(Types.ROW([Types.STRING()] * len(texts)))
    if texts == [""]:
        return  # an empty line has no fields
    assert list(back.deserialize(to.serialize(texts))) == texts


def test_csv_settings() -> None:
    kind = Types.ROW([Types.STRING(), Types.LONG(), Types.OBJECT_ARRAY(Types.LONG())])
    to = (
        CsvRowSerializationSchema.Builder(kind)
        .set_field_delimiter("|")
        .set_array_element_delimiter("+")
        .set_null_literal("n/a")
        .set_quote_character("'")
        .set_line_delimiter("")
        .build()
    )
    line = to.serialize(("a|b", None, [1, 2]))
    assert line == b"'a|b'|n/a|1+2"
    back = (
        CsvRowDeserializationSchema.Builder(kind)
        .set_field_delimiter("|")
        .set_array_element_delimiter("+")
        .set_null_literal("n/a")
        .set_quote_character("'")
        .set_allow_comments(True)
        .build()
    )
    row = back.deserialize(line)
    assert row is not None
    assert list(row) == ["a|b", None, [1, 2]]
    assert back.deserialize("# a comment") is None


@pytest.mark.parametrize("line", ["1,2", "x", '"'])
def test_what_is_no_such_csv_is_refused_or_skipped(line: str) -> None:
    builder = CsvRowDeserializationSchema.Builder(Types.ROW([Types.LONG()]))
    with pytest.raises(DecodeError):
        builder.build().deserialize(line)
    assert builder.set_ignore_parse_errors(True).build().deserialize(line) is None


def test_settings_of_more_than_one_character_are_refused() -> None:
    with pytest.raises(ArgumentError):
        CsvRowSerializationSchema.Builder(Types.ROW([Types.INT()])).set_field_delimiter("||")


@given(st.text())
def test_strings_come_back(text: str) -> None:
    schema = SimpleStringSchema("UTF-16")
    if any(0xD800 <= ord(c) < 0xE000 for c in text):
        return
    assert schema.deserialize(schema.serialize(text)) == text


def test_strings_and_bytes_of_other_kinds_are_refused() -> None:
    with pytest.raises(TypeMismatchError):
        SimpleStringSchema().serialize(3)
    with pytest.raises(TypeMismatchError):
        ByteArraySchema().serialize("x")
    with pytest.raises(DecodeError):
        SimpleStringSchema().deserialize(b"\xff")
    with pytest.raises(ArgumentError):
        SimpleStringSchema("no such")
