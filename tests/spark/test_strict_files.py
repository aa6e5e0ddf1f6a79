"""Values of files that do not have the declared type are errors with file and field, in history and live."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import col
from penstock.datastream.connectors import FileSource
from penstock.errors import SourceError
from penstock.types import Instant
from tests.spark.conftest import Environment

NO_TIME = WatermarkStrategy.no_watermarks()


def read(environment: Environment, source: FileSource, mode: str, count: int) -> list[Any]:
    """Return the records of a source; live ones up to a number of them."""
    read_as = source.monitor_continuously() if mode == "streaming" else source
    stream = environment(mode).from_source(read_as, NO_TIME, "rows")
    return list(stream.execute_and_collect(limit=count))


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_a_narrow_integer_of_parquet_is_not_cut(
    environment: Environment, tmp_path: Path, mode: str
) -> None:
    row = Types.ROW_NAMED(["a", "b"], [Types.SHORT(), Types.LIST(Types.BYTE())])
    (tmp_path / "in").mkdir()
    kinds = [("a", pa.int32()), ("b", pa.list_(pa.int32()))]
    table = pa.table({"a": [1, -32768, None], "b": [[127], None, [None]]}, pa.schema(kinds))
    pq.write_table(table, tmp_path / "in" / "a.parquet")
    source = FileSource.parquet(tmp_path / "in", row)
    found = read(environment, source, mode, 3)
    assert list(map(tuple, found)) == [(1, [127]), (-32768, None), (None, [None])]


@pytest.mark.parametrize(("name", "value"), [("a", 40000), ("b", [200])])
def test_an_integer_out_of_range_is_an_error(
    environment: Environment, tmp_path: Path, name: str, value: Any
) -> None:
    row = Types.ROW_NAMED(["a", "b"], [Types.SHORT(), Types.LIST(Types.BYTE())])
    kinds = [("a", pa.int32()), ("b", pa.list_(pa.int32()))]
    columns = {"a": [1], "b": [[1]]} | {name: [value]}
    pq.write_table(pa.table(columns, pa.schema(kinds)), tmp_path / "a.parquet")
    with pytest.raises(SourceError, match=rf"a\.parquet: field '{name}' is out of the range"):
        read(environment, FileSource.parquet(tmp_path / "a.parquet", row), "batch", 1)


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_lines_of_json_have_the_declared_forms(
    environment: Environment, tmp_path: Path, mode: str
) -> None:
    row = Types.ROW_NAMED(["n", "at", "day"], [Types.BIG_INT(), Types.INSTANT(), Types.INT()])
    (tmp_path / "in" / "day=7" / "hour=1").mkdir(parents=True)
    (tmp_path / "in" / "day=7" / "hour=1" / "a.json").write_text(
        '{"n": 12345678901234567890123, "at": "2026-01-01T00:00:00.000000001"}\n'
    )
    found = read(environment, FileSource.json(tmp_path / "in", row), mode, 1)
    assert list(map(tuple, found)) == [(12345678901234567890123, Instant(1767225600, 1), 7)]


@pytest.mark.parametrize("mode", ["batch", "streaming"])
@pytest.mark.parametrize(
    ("kind", "line", "told"),
    [
        ("json", b'{"n": 1}{"n": 2}', "line 2: Extra data"),
        ("json", b'{"n": 200}', "line 2: field 'n': 200 is out of range"),
        ("csv", b"0x1", "line 2: field 'n': '0x1' is not an integer"),
        ("text", b"\xff", "line 2: the line is not utf-8"),
    ],
)
def test_a_line_that_is_no_record_is_an_error(
    environment: Environment, tmp_path: Path, kind: str, line: bytes, told: str, mode: str
) -> None:
    row = Types.ROW_NAMED(["n"], [Types.BYTE()])
    good = {"json": b'{"n": 1}', "csv": b"1", "text": b"x"}[kind]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.x").write_bytes(good + b"\n" + line + b"\n")
    source = {
        "json": lambda: FileSource.json(tmp_path / "in", row),
        "csv": lambda: FileSource.csv(tmp_path / "in", row, header=False),
        "text": lambda: FileSource.text(tmp_path / "in"),
    }[kind]()
    with pytest.raises(SourceError) as caught:
        read(environment, source, mode, 3)
    assert f"a.x, {told}" in caught.value.problem
    assert caught.value.origin is not None


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_spark_sql_computes_on_lines_whose_fields_are_all_checked(
    environment: Environment, tmp_path: Path, kind: str
) -> None:
    row = Types.ROW_NAMED(["a.b", "n", "day"], [Types.BYTE(), Types.INT(), Types.STRING()])
    make, line, header = {
        "json": (FileSource.json, '{{"a.b": {}, "n": {}}}\n', ""),
        "csv": (FileSource.csv, "{},{}\n", "a.b,n\n"),
    }[kind]
    path = tmp_path / "in" / "day=x y" / "a.z"
    path.parent.mkdir(parents=True)

    def late(job: str) -> list[Any]:
        env = environment("batch", **{"execution.checkpointing.dir": str(tmp_path / job)})
        rows = env.from_source(make(tmp_path / "in", row), NO_TIME, "rows")
        found = rows.where(col["a.b"] > 1).select(col.day, twice=col["a.b"] * 2)
        with found.execute_and_collect() as records:
            return list(map(tuple, records))

    lines = [line.format(n, n) for n in range(4)]
    path.write_text(header + "".join(lines))
    assert sorted(late("one")) == [("x y", 4), ("x y", 6)]
    path.write_text(header + "".join([*lines, line.format(0, 2**31)]))
    number = 6 if kind == "csv" else 5
    with pytest.raises(SourceError, match=rf"a\.z, line {number}: field 'n': 2147483648") as caught:
        late("two")
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__
