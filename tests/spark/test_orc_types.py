"""Types of ORC files that Spark would convert without a word are errors; those whose values all fit are read."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc
from pyspark.sql.types import StructType

from penstock.common import Types
from penstock.datastream.connectors import FileSource
from penstock.errors import SourceError
from penstock.spark.sources.orc_types import misfit
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
