"""Files whose records have several lines: line ends inside quotes are kept, and errors have the first line of a record."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Types
from penstock.connectors.files.lines.form import LineForm, line_form
from penstock.errors import SourceError
from penstock.types import Row
from penstock.wire.text import CsvForm
from tests.connectors.test_file_lines import decoded

TWO = Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.STRING()])
ONE = Types.ROW_NAMED(["a"], [Types.INT()])


def whole(kind: str, type_info: Any, **options: str) -> LineForm:
    form = line_form(kind, type_info, {"multiLine": "true", **options})
    assert isinstance(form, LineForm)
    return form


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b'x,"a\r\nb"\r\ny,z\r\n', [("x", "a\r\nb"), ("y", "z")]),
        (b'x,"a\nb"\ny,"c\rd"', [("x", "a\nb"), ("y", "c\rd")]),
        (b'x,"a""\n"\r\n\r\ny,a"b\r\n', [("x", 'a"\n'), ("y", 'a"b')]),
        (b"\xef\xbb\xbfx,y\rz,\n", [("x", "y"), ("z", None)]),
        (b"", []),
    ],
)
def test_line_ends_inside_of_quotes_are_kept(data: bytes, rows: list[Any]) -> None:
    assert decoded(whole("csv", TWO), [data]) == rows


def test_a_header_may_have_several_lines() -> None:
    form = whole("csv", Types.ROW_NAMED(["a\nb", "c"], [Types.STRING()] * 2), header="true")
    assert decoded(form, [b'"a\nb",c\n1,2\n']) == [("1", "2")]


@pytest.mark.parametrize(
    ("data", "numbers"),
    [
        (b'{"a": 1}\n{"a":\n2} {"a": 3}', [1, 2, 3]),
        (b'[{"a": 1},\n {"a": 2}\n]\n', [1, 2]),
        (b'[]\n[{"a": 1}]{"a": 2}', [1, 2]),
        (b'{"b": "]}[{", "a": 1}', [1]),
        (b" \n", []),
    ],
)
def test_objects_of_a_file_and_of_arrays_are_records(data: bytes, numbers: list[int]) -> None:
    assert decoded(whole("json", ONE), [data]) == [(number,) for number in numbers]


@pytest.mark.parametrize(
    ("kind", "data", "line"),
    [
        ("csv", b'x,y\r\nx,"a\r\nb"\r\nx,y,z\r\n', 4),
        ("csv", b'x,y\nx,"open\ny,z\n', 2),
        ("csv", b'x,y\nx,"a"b\n', 2),
        ("json", b'{"a": 1}\n{"a": 1}}', 2),
        ("json", b'[{"a": 1},\n]', 2),
        ("json", b'[{"a": 1}\n,\n,{"a": 1}]', 3),
        ("json", b'[\n{"a": 1}', 1),
        ("json", b'[{"a": 1}]\nxyz', 2),
        ("json", b'{"a": 1},\n{"a": 2}', 1),
        ("json", b"5", 1),
        ("json", b"[,]", 1),
        ("json", b"[1}", 1),
        ("json", b"]", 1),
        ("json", b'{"a": "', 1),
        ("json", b'[[{"a": 1}]]', 1),
        ("json", b'[{"a": 1}}', 1),
        ("json", b'{"a": \n4000000000}', 1),
    ],
)
def test_what_is_no_record_is_an_error(kind: str, data: bytes, line: int) -> None:
    form = whole(kind, TWO if kind == "csv" else ONE)
    with pytest.raises(SourceError, match=rf"file:/in/a, line {line}: "):
        decoded(form, [data])


def test_many_records_are_made_in_order() -> None:
    rows = [Row(f"{n}\n", str(n)) for n in range(20_000)]
    data = "".join([f'"{a}",{b}\n' for a, b in rows]).encode()
    assert decoded(whole("csv", TWO), [data]) == [tuple(row) for row in rows]


def test_options_that_a_whole_file_has_not_are_left_to_spark() -> None:
    for options in ({"lineSep": ";"}, {"encoding": "latin-1"}):
        assert "is Spark's" in str(line_form("csv", TWO, {"multiLine": "true", **options}))
    assert whole("csv", TWO).csv == CsvForm()
