"""Records of files of columns have the declared form and the declared columns, in history and live."""

from __future__ import annotations

import datetime as dt
import logging
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc
from pyspark.sql import SparkSession

from penstock.common import Row, Types
from penstock.datastream.connectors import FileSource
from penstock.errors import SourceError
from penstock.types import Instant
from tests.spark.conftest import Environment
from tests.spark.test_strict_files import NO_TIME, read

NOON = dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC)
AT = Instant(int(NOON.timestamp()), 0)
FORMS = Types.ROW_NAMED(
    ["n", "at", "pairs", "days"],
    [
        Types.BIG_INT(),
        Types.INSTANT(),
        Types.LIST(Types.ROW_NAMED(["x", "at"], [Types.BIG_INT(), Types.INSTANT()])),
        Types.MAP(Types.STRING(), Types.BIG_INT()),
    ],
)
WRITE = {"parquet": pq.write_table, "orc": lambda table, path: orc.write_table(table, str(path))}


def written(path: Path, **columns: pa.Array) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    WRITE[path.suffix[1:]](pa.table(columns), path)


def forms(path: Path) -> None:
    pairs = pa.list_(pa.struct([("x", pa.decimal128(38, 0)), ("at", pa.timestamp("us", "UTC"))]))
    days = pa.map_(pa.string(), pa.decimal128(38, 0))
    written(
        path,
        n=pa.array([Decimal(5), None], pa.decimal128(38, 0)),
        at=pa.array([NOON, None], pa.timestamp("us", "UTC")),
        pairs=pa.array([[{"x": Decimal(1), "at": NOON}, None], None], pairs),
        days=pa.array([[("a", Decimal(2))], None], days),
    )


@pytest.mark.parametrize("kind", ["parquet", "orc"])
@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_values_of_columns_have_the_declared_form(
    environment: Environment, tmp_path: Path, mode: str, kind: str
) -> None:
    forms(tmp_path / "in" / f"a.{kind}")
    found = read(environment, FileSource(str(tmp_path / "in"), kind, FORMS), mode, 2)
    assert repr(found) == repr(
        [
            Row(n=5, at=AT, pairs=[Row(x=1, at=AT), None], days={"a": 2}),
            Row(n=None, at=None, pairs=None, days=None),
        ]
    )


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_a_key_of_columns_has_the_declared_form(
    environment: Environment, tmp_path: Path, mode: str
) -> None:
    written(tmp_path / "in" / "a.parquet", n=pa.array([Decimal(5)] * 3, pa.decimal128(38, 0)))
    one = Types.ROW_NAMED(["n"], [Types.BIG_INT()])
    source = FileSource.parquet(tmp_path / "in", one)
    read_as = source.monitor_continuously() if mode == "streaming" else source
    keyed = environment(mode).from_source(read_as, NO_TIME, "rows").key_by(lambda row: row[0])
    found = list(keyed.map(lambda row: repr(row[0])).execute_and_collect(limit=3))
    assert found == ["5"] * 3


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_columns_of_directories_that_are_not_declared_are_left_out(
    environment: Environment, tmp_path: Path, mode: str
) -> None:
    for day in (7, 8):
        path = tmp_path / "in" / f"day={day}" / f"hour={day}" / "a.parquet"
        written(path, k=pa.array(["x"]), v=pa.array([day], pa.int64()))
    row = Types.ROW_NAMED(["hour", "k", "v"], [Types.INT(), Types.STRING(), Types.LONG()])
    source = FileSource.parquet(tmp_path / "in", row)
    read_as = source.monitor_continuously() if mode == "streaming" else source
    stream = environment(mode).from_source(read_as, NO_TIME, "rows")
    found = list(stream.execute_and_collect(limit=2))
    assert sorted(map(repr, found)) == ["Row(hour=7, k='x', v=7)", "Row(hour=8, k='x', v=8)"]


def lacking(directory: Path, kind: str) -> FileSource:
    """Write a file whose column has a name that is like the declared one, and return the source."""
    directory.mkdir()
    row = Types.ROW_NAMED(["id", "amonut"], [Types.LONG(), Types.LONG()])
    if kind == "json":
        (directory / "a.json").write_text('{"id": 1, "amount": 2}\n')
    else:
        written(directory / f"a.{kind}", id=pa.array([1]), amount=pa.array([2]))
    return FileSource(str(directory), kind, row)


@pytest.mark.parametrize("mode", ["batch", "streaming"])
@pytest.mark.parametrize("kind", ["json", "parquet", "orc"])
def test_a_column_that_no_file_has_is_told(
    environment: Environment,
    tmp_path: Path,
    mode: str,
    kind: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    source = lacking(tmp_path / "in", kind)
    with caplog.at_level(logging.WARNING, "penstock"):
        assert read(environment, source, mode, 1) == [Row(id=1, amonut=None)]
    told = [m for m in caplog.messages if "has the column 'amonut'" in m]
    assert len(told) == 1
    assert "did you mean 'amount'?" in told[0]


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_a_column_that_no_file_has_is_refused_on_request(
    environment: Environment, tmp_path: Path, mode: str
) -> None:
    source = lacking(tmp_path / "in", "parquet")
    read_as = source.monitor_continuously() if mode == "streaming" else source
    stream = environment(mode, **{"source.files.missing-columns": "error"}).from_source(
        read_as, NO_TIME, "rows"
    )
    with pytest.raises(SourceError, match="has the column 'amonut'") as caught:
        list(stream.execute_and_collect(limit=1))
    assert caught.value.origin is not None


def test_values_of_a_dataframe_have_the_declared_form(
    environment: Environment, session: SparkSession
) -> None:
    rows = session.sql(
        "select cast(5 as decimal(38, 0)) n, timestamp'2026-01-31 12:00:00Z' at, array(1L) pairs"
    )
    declared = Types.ROW_NAMED(["n", "at"], [Types.BIG_INT(), Types.INSTANT()])
    stream = environment("batch").from_dataframe(rows, type_info=declared)
    assert repr(list(stream.execute_and_collect(limit=1))) == repr([Row(n=5, at=AT)])
