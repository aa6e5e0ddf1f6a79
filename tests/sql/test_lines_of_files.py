"""A row that SQL writes as a line of a file is the row that SQL reads of it, or an error."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import TypeMismatchError
from penstock.sql.tables.formats.table import FORMATS
from penstock.sql.tables.options import TableOptions
from penstock.sql.tables.rows import RowsOfMessage, TextOfRow
from penstock.types import Row, Types
from penstock.types.sql_types import of_type_info
from tests.connectors.test_file_round_trips import EDGES

_OPTIONS = TableOptions("t", {})
_NOT_IN_SQL = {"char", "instant", "big_int", "big_dec"}
_TYPES = [name for name in EDGES if name not in _NOT_IN_SQL]


def through(kind: str, type_info: Any, value: Any) -> Any:
    """Return what is read of the line of a row with a value, and another column unless the format has one."""
    fields = [("a", of_type_info(type_info)), ("b", of_type_info(Types.STRING()))]
    if kind == "raw":
        fields = fields[:1]
    line = TextOfRow(FORMATS[kind].encoder(fields, _OPTIONS), is_changelog=False)(
        Row(**dict(zip("ab", [value, "x"][: len(fields)], strict=False)))
    )
    (row,) = RowsOfMessage(
        tuple(name for name, _ in fields), FORMATS[kind].decoder(fields, _OPTIONS), False
    )(line)
    return row[0]


@pytest.mark.parametrize("kind", ["json", "csv"])
@pytest.mark.parametrize("name", _TYPES)
def test_what_is_written_is_read(name: str, kind: str) -> None:
    type_info, values = EDGES[name]
    for value in (*values, None):
        assert repr(through(kind, type_info, value)) == repr(value)


@pytest.mark.parametrize("value", ["", " ", "NULL", '"', "é"])
def test_a_raw_line_is_its_value(value: str) -> None:
    assert through("raw", Types.STRING(), value) == value


@pytest.mark.parametrize(
    ("kind", "value"),
    [("raw", None), ("raw", "a\nb"), ("raw", "a\r"), ("csv", "a\nb"), ("csv", "\r")],
)
def test_what_would_be_read_as_another_row_is_not_written(kind: str, value: Any) -> None:
    with pytest.raises(TypeMismatchError, match="is no line of a file"):
        through(kind, Types.STRING(), value)


def test_json_has_line_ends() -> None:
    assert through("json", Types.STRING(), "a\r\nb") == "a\r\nb"


def test_bytes_are_a_raw_line_if_they_are_text() -> None:
    kind = Types.PRIMITIVE_ARRAY(Types.BYTE())
    assert through("raw", kind, b"abc") == b"abc"
    with pytest.raises(TypeMismatchError, match="UTF-8"):
        through("raw", kind, b"\xff")
