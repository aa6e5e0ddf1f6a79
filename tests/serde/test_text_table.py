"""One table of texts at every door: its answers, what is written is read, and the doors agree on generated texts."""

from __future__ import annotations

import datetime as dt
import math
import pickle
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.files.lines.form import LineForm, line_form
from penstock.datastream.formats.csv import CsvRowDeserializationSchema, CsvRowSerializationSchema
from penstock.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from penstock.errors import (
    ArgumentError,
    DecodeError,
    PenstockError,
    SourceError,
    TypeMismatchError,
)
from penstock.sql.tables.formats.table import FORMATS
from penstock.sql.tables.options import TableOptions
from penstock.types import Instant, Row, Types
from penstock.types.sql_types import of_type_info
from penstock.wire.text import CsvForm, TextError, TextRules, csv_lines, json_codec
from tests.connectors.test_file_lines import decoded
from tests.text_table import BYTES, CSV, JSON, NOT_JSON, Refused, Text

_OPTIONS = TableOptions("table 't'", {})


def row_of(kind: Any) -> Any:
    return Types.ROW_NAMED(["v", "end"], [kind, Types.INT()])


def json_table(kind: Any, message: Any) -> Any:
    return json_codec(row_of(kind)).read(message)[0]


def json_schema(kind: Any, message: Any) -> Any:
    schema: Any = JsonRowDeserializationSchema(row_of(kind))
    return schema.deserialize(message)[0]


def json_sql(kind: Any, message: Any) -> Any:
    decode = FORMATS["json"].decoder([("v", of_type_info(kind))], _OPTIONS)
    return pickle.loads(pickle.dumps(decode))(message)[0]


def debezium(kind: Any, message: Any) -> Any:
    decode = FORMATS["debezium-json"].decoder([("v", of_type_info(kind))], _OPTIONS)
    whole = f'{{"op": "c", "after": {message if isinstance(message, str) else "?"}}}'
    return decode(whole)[0][1][0]


def csv_table(kind: Any, message: Any) -> Any:
    return csv_lines(row_of(kind)).read(message)[0]


def csv_schema(kind: Any, message: Any) -> Any:
    schema: Any = CsvRowDeserializationSchema(row_of(kind), CsvForm())
    return schema.deserialize(message)[0]


def csv_sql(kind: Any, message: Any) -> Any:
    columns = [("v", of_type_info(kind)), ("end", of_type_info(Types.INT()))]
    return FORMATS["csv"].decoder(columns, _OPTIONS)(message)[0]


def of_file(form: str, kind: Any, message: str, **options: str) -> Any:
    """Return the value of the second line of a file."""
    found = line_form(form, row_of(kind), options)
    assert isinstance(found, LineForm)
    good = '{"v": null, "end": 0}' if form == "json" else ",0"
    lines = [f"{good}\n{message}".encode()] if found.is_whole else [good.encode(), message.encode()]
    return decoded(found, lines)[1][0]


def json_file(kind: Any, message: str) -> Any:
    return of_file("json", kind, message)


def json_whole(kind: Any, message: str) -> Any:
    return of_file("json", kind, message, multiLine="true")


def csv_file(kind: Any, message: str) -> Any:
    line = message.removesuffix("\r\n")
    return csv_whole(kind, message) if "\n" in line else of_file("csv", kind, line)


def csv_whole(kind: Any, message: str) -> Any:
    return of_file("csv", kind, message, multiLine="true")


FILES = {"file", "whole"}
JSON_DOORS = {
    "table": json_table,
    "schema": json_schema,
    "sql": json_sql,
    "debezium": debezium,
    "file": json_file,
    "whole": json_whole,
}
CSV_DOORS = {
    "table": csv_table,
    "schema": csv_schema,
    "sql": csv_sql,
    "file": csv_file,
    "whole": csv_whole,
}
IN_SQL = {"sql", "debezium"}
ROUNDED = {"BigDecimal", "BigInteger"}
"""Types that are DECIMAL in SQL, whose digits it has."""
NOT_IN_SQL = {"Char", "Instant"}
"""Types that no column of SQL has."""


def walked(table: list[Text], doors: dict[str, Any]) -> list[Any]:
    """Return every text with every door whose types it is of."""
    return [
        pytest.param(asked, door, id=f"{door}-{asked.kind!r}-{asked.text[:20]}")
        for asked in table
        for door in doors
        if door not in IN_SQL or repr(asked.kind) not in NOT_IN_SQL
    ]


def same(left: Any, right: Any) -> bool:
    """Return whether two values are one, in class, sign and NaN too."""
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    return type(left) is type(right) and left == right and str(left) == str(right)


def check(door: str, read: Any, asked: Text, message: str) -> None:
    wanted = asked.in_sql if door in IN_SQL and asked.in_sql is not ... else asked.value
    if isinstance(wanted, Refused):
        with pytest.raises((DecodeError, TextError, SourceError)) as caught:
            read(asked.kind, message)
        assert wanted.why in str(caught.value)
        assert (door in FILES) == ("file:/in/a, line 2" in str(caught.value))
        assert "'v'" in str(caught.value) or not str(wanted.why).startswith("no ")
        return
    found = read(asked.kind, message)
    if door in IN_SQL and repr(asked.kind) in ROUNDED:
        assert found == round(Decimal(wanted), 18), "as many digits as a DECIMAL of 38 has"
    else:
        assert same(found, wanted), (found, wanted)


@pytest.mark.parametrize(("asked", "door"), walked(JSON, JSON_DOORS))
def test_json_texts(asked: Text, door: str) -> None:
    check(door, JSON_DOORS[door], asked, f'{{"v": {asked.text}, "end": 1}}')


@pytest.mark.parametrize(("asked", "door"), walked(CSV, CSV_DOORS))
def test_csv_texts(asked: Text, door: str) -> None:
    check(door, CSV_DOORS[door], asked, f"{asked.text},1\r\n")


@pytest.mark.parametrize("message", NOT_JSON, ids=lambda message: repr(message)[:20])
def test_messages_that_are_no_json_are_parse_errors(message: Any) -> None:
    schema = JsonRowDeserializationSchema(row_of(Types.INT()))
    skips = JsonRowDeserializationSchema(row_of(Types.INT()), errors_skip=True)
    with pytest.raises(DecodeError):
        schema.deserialize(message)
    assert skips.deserialize(message) is None
    columns = [("v", of_type_info(Types.INT()))]
    for name, nothing in (("json", None), ("debezium-json", [])):
        with pytest.raises(DecodeError):
            FORMATS[name].decoder(columns, _OPTIONS)(message)
        skip = TableOptions("t", {f"{name}.ignore-parse-errors": "true"})
        assert FORMATS[name].decoder(columns, skip)(message) == nothing


@pytest.mark.parametrize("message", [None, 5, b"\xff", "a", '"', "1,2,3", "\ud800,1"])
def test_messages_that_are_no_csv_are_parse_errors(message: Any) -> None:
    with pytest.raises(DecodeError):
        CsvRowDeserializationSchema(row_of(Types.STRING()), CsvForm()).deserialize(message)
    skips = CsvRowDeserializationSchema(row_of(Types.STRING()), CsvForm(), errors_skip=True)
    assert skips.deserialize(message) is None


_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
_TIMES = st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30))  # noqa: DTZ001 - no zone
_TIMES = _TIMES.map(lambda moment: moment.replace(fold=0))  # a text has none
SCALARS = {
    Types.STRING(): _TEXTS,
    Types.CHAR(): st.characters(exclude_categories=["Cs"]),
    Types.BOOLEAN(): st.booleans(),
    Types.BYTE(): st.integers(-(2**7), 2**7 - 1),
    Types.SHORT(): st.integers(-(2**15), 2**15 - 1),
    Types.INT(): st.integers(-(2**31), 2**31 - 1),
    Types.LONG(): st.integers(-(2**63), 2**63 - 1),
    Types.FLOAT(): st.floats(width=32),
    Types.DOUBLE(): st.floats(),
    Types.BIG_INT(): st.integers(),
    Types.BIG_DEC(): st.decimals(allow_nan=False, allow_infinity=False),
    BYTES: st.binary(max_size=6),
    Types.SQL_DATE(): st.dates(),
    Types.SQL_TIME(): st.times().map(lambda time: time.replace(fold=0)),
    Types.SQL_TIMESTAMP(): _TIMES,
    Types.TIMESTAMP_LTZ(): _TIMES.map(lambda moment: moment.replace(tzinfo=dt.UTC)),
    Types.INSTANT(): st.builds(
        Instant, st.integers(-62_135_596_800, 253_402_300_799), st.integers(0, 999_999_999)
    ),
}
NESTED = {
    Types.LIST(Types.BIG_DEC()): st.lists(st.none() | SCALARS[Types.BIG_DEC()], max_size=3),
    Types.MAP(Types.SQL_DATE(), Types.DOUBLE()): st.dictionaries(
        st.dates(), st.none() | st.floats(), max_size=3
    ),
    Types.TUPLE([Types.STRING(), Types.INSTANT()]): st.tuples(_TEXTS, SCALARS[Types.INSTANT()]),
    Types.ROW_NAMED(['a "b"', "c"], [Types.STRING(), Types.LIST(Types.STRING())]): st.builds(
        lambda a, c: Types.ROW_NAMED(
            ['a "b"', "c"], [Types.STRING(), Types.LIST(Types.STRING())]
        ).coerce((a, c)),
        st.none() | _TEXTS,
        st.none() | st.lists(st.none() | _TEXTS, max_size=3),
    ),
}


def rows_of(kinds: dict[Any, Any]) -> Any:
    return st.tuples(*(st.none() | values for values in kinds.values()))


def texts_of(values: Any) -> list[str]:
    """Return values as texts, since NaN is unequal to itself."""
    return list(map(repr, values))


@given(rows_of(SCALARS | NESTED))
def test_json_is_read_as_it_was_written(values: tuple[Any, ...]) -> None:
    kind = Types.ROW(list(SCALARS | NESTED))
    to = pickle.loads(pickle.dumps(JsonRowSerializationSchema(kind)))
    back = pickle.loads(pickle.dumps(JsonRowDeserializationSchema(kind)))
    assert texts_of(back.deserialize(to.serialize(values))) == texts_of(kind.coerce(values))


_FORMS = st.sampled_from(
    [
        CsvForm(),
        CsvForm(null_literal="null"),
        CsvForm(escape="\\"),
        CsvForm(quote=None, escape="?", null_literal="-"),
        CsvForm(delimiter="|", quote="'", null_literal="\\N", escape="\\"),
    ]
)


@given(rows_of(SCALARS), _FORMS)
def test_csv_is_read_as_it_was_written(values: tuple[Any, ...], form: CsvForm) -> None:
    kind = Types.ROW(list(SCALARS))
    to = pickle.loads(pickle.dumps(CsvRowSerializationSchema(kind, form)))
    back = pickle.loads(pickle.dumps(CsvRowDeserializationSchema(kind, form)))
    assert texts_of(back.deserialize(to.serialize(values))) == texts_of(kind.coerce(values))


@given(st.none() | st.lists(st.none() | _TEXTS, max_size=3), _FORMS)
def test_an_array_in_csv_is_read_as_it_was_written_or_refused(
    values: list[Any] | None, form: CsvForm
) -> None:
    kind = Types.ROW([Types.LIST(Types.STRING()), Types.INT()])
    try:
        line = CsvRowSerializationSchema(kind, form).serialize((values, 1))
    except TypeMismatchError:
        return
    row = CsvRowDeserializationSchema(kind, form).deserialize(line)
    assert row is not None
    assert row[0] == values


_ODD = st.sampled_from(
    ["1_0", "1.0", "NaN", "10:00", "2026-01-31", "2026-01-31 10:00Z", "20260131", "AQI=", "red"]
)
_JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS | _ODD,
    lambda inside: st.lists(inside, max_size=2) | st.dictionaries(_ODD, inside, max_size=2),
    max_leaves=4,
)


@given(st.sampled_from(list(SCALARS | NESTED)), _JSON_VALUES)
def test_the_same_at_every_door_of_json(kind: Any, value: Any) -> None:
    message = json_codec(Types.PICKLED_BYTE_ARRAY()).write(value) if finite(value) else "NaN"
    doors = (json_table, json_schema, json_file, json_whole)
    same_answer(f'{{"v": {message}}}', kind, doors)


@given(st.sampled_from(list(SCALARS)), _TEXTS | _ODD)
def test_the_same_at_every_door_of_csv(kind: Any, text: str) -> None:
    doors: tuple[Any, ...] = (csv_table, csv_schema)
    if not {"\r", "\n", "\0"} & set(text):  # of a file they end lines
        doors += (csv_file, csv_whole)
    same_answer(f"{text},1", kind, doors)


_OTHER_IN_SQL = {"Char", "Instant", "BigInteger", "BigDecimal", "Tuple"}


@given(st.sampled_from(list(SCALARS | NESTED)), _JSON_VALUES, _TEXTS | _ODD)
def test_sql_reads_what_is_read_strictly(kind: Any, value: Any, text: str) -> None:
    if any(name in repr(kind) for name in _OTHER_IN_SQL):
        return
    message = json_codec(Types.PICKLED_BYTE_ARRAY()).write(value) if finite(value) else "NaN"
    asked = [(json_table, json_sql, f'{{"v": {message}}}')]
    if kind in SCALARS and not {"\r", "\n", "#"} & set(text):
        asked.append((csv_table, csv_sql, f"{text},1"))
    for strict, sql, line in asked:
        try:
            wanted = strict(kind, line)
        except (PenstockError, TextError):
            continue
        try:
            assert same(sql(kind, line), wanted) or repr(sql(kind, line)) == repr(wanted)
        except DecodeError as cause:
            assert "has no time zone" in str(cause)  # noqa: PT017 - the only reason


def same_answer(message: str, kind: Any, doors: tuple[Any, ...]) -> None:
    """Assert that doors give one value, or all refuse with an error of ours."""
    found = []
    for read in doors:
        try:
            found.append(repr(read(kind, message)))
        except (PenstockError, TextError):
            found.append("refused")
    assert len(set(found)) == 1, found


def finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    inside = value.values() if isinstance(value, dict) else value
    return not isinstance(value, (list, dict)) or all(map(finite, inside))


def test_a_zone_that_the_program_names() -> None:
    rules = TextRules(zone=ZoneInfo("Europe/Berlin"))
    read = json_codec(Types.TIMESTAMP_LTZ(), rules).read
    assert read('"2026-07-01 12:00:00"') == dt.datetime(2026, 7, 1, 10, tzinfo=dt.UTC)
    assert read('"2026-07-01 12:00:00Z"') == dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)
    assert read('"2026-10-25 02:30:00"') == dt.datetime(2026, 10, 25, 0, 30, tzinfo=dt.UTC)
    with pytest.raises(TextError, match="the clock skips it"):
        read('"2026-03-29 02:30:00"')


@pytest.mark.parametrize("build", [JsonRowSerializationSchema, JsonRowDeserializationSchema])
def test_maps_whose_keys_are_no_text_are_refused_when_the_schema_is_made(build: Any) -> None:
    kind = Types.ROW([Types.MAP(Types.TUPLE([Types.INT()]), Types.INT())])
    with pytest.raises(ArgumentError, match="its keys have no text form"):
        build(kind)


def test_what_csv_lacks_is_refused_when_the_schema_is_made() -> None:
    with pytest.raises(ArgumentError, match="CSV cannot hold"):
        CsvRowSerializationSchema(Types.ROW([Types.MAP(Types.INT(), Types.INT())]), CsvForm())
    with pytest.raises(ArgumentError, match="the null literal"):
        CsvRowSerializationSchema(Types.ROW([Types.INT()]), CsvForm(null_literal=","))


def test_what_would_be_read_as_something_else_is_not_written() -> None:
    text = Types.ROW([Types.STRING(), Types.INT()])
    with pytest.raises(TypeMismatchError, match="needs a quote character"):
        CsvRowSerializationSchema(text, CsvForm(quote=None)).serialize(("", 1))
    with pytest.raises(TypeMismatchError, match="surrogate"):
        CsvRowSerializationSchema(text, CsvForm()).serialize(("\ud800", 1))
    with pytest.raises(TypeMismatchError, match="after 9999"):
        JsonRowSerializationSchema(Types.ROW([Types.INSTANT()])).serialize((Instant(10**15, 0),))


def test_rows_inside_of_csv_come_back() -> None:
    inner = Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.INT()])
    kind = Types.ROW([inner, Types.TUPLE([Types.INT(), Types.BOOLEAN()])])
    value = kind.coerce((Row(a="x", b=None), (1, True)))
    line = CsvRowSerializationSchema(kind, CsvForm()).serialize(value)
    assert line == b"x;,1;true\n"
    assert CsvRowDeserializationSchema(kind, CsvForm()).deserialize(line) == value
