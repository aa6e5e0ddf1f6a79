"""Types of ORC files that Spark would convert without a word are errors; those whose values all fit are read."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc
from pyspark.sql.types import StructType

from penstock.common import Types
from penstock.config.parse import zone_named
from penstock.datastream.connectors import FileSource
from penstock.errors import SourceError
from penstock.spark.sources.file_columns import misfit
from tests.spark.conftest import Environment
from tests.spark.test_strict_files import read


@pytest.mark.parametrize(
    ("found", "declared", "is_fit"),
    [
        ("a int", "a bigint", True),
        ("a int", "a smallint", True),
        ("a bigint", "a int", False),
        ("a bigint", "a tinyint", False),
        ("a bigint", "a double", False),
        ("a int", "a double", True),
        ("a float", "a double", True),
        ("a double", "a float", False),
        ("a decimal(10,2)", "a decimal(38,18)", True),
        ("a decimal(10,2)", "a decimal(38,0)", False),
        ("a bigint", "a decimal(38,18)", True),
        ("a bigint", "a boolean", False),
        ("a int", "a string", False),
        ("a char(3)", "a string", True),
        ("a timestamp", "a timestamp_ntz", True),
        ("a array<bigint>", "a array<int>", False),
        ("a map<string,int>", "a map<string,bigint>", True),
        ("a struct<b:bigint>", "a struct<b:int>", False),
        ("a struct<b:int,c:int>", "a struct<b:int>", True),
        ("b bigint", "a int", True),
    ],
)
def test_a_type_fits_if_every_value_does(
    session: Any, found: str, declared: str, *, is_fit: bool
) -> None:
    del session  # its JVM parses the texts
    parse: Any = StructType.fromDDL
    assert (misfit(parse(found), parse(declared)) is None) == is_fit


def test_a_file_of_another_type_is_refused(environment: Environment, tmp_path: Path) -> None:
    column = pa.array([Decimal("1.50")], pa.decimal128(10, 2))
    orc.write_table(pa.table({"n": column}), str(tmp_path / "a.orc"))
    row = Types.ROW_NAMED(["n"], [Types.BIG_INT()])
    with pytest.raises(SourceError, match=r"a\.orc: column 'n' is decimal\(10,2\)"):
        read(environment, FileSource(str(tmp_path / "a.orc"), "orc", row), "batch", 1)


@pytest.mark.parametrize("mode", ["batch", "streaming"])
@pytest.mark.parametrize("kind", ["local", "nested", "instant"])
def test_a_timestamp_without_a_zone_is_in_the_zone_that_is_named_or_refused(
    environment: Environment, session: Any, tmp_path: Path, kind: str, mode: str
) -> None:
    here = str(session._jvm.java.time.ZoneId.systemDefault().getId())
    other = "Asia/Tokyo" if here != "Asia/Tokyo" else "UTC"
    noon = dt.datetime(2026, 1, 31, 12)  # noqa: DTZ001 - a local time
    column = pa.array([noon], pa.timestamp("us", "UTC" if kind == "instant" else None))
    row = Types.ROW_NAMED(["at"], [Types.TIMESTAMP_LTZ()])
    if kind == "nested":
        column = pa.ListArray.from_arrays([0, 1], column)
        row = Types.ROW_NAMED(["at"], [Types.LIST(Types.TIMESTAMP_LTZ())])
    (tmp_path / "in").mkdir()
    orc.write_table(pa.table({"at": column}), str(tmp_path / "in" / "a.orc"))

    def source(zone: str) -> FileSource:
        return FileSource(str(tmp_path / "in"), "orc", row, {"timeZone": zone})

    if kind == "instant":
        (found,) = read(environment, source(other), mode, 1)
        assert found.at == noon.replace(tzinfo=dt.UTC)
        return
    with pytest.raises(SourceError, match=rf"a\.orc: column 'at' .* and not in {other}"):
        read(environment, source(other), mode, 1)


def test_a_timestamp_without_a_zone_is_read_in_the_zone_of_the_jvm_if_that_is_named(
    environment: Environment, session: Any, tmp_path: Path
) -> None:
    here = str(session._jvm.java.time.ZoneId.systemDefault().getId())
    noon = dt.datetime(2026, 1, 31, 12)  # noqa: DTZ001 - a local time
    orc.write_table(pa.table({"at": pa.array([noon])}), str(tmp_path / "a.orc"))
    row = Types.ROW_NAMED(["at"], [Types.TIMESTAMP_LTZ()])
    source = FileSource(str(tmp_path / "a.orc"), "orc", row, {"timeZone": here})
    (found,) = read(environment, source, "batch", 1)
    assert found.at == noon.replace(tzinfo=zone_named(here))
