"""The output of a file sink, read by the source of its format, is what was written."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.common import Row, Types
from penstock.connectors.files.file_source import FileSource
from penstock.connectors.files.lines.decoder import LineDecoder
from penstock.connectors.files.lines.form import LineForm
from penstock.datastream.connectors import FileSink
from penstock.errors import GraphError, SourceError
from penstock.types import Instant, RowTypeInfo
from penstock.wire.row_columns import rows_of
from tests.connectors.test_file_sink import MakeContext, written

UTC = dt.UTC
MOMENT = dt.datetime(2026, 3, 4, 10, 20, 30, 500_000)  # noqa: DTZ001 - its type has no zone
EDGES: dict[str, tuple[Any, list[Any]]] = {
    "string": (Types.STRING(), ["", " ", "x", '"', 'a"b,c', "NULL", "\t", "\x1f", "é\u2028", "#", "1", "\ufeff"]),
    "char": (Types.CHAR(), ["x", ",", '"']),
    "boolean": (Types.BOOLEAN(), [True, False]),
    "byte": (Types.BYTE(), [-128, 0, 127]),
    "short": (Types.SHORT(), [-(1 << 15), (1 << 15) - 1]),
    "int": (Types.INT(), [-(1 << 31), (1 << 31) - 1]),
    "long": (Types.LONG(), [-(1 << 63), (1 << 63) - 1]),
    "big_int": (Types.BIG_INT(), [-(10**50), 0, 10**50]),
    "big_dec": (Types.BIG_DEC(), [Decimal("0.1234567890123456789"), Decimal("1E+30"), Decimal("-0")]),
    "float": (Types.FLOAT(), [0.0, -0.0, 0.10000000149011612, 3.4028234663852886e38, 1.401298464324817e-45, math.inf, -math.inf, math.nan]),
    "double": (Types.DOUBLE(), [0.0, -0.0, 0.1, 1.7976931348623157e308, 5e-324, math.inf, -math.inf, math.nan]),
    "date": (Types.SQL_DATE(), [dt.date.min, dt.date.max]),
    "time": (Types.SQL_TIME(), [dt.time.min, dt.time.max, dt.time(1, 2)]),
    "timestamp": (Types.SQL_TIMESTAMP(), [dt.datetime.min, dt.datetime.max, MOMENT]),  # noqa: DTZ901
    "ltz": (Types.TIMESTAMP_LTZ(), [dt.datetime.min.replace(tzinfo=UTC), dt.datetime.max.replace(tzinfo=UTC), MOMENT.replace(tzinfo=UTC)]),
    "instant": (Types.INSTANT(), [Instant(0, 0), Instant(-1, 5), Instant(253402300799, 999_999_999)]),
}  # fmt: skip
NESTED: dict[str, tuple[Any, list[Any]]] = {
    "bytes": (Types.PRIMITIVE_ARRAY(Types.BYTE()), [b"", b"\x00\xff"]),
    "list": (Types.LIST(Types.STRING()), [[], ["", "a;b"]]),
    "tuple": (Types.TUPLE([Types.INT(), Types.STRING()]), [(1, ""), (2, "a")]),
    "row": (
        Types.ROW_NAMED(["n", "at"], [Types.BIG_INT(), Types.INSTANT()]),
        [Row(n=10**40, at=Instant(0, 1)), Row(n=None, at=None)],
    ),
    "map": (Types.MAP(Types.INT(), Types.DOUBLE()), [{}, {1: 0.5, -2: math.inf}]),
    "line ends": (Types.STRING(), ["\n", "a\r\nb", "\r"]),
}


def read(source: FileSource, path: Path) -> list[tuple[Any, ...]]:
    """Return the records of a file, as a task of the source makes them of its lines, and of the file itself."""
    form = source.by_lines
    assert form is not None
    data = path.read_bytes()
    lines = [data] if form.is_whole else data.split(b"\n")[:-1]
    found = _decoded(form, path, lines, [None] * len(lines))
    if not form.is_whole:
        assert repr(_decoded(form, path, [None], [len(data)])) == repr(found)
    return found


def _decoded(
    form: LineForm, path: Path, lines: Sequence[bytes | None], ends: Sequence[int | None]
) -> list[tuple[Any, ...]]:
    batch = pa.RecordBatch.from_arrays(
        [
            pa.array(lines, pa.binary()),
            pa.array([path.as_uri()] * len(lines)),
            pa.array([0] * len(lines), pa.int64()),
            pa.array(ends, pa.int64()),
        ],
        ["line", "file", "start", "end"],
    )
    found: list[tuple[Any, ...]] = []
    for made in LineDecoder(form).decoded(batch):
        rows = rows_of(made) if isinstance(made, pa.RecordBatch) else made
        found += map(tuple, rows)
    return found


CASES = [
    *(("json", *EDGES[name]) for name in EDGES),
    *(("json", *NESTED[name]) for name in NESTED),
    *(("csv", *EDGES[name]) for name in EDGES),
    ("csv", *NESTED["bytes"]),
    ("csv", *NESTED["line ends"]),
]


@pytest.mark.parametrize("fields", [1, 2])
@pytest.mark.parametrize(
    ("kind", "type_info", "values"),
    CASES,
    ids=[f"{k}-{t!r}-{n}" for n, (k, t, _) in enumerate(CASES)],
)
def test_what_is_written_is_read(
    tmp_path: Path,
    make_context: MakeContext,
    kind: str,
    type_info: Any,
    values: list[Any],
    fields: int,
) -> None:
    row: RowTypeInfo = Types.ROW_NAMED(["a", "b"][:fields], [type_info, Types.STRING()][:fields])
    records = [(value, "x")[:fields] for value in (*values, None)]
    sink = {"json": FileSink.json, "csv": FileSink.csv}[kind](tmp_path / "out")
    (path,) = written(sink, make_context(row), records)
    source = {"json": FileSource.json, "csv": FileSource.csv}[kind](tmp_path / "out", row)
    if kind == "csv" and values is NESTED["line ends"][1]:
        with pytest.raises(SourceError, match="line 2") as caught:
            read(source, path)
        assert "multiLine" in caught.value.hint
        source = FileSource.csv(tmp_path / "out", row, options={"multiLine": "true"})
    assert repr(read(source, path)) == repr(records)


@pytest.mark.parametrize("name", ["list", "tuple", "row", "map"])
def test_what_csv_has_no_form_for_is_refused_before_it_is_written(
    tmp_path: Path, name: str
) -> None:
    row = Types.ROW_NAMED(["a"], [NESTED[name][0]])
    with pytest.raises(GraphError, match="CSV cannot hold the field 'a'"):
        FileSink.csv(tmp_path / "out").check(row, None)
