"""Lines of files become the records that the table of texts gives, whichever parser reads them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from penstock.common import Types
from penstock.connectors.files.lines.columns import fast_columns
from penstock.connectors.files.lines.decoder import LineDecoder
from penstock.connectors.files.lines.form import LineForm, line_form, record_reader
from penstock.datastream.connectors import FileSource
from penstock.errors import SourceError
from penstock.types import RowTypeInfo, TypeInformation
from penstock.types.arrow import arrow_columns, arrow_schema
from penstock.wire.row_columns import rows_of
from penstock.wire.text import TextError

TYPES = {
    "string": Types.STRING(),
    "boolean": Types.BOOLEAN(),
    "byte": Types.BYTE(),
    "short": Types.SHORT(),
    "int": Types.INT(),
    "long": Types.LONG(),
    "float": Types.FLOAT(),
    "double": Types.DOUBLE(),
    "date": Types.SQL_DATE(),
    "timestamp": Types.SQL_TIMESTAMP(),
    "ltz": Types.TIMESTAMP_LTZ(),
    "list": Types.LIST(Types.SHORT()),
    "row": Types.ROW_NAMED(["b"], [Types.BYTE()]),
}
TEXTS = [
    *("", " ", "x", "true", "TRUE", "True", "1", "0", "-0", "+5", "007", " 5", "5 ", "5\t", "1_000", "0x1F"),
    *("127", "128", "-128", "-129", "200", "32767", "32768", "40000", "2147483648", "9223372036854775807"),
    *("9223372036854775808", "1.5", "1.50", ".5", "5.", "1e3", "1E400", "-1e400", "1e39", "3.4028235e38"),
    *("3D", "NaN", "nan", "Infinity", "-inf", "0.1", "16777217", "1.1754943508222875e-38", "1e-320"),
    *("2026-01-31", "2026-02-30", "2026-01-31T10:20", "2026-01-31 10:20:30", "2026-01-31T10:20:30.123456"),
    *("2026-01-31T10:20:30.1234567", "2026-01-31T10:20:30.1234560", "2026-01-31T10:20:30Z"),
    *("2026-01-31T10:20:30+02:00", "2026-01-31T10:20:30+0200", "2026-01-31T10:20:30+02", "10:00"),
    *("2026-01-31T24:00:00", "2026-01-31T23:59:60", "0001-01-01T00:00:00", "9999-12-31T23:59:59.999999Z"),
    *("20260131", "2026-1-31", "2026-01-31T10", "2026-01-31T10:20:30,5", "2026-01-31t10:20:30"),
    *("\x1f", "\ufeff", "é", "\u2028", "12345678901234567890123456789012345678901234567890"),
]  # fmt: skip
VALUES = [
    *(f'"{text}"' for text in TEXTS if text.isprintable()),
    *("1", "1.0", "1e2", "-0", "200", "-129", "40000", "3000000000", "9223372036854775808", "1e400", "0.1"),
    *("null", "true", "[]", "[1]", "[1,null]", "[40000]", "{}", '{"b":1}', '{"b":200}', '{"b":"1"}', '"\\ud800"'),
    *("NaN", "Infinity", "01", "+1", ".5", '"a\\u0000b"', '"\\ud83d\\ude00"', "16777217", "1.00000017881393432617187499"),
]  # fmt: skip
LINES = [
    *('{"a":1}{"a":2}', '{"a":1} xyz', '{"a":1}}', '{"a":1},{"a":2}', "[1]", "null", '"x"', "{", "", " "),
    *(' {"a":1} ', '{"a":1,"a":2}', '{"a":1,"b":[{},{"c":"}"}]}', '{"a":1}]', '{"A":1}', "{}", '{"a":1}\r'),
    *('{"a":1}{"a":{}', '{"a":"}', '{"}', '{"a":' + "[" * 300, "[" * 100_000),
]  # fmt: skip
CSV_LINES = [
    *('"1",x', '1,"x"', '1,"a,b"', '1,"a""b"', '1,""', "1,", ",", '1,"a', '1,a"b', '1,"a"b', '1,"a" ', ' "1",x'),
    *("1", "1,2,3", '1,"', '"1,x', '1,"""', '1,""""', '"",""', '1,"x","', ",,", '1,"a"","b"'),
]  # fmt: skip


def outcome(form: LineForm, line: str) -> tuple[str, Any]:
    """Return what the table of texts gives for a line, as a column has it."""
    assert form.type_info is not None
    try:
        values = list(record_reader(form, form.type_info)(line))
    except TextError as cause:
        return "error", str(cause)
    columns = arrow_columns(form.type_info, [values])
    batch = pa.RecordBatch.from_arrays(columns, schema=arrow_schema(form.type_info))
    return "value", repr(batch.to_pylist())


def joined(lines: list[bytes]) -> tuple[pa.Array, int]:
    return pa.array([b"\n".join(lines)], pa.binary()), len(lines)


def check(form: LineForm, line: str, good: str) -> None:
    """Check that Arrow gives the same for a line, alone and beside a good one, or declines."""
    assert form.type_info is not None
    fast = fast_columns(form, form.type_info)
    assert fast is not None
    for lines in ([line], [good, line], [line, good]):
        found = fast(*joined([each.encode() for each in lines]))
        wanted = [outcome(form, each) for each in lines]
        if found is not None:
            assert [kind for kind, _ in wanted] == ["value"] * len(lines), (line, wanted)
            rows = [repr([row]) for row in found.to_pylist()]
            assert rows == [value for _, value in wanted]


def of(kind: str, type_info: RowTypeInfo, **options: str) -> LineForm:
    form = line_form(kind, type_info, options)
    assert isinstance(form, LineForm)
    return form


@pytest.mark.parametrize("name", TYPES)
def test_arrow_reads_json_as_the_table_of_texts_or_declines(name: str) -> None:
    form = of("json", Types.ROW_NAMED(["a"], [TYPES[name]]))
    for value in VALUES:
        check(form, f'{{"a":{value}}}', '{"a":null}')


@pytest.mark.parametrize("name", [name for name in TYPES if name not in {"list", "row"}])
def test_arrow_reads_csv_as_the_table_of_texts_or_declines(name: str) -> None:
    for options in ({}, {"nullValue": "NA"}):
        form = of("csv", Types.ROW_NAMED(["a", "b"], [TYPES[name], Types.STRING()]), **options)
        for text in (*TEXTS, "NA", '"NA"'):
            check(form, f"{text},x", ",y")
            if '"' not in text:
                check(form, f'"{text}",x', ",y")


@pytest.mark.parametrize("line", LINES)
def test_arrow_reads_lines_of_json_as_they_are_or_declines(line: str) -> None:
    check(of("json", Types.ROW_NAMED(["a"], [Types.INT()])), line, '{"a":7}')


@pytest.mark.parametrize("line", CSV_LINES)
def test_arrow_reads_lines_of_csv_as_they_are_or_declines(line: str) -> None:
    check(of("csv", Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])), line, "7,y")


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_usual_lines_are_read_by_arrow(kind: str) -> None:
    flat = {name: TYPES[name] for name in ("string", "int", "double", "boolean", "timestamp")}
    form = of(kind, Types.ROW_NAMED(list(flat), list(flat.values())))
    lines = {
        "json": b'{"string":"x","int":1,"double":1.5,"boolean":true,"timestamp":"2026-01-31T10:20:30"}',
        "csv": b'"x",1,1.5,true,2026-01-31 10:20:30',
    }
    assert form.type_info is not None
    fast = fast_columns(form, form.type_info)
    assert fast is not None
    assert fast(*joined([lines[kind]] * 3)).num_rows == 3


FLAT = Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.LONG()])


@pytest.mark.parametrize(
    "line",
    [
        *('{"a":"x","b":1}', '{"a": "x", "b": 1}', '{"a": "x","b": 1}', '{"a":"x", "b":1}', '{"b":2,"a":"x"}'),
        *('{"a":"x,\'b\':","b":1}', '{"a":"b","b":1}', '{"a":", ","b":1}', '{"a":": ","b":1}', '{"a":"}","b":1}'),
        *('{"a":"x","c":[1],"b":1}', '{"a":"x","c":"b","b":1}', '{"a":"null","b":null}', '{"a":null,"b":-0}'),
        *('{"a":"x","b":01}', '{"a":"x","b":+1}', '{"a":"x","b":1.0}', '{"a":"x","b":1}x', '{"a":"x","b":1,}'),
        *('{"a":"x","a":"y","b":1}', '{"a":"x"}', '{"a":"é","b":1}', '{"a":"\\"","b":1}', '{"a":"x","b":1}{"a":"x","b":1}'),
        *('{"é":1,"a":"x","b":1}', '{",":":","a":"x","b":1}', '{"":1,"a":"x","b":1}', '{"c":NaN,"a":"x","b":1}'),
        *('{"a":"","b":1}', '{"a":"\t","b":1}', '{"a":"x","b":1 }', '{"a":"x","b":true}', '{"a":1,"b":1}'),
    ],
)  # fmt: skip
def test_flat_objects_are_read_as_they_are_or_declined(line: str) -> None:
    for good in ('{"a":"x","b":1}', '{"a": "x", "b": 1}', '{"c":"y","a":"x","b":1}'):
        check(of("json", FLAT), line, good)


def test_bytes_that_are_no_text_are_declined_also_in_fields_that_are_not_declared() -> None:
    form = of("json", FLAT)
    assert form.type_info is not None
    fast = fast_columns(form, form.type_info)
    assert fast is not None
    assert fast(*joined([b'{"c":"\xff","a":"x","b":1}'] * 2)) is None


def decoded(
    form: LineForm,
    lines: list[bytes],
    path: str = "file:/in/a",
    start: int = 0,
    decoder: LineDecoder | None = None,
) -> Any:
    columns = [pa.array(lines, pa.binary()), pa.array([path] * len(lines))]
    batch = pa.RecordBatch.from_arrays(
        [*columns, pa.array([start] * len(lines), pa.int64()), pa.nulls(len(lines), pa.int64())],
        ["line", "file", "start", "end"],
    )
    found: list[Any] = []
    for each in (decoder or LineDecoder(form)).decoded(batch):
        made = rows_of(each) if isinstance(each, pa.RecordBatch) else each
        found += [row if isinstance(row, str) else tuple(row) for row in made]
    return found


ONE = Types.ROW_NAMED(["a"], [Types.STRING()])
DIVIDED = Types.ROW_NAMED(["a", "day"], [Types.STRING(), Types.INT()])


def test_every_line_of_one_column_is_a_record() -> None:
    form = of("csv", ONE, header="true")
    assert decoded(form, [b"a", b"  ", b"", b"\x1f", b'""']) == [
        ("  ",), (None,), ("\x1f",), ("",)
    ]  # fmt: skip


def test_a_partition_that_is_declared_is_a_field() -> None:
    form = line_form("csv", DIVIDED, {}, "/in")
    assert isinstance(form, LineForm)
    path = "file:/in/hour=3/day=7/a"
    assert decoded(form, [b"x"], path) == [("x", 7)]
    with pytest.raises(SourceError, match="day=x/a: field 'day': 'x' is not an integer"):
        decoded(form, [b"x"], "file:/in/day=x/a")
    with pytest.raises(SourceError, match="line 1: it has 1 fields, not 2"):
        decoded(form, [b"x"], "file:/in/a")


def test_an_empty_partition_is_not_that_of_null() -> None:
    texts = Types.ROW_NAMED(["a", "day"], [Types.STRING(), Types.STRING()])
    form = line_form("csv", texts, {}, "/in")
    assert isinstance(form, LineForm)
    decoder = LineDecoder(form)
    null = decoded(form, [b"x"], "file:/in/day=__HIVE_DEFAULT_PARTITION__/a", decoder=decoder)
    empty = decoded(form, [b"x"], "file:/in/day=/a", decoder=decoder)
    assert (null, empty) == ([("x", None)], [("x", "")])


@pytest.mark.parametrize(
    ("kind", "line", "told"),
    [
        ("json", b'{"a":"\xff"}', "the line is not utf-8: byte 7 of it is 0xff"),
        ("csv", b"\xe9", "the line is not utf-8: byte 1 of it is 0xe9"),
        ("text", b"\xe9", "the line is not utf-8: byte 1 of it is 0xe9"),
        ("json", b'{"a":"x"}{"a":"y"}', "Extra data"),
    ],
)
def test_an_error_names_file_and_line(kind: str, line: bytes, told: str) -> None:
    good = {"json": b'{"a":"x"}'}.get(kind, b"x")
    with pytest.raises(SourceError, match="file:/in/a, line 3: ") as caught:
        decoded(of(kind, ONE), [good, good, line])
    assert told in caught.value.problem
    with pytest.raises(SourceError, match="file:/in/a, line 1 behind byte 99: "):
        decoded(of(kind, ONE), [line], start=99)


def test_a_file_that_is_gone_is_named() -> None:
    columns = [pa.nulls(1, pa.binary()), pa.array(["file:///in/x%25 é"]), *[pa.array([0])] * 2]
    piece = pa.RecordBatch.from_arrays(columns, ["line", "file", "start", "end"])
    with pytest.raises(SourceError) as caught:
        list(LineDecoder(of("csv", ONE)).decoded(piece))
    assert caught.value.problem == "file:/in/x%25 é cannot be read: No such file or directory"
    assert "must exist" in caught.value.hint


def test_an_encoding_is_an_option() -> None:
    assert decoded(of("text", ONE, encoding="latin-1"), [b"\xe9"]) == ["é"]
    assert decoded(of("csv", ONE, encoding="latin-1"), [b"\xe9"]) == [("é",)]
    assert isinstance(line_form("csv", ONE, {"encoding": "UTF-16"}), str)


def test_pandas_index_gets_a_hint() -> None:
    with pytest.raises(SourceError, match="the header is , a") as caught:
        decoded(of("csv", ONE, header="true"), [b",a", b"0,x"])
    assert "index=False" in caught.value.hint


@pytest.mark.parametrize(
    ("type_info", "is_column"),
    [
        *((each, True) for each in TYPES.values()),
        (Types.MAP(Types.STRING(), Types.LIST(Types.SQL_TIME())), True),
        (Types.INSTANT(), False),
        (Types.BIG_INT(), False),
        (Types.BIG_DEC(), False),
        (Types.LIST(Types.ROW_NAMED(["b"], [Types.INSTANT()])), False),
        (Types.MAP(Types.BIG_INT(), Types.LONG()), False),
    ],
)
def test_spark_computes_on_columns_that_hold_all_values(
    type_info: TypeInformation, is_column: bool
) -> None:
    source = FileSource.json("/in", Types.ROW_NAMED(["a", "b"], [Types.LONG(), type_info]))
    because = source.unprojected_because
    assert because is None if is_column else "all values of its field 'b'" in (because or "")


def test_spark_computes_on_no_columns_that_its_reader_checks_only_if_they_are_needed() -> None:
    row = Types.ROW_NAMED(["a"], [Types.LONG()])
    source = FileSource.csv("/in", row, options={"mode": "PERMISSIVE"})
    assert "checks only the columns that are needed" in (source.unprojected_because or "")
    assert "no columns" in (FileSource.text("/in").unprojected_because or "")
