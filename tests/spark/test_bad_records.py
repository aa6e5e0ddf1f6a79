"""A record of a file that does not fit is told with its file, line, field and value."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.common import Types, WatermarkStrategy
from penstock.datastream.connectors import FileSink, FileSource
from penstock.errors import SourceError
from penstock.spark.sources.bad_records import bad_record
from penstock.spark.sources.pinned_files import declared_schema
from tests.spark.conftest import Environment

NO_TIME = WatermarkStrategy.no_watermarks()
INSIDE = Types.ROW_NAMED(["deep"], [Types.INT()])
ROW = Types.ROW_NAMED(
    ["name", "n", "inside"], [Types.STRING(), Types.LONG(), Types.ROW_NAMED(["x"], [INSIDE])]
)
FLAT = Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.LONG()])

JSON = [
    ('{"name": "y", "n": "two"}', "field 'n' has the value \"two\", no bigint"),
    ('{"name": "y", "n": 1.5}', "field 'n' has the value 1.5, no bigint"),
    ('{"name": "y", "n": 99999999999999999999}', "field 'n' has the value 99999999999999999999"),
    (
        '{"n": 1, "inside": {"x": {"deep": "z"}}}',
        "field 'inside.x.deep' has the value \"z\", no int",
    ),
    ('{"name": "y", "n": ', "the record is not JSON (Expecting value"),
    ("[1, 2]", "the record is not a JSON object: [1, 2]"),
]
CSV = [
    ("y,two", "field 'n' has the value 'two', no bigint"),
    ("y", "the record has 1 field and not 2: y"),
    ("y,2,3", "the record has 3 fields and not 2: y,2,3"),
    ('"y,2', 'the record has 1 field and not 2: "y,2'),
]


@pytest.mark.parametrize(
    ("kind", "line", "told"),
    [("json", *case) for case in JSON] + [("csv", *case) for case in CSV],
)
def test_the_record_is_found(
    session: SparkSession, tmp_path: Path, kind: str, line: str, told: str
) -> None:
    good = {"json": '{"name": "x", "n": 1}', "csv": "x,1"}[kind]
    path = tmp_path / f"a b.{kind}"
    path.write_text("\n".join((*["name,n"] * (kind == "csv"), good, good, line, good)) + "\n")
    make = {"json": FileSource.json, "csv": FileSource.csv}[kind]
    source = make(path, ROW if kind == "json" else FLAT)
    schema = declared_schema(source)
    assert schema is not None
    found = bad_record(session, source, schema, path.as_uri())
    number = 3 + (kind == "csv")
    assert found is not None
    assert found.startswith(f"{path.as_uri()}, line {number}: {told}")
    path.write_text("\n".join((*["name,n"] * (kind == "csv"), good, good)) + "\n")
    assert bad_record(session, source, schema, path.as_uri()) is None


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_a_job_tells_it_and_leaves_nothing(
    environment: Environment, tmp_path: Path, mode: str
) -> None:
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "a.csv"
    path.write_text("name,n\nx,1\ny,two\n")
    env = environment(mode)
    rows = env.from_source(FileSource.csv(path.parent, FLAT), NO_TIME, "rows")
    rows.sink_to(FileSink.parquet(tmp_path / "out"))
    with pytest.raises(SourceError) as caught:
        env.execute()
    assert f"{path.name}, line 3: field 'n': 'two' is not an integer" in caught.value.problem
    assert caught.value.origin is not None
    assert list((tmp_path / "out").glob("*.parquet")) == []
