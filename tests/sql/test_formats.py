"""Formats: what is written is read again, Flink's texts are read, and what cannot be read is named."""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import DecodeError, SqlError, TypeMismatchError
from penstock.sql.grammar import parse_type
from penstock.sql.tables.formats.json_format import JsonDecoder, JsonEncoder
from penstock.sql.tables.formats.table import FORMATS
from penstock.sql.tables.options import TableOptions
from penstock.types.row import Row, RowKind

_TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), max_size=8)
_MOMENTS = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1))  # noqa: DTZ001 - no zone
SIMPLE = {
    "BOOLEAN": st.booleans(),
    "TINYINT": st.integers(-128, 127),
    "INT": st.integers(-(2**31), 2**31 - 1),
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "DOUBLE": st.floats(allow_nan=False, allow_infinity=False),
    "DECIMAL(10, 2)": st.decimals(-99999999, 99999999, places=2),
    "STRING": _TEXTS,
    "BYTES": st.binary(max_size=8),
    "DATE": st.dates(),
    "TIME": st.times(),
    "TIMESTAMP": _MOMENTS,
    "TIMESTAMP_LTZ": _MOMENTS.map(lambda moment: moment.replace(tzinfo=dt.UTC)),
}
NESTED = {
    "ARRAY<DECIMAL(10, 2)>": st.lists(st.none() | SIMPLE["DECIMAL(10, 2)"], max_size=3),
    "MAP<STRING, BIGINT>": st.dictionaries(_TEXTS, st.none() | SIMPLE["BIGINT"], max_size=3),
    "ROW<a INT, b ARRAY<STRING>>": st.builds(
        Row("a", "b"), st.none() | SIMPLE["INT"], st.lists(_TEXTS, max_size=2)
    ),
}


def fields(*types: str):
    return [(f"c {i}", parse_type(text)) for i, text in enumerate(types)]


def options(**given: str) -> TableOptions:
    return TableOptions("table 't'", {key.replace("_", "-"): text for key, text in given.items()})


def rows_of(kinds):
    return st.tuples(*(st.none() | strategy for strategy in kinds.values())).map(list)


@pytest.mark.parametrize("is_iso", [False, True])
@settings(max_examples=40)
@given(data=st.data())
def test_json_is_read_as_it_was_written(data, is_iso):
    kinds = SIMPLE | NESTED
    row = data.draw(rows_of(kinds))
    columns = fields(*kinds)
    encode = pickle.loads(pickle.dumps(JsonEncoder(columns, is_iso=is_iso)))
    decode = pickle.loads(
        pickle.dumps(JsonDecoder(columns, skips_errors=False, fails_on_missing=True))
    )
    text = encode(row)
    assert decode(text) == row
    assert decode(text.encode()) == row


@settings(max_examples=40)
@given(row=rows_of(SIMPLE))
def test_csv_is_read_as_it_was_written(row):
    columns = fields(*SIMPLE)
    given_options = TableOptions("t", {"csv.null-literal": "NULL?"})
    encode = FORMATS["csv"].encoder(columns, given_options)
    decode = FORMATS["csv"].decoder(columns, given_options)
    assert pickle.loads(pickle.dumps(decode))(pickle.loads(pickle.dumps(encode))(row)) == row


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("BIGINT", '"12"', 12),
        ("INT", "12.0", 12),
        ("DOUBLE", '"1.5"', 1.5),
        ("DECIMAL(10, 2)", "1.005", Decimal("1.01")),
        ("DECIMAL(10, 2)", '"7"', Decimal("7.00")),
        ("BOOLEAN", '"TRUE"', True),
        ("STRING", '{"a": [1, null]}', '{"a": [1, null]}'),
        ("STRING", "1.50", "1.50"),
        ("STRING", "true", "true"),
        ("BYTES", '"AQI="', b"\1\2"),
        ("DATE", '"2026-01-31"', dt.date(2026, 1, 31)),
        ("TIMESTAMP", '"2026-01-31 10:00:00.123"', dt.datetime(2026, 1, 31, 10, 0, 0, 123000)),  # noqa: DTZ001
        ("TIMESTAMP", '"2026-01-31T10:00:00"', dt.datetime(2026, 1, 31, 10)),  # noqa: DTZ001
        ("TIMESTAMP_LTZ", '"2026-01-31 10:00:00Z"', dt.datetime(2026, 1, 31, 10, tzinfo=dt.UTC)),
        (
            "TIMESTAMP_LTZ",
            '"2026-01-31T12:00:00+02:00"',
            dt.datetime(2026, 1, 31, 10, tzinfo=dt.UTC),
        ),
        ("ARRAY<INT>", "[1, null]", [1, None]),
    ],
)
def test_texts_of_json(kind, text, value):
    decode = JsonDecoder([("v", parse_type(kind))], skips_errors=False, fails_on_missing=False)
    assert decode(f'{{"v": {text}, "other": 1}}') == [value]
    assert decode('{"v": null}') == [None]
    assert decode("{}") == [None]


@pytest.mark.parametrize(
    ("kind", "text", "says"),
    [
        ("INT", "2147483648", "column 'v': 2147483648 is out of range"),
        ("INT", "1.5", "column 'v'"),
        ("INT", "true", "true is not a number"),
        ("DECIMAL(3, 2)", "10", "'10' is no DECIMAL(3, 2)"),
        ("BOOLEAN", '"yes"', "neither true nor false"),
        ("TIMESTAMP", '"2026-01-31T10:00:00Z"', "has a time zone"),
        ("TIMESTAMP_LTZ", '"2026-01-31 10:00:00"', "has no time zone"),
        ("ARRAY<INT>", "{}", "is not an array"),
        ("ROW<a INT>", "[]", "is not an object"),
    ],
)
def test_what_is_no_value_of_json_is_named(kind, text, says):
    columns = [("v", parse_type(kind))]
    message = f'{{"v": {text}}}'
    with pytest.raises(DecodeError, match=r"cannot be read as JSON") as caught:
        JsonDecoder(columns, skips_errors=False, fails_on_missing=False)(message)
    assert says in caught.value.problem
    assert JsonDecoder(columns, skips_errors=True, fails_on_missing=False)(message) == [None]


@pytest.mark.parametrize("message", ["no JSON", "[1]", "1"])
def test_messages_that_are_no_objects(message):
    columns = fields("INT")
    with pytest.raises(DecodeError):
        JsonDecoder(columns, skips_errors=False, fails_on_missing=False)(message)
    assert JsonDecoder(columns, skips_errors=True, fails_on_missing=False)(message) is None


def test_a_missing_field_may_be_an_error():
    with pytest.raises(DecodeError, match="'c 0': it is missing"):
        JsonDecoder(fields("INT"), skips_errors=False, fails_on_missing=True)("{}")
    given_options = {"json.ignore-parse-errors": "true", "json.fail-on-missing-field": "true"}
    with pytest.raises(SqlError, match="has both"):
        FORMATS["json"].decoder(fields("INT"), TableOptions("t", given_options))


@pytest.mark.parametrize(
    ("value", "text"), [(float("inf"), '"Infinity"'), (float("-inf"), '"-Infinity"')]
)
def test_numbers_that_json_lacks_are_names_as_flink_writes_them(value, text):
    assert JsonEncoder(fields("DOUBLE"), is_iso=False)([value]) == f'{{"c 0":{text}}}'
    decode = JsonDecoder(fields("DOUBLE"), skips_errors=False, fails_on_missing=True)
    assert decode(f'{{"c 0":{text}}}') == [value]


def test_a_line_of_csv_that_would_be_skipped_is_refused():
    encode = FORMATS["csv"].encoder(fields("STRING"), options())
    with pytest.raises(TypeMismatchError, match="an empty line is no row"):
        encode([None])
    assert FORMATS["csv"].decoder(fields("STRING"), options())(encode([""])) == [""]


def test_csv_options():
    given_options = {
        "csv.field-delimiter": ";",
        "csv.allow-comments": "true",
        "csv.null-literal": "-",
        "csv.array-element-delimiter": "|",
    }
    decode = FORMATS["csv"].decoder(
        fields("INT", "STRING", "ARRAY<INT>"), TableOptions("t", given_options)
    )
    assert decode('1;"a;b";1|2') == [1, "a;b", [1, 2]]
    assert decode("-;;") == [None, "", []]
    assert decode("# no") is None
    assert decode("") is None
    with pytest.raises(DecodeError, match="it has 1 fields"):
        decode("1")
    with pytest.raises(DecodeError, match="column 'c 0'"):
        decode("x;;")
    with pytest.raises(SqlError, match="has 'csv"):
        FORMATS["csv"].decoder(fields("INT"), TableOptions("t", {"csv.field-delimiter": "ab"}))


def test_raw_is_one_column():
    text = FORMATS["raw"].decoder(fields("STRING"), options())
    assert text(b"\xc3\xa9") == ["é"]
    assert text("é") == ["é"]
    assert FORMATS["raw"].decoder(fields("BYTES"), options())(b"\xff") == [b"\xff"]
    assert FORMATS["raw"].encoder(fields("STRING"), options())(["é"]) == b"\xc3\xa9"
    assert FORMATS["raw"].encoder(fields("BYTES"), options())([None]) is None
    with pytest.raises(DecodeError, match="no text in UTF-8"):
        text(b"\xff")
    with pytest.raises(SqlError, match="raw"):
        FORMATS["raw"].decoder(fields("STRING", "INT"), options())


def test_changes_of_debezium():
    columns = [("id", parse_type("INT")), ("name", parse_type("STRING"))]
    decode = FORMATS["debezium-json"].decoder(columns, options())
    before, after = '{"id": 1, "name": "a"}', '{"id": 1, "name": "b"}'
    made = decode(f'{{"before": null, "after": {after}, "op": "c"}}')
    assert made == [(RowKind.INSERT, [1, "b"])]
    assert decode(f'{{"payload": {{"before": null, "after": {after}, "op": "r"}}}}') == made
    assert decode(f'{{"before": {before}, "after": {after}, "op": "u"}}') == [
        (RowKind.UPDATE_BEFORE, [1, "a"]),
        (RowKind.UPDATE_AFTER, [1, "b"]),
    ]
    assert decode(f'{{"before": {before}, "after": null, "op": "d"}}') == [
        (RowKind.DELETE, [1, "a"])
    ]
    for message, says in (
        (f'{{"before": null, "after": {after}, "op": "u"}}', "it has no 'before'"),
        ('{"op": "x"}', "its op is 'x'"),
        ("[]", "it is not an object"),
        ("x", "cannot be read as a change"),
    ):
        with pytest.raises(DecodeError, match=says):
            decode(message)
        skip = TableOptions("t", {"debezium-json.ignore-parse-errors": "true"})
        assert FORMATS["debezium-json"].decoder(columns, skip)(message) == []
    encode = FORMATS["debezium-json"].encoder(columns, options())
    for kind in RowKind:
        (found,) = decode(encode([1, "a"], kind))
        is_new = kind in {RowKind.INSERT, RowKind.UPDATE_AFTER}
        assert found == (RowKind.INSERT if is_new else RowKind.DELETE, [1, "a"])
