"""Output that is divided by columns, and by size: what is written is what readers of Hive's layout find.

The oracle is pyarrow's own reader of partitions. Finds: a record in the wrong directory or in two, a value that is
read as another one, a path that leaves the directory of the sink, a file that grows behind its limit.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

from penstock.connectors.files import staged_files
from penstock.connectors.files.file_formats import FileFormat
from penstock.connectors.files.file_naming import BucketAssigner, RollingPolicy
from penstock.connectors.files.file_sink import FileSink
from penstock.connectors.files.partitions import bucket_of, division_of
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import ArgumentError, GraphError, SinkError, TypeMismatchError
from penstock.graph.endpoints import SinkContext
from penstock.types import TypeInformation
from penstock.types.arrow import arrow_columns, arrow_schema
from penstock.types.row import Row
from penstock.types.types import Types
from tests.connectors.conftest import MakeContext

ROW = Types.ROW_NAMED(["country", "n", "day"], [Types.STRING(), Types.LONG(), Types.SQL_DATE()])
DAY = dt.date(2026, 1, 31)
NULL = "__HIVE_DEFAULT_PARTITION__"
TEXTS = [
    "DE",
    "a/b",
    "..",
    ".",
    "x=y",
    "50% off",
    "ü ä",
    "new\nline",
    "*?[a]{b}^",
    "\\",
    '"',
    "a:b",
    "#'",
]


def parted(path: Path, *names: str, to: FileFormat = FileFormat.PARQUET) -> FileSink:
    builder = FileSink.for_bulk_format(path, to)
    return builder.with_bucket_assigner(BucketAssigner.by_columns(*names)).build()


def committed(sink: FileSink, context: SinkContext, *batches: list[Any]) -> list[Path]:
    """Write an epoch; return the visible files."""
    committer = sink.create_committer(context)
    committer.recover()
    writer = sink.create_writer(context)
    for batch in batches:
        writer.write(batch)
    committer.commit("batch-0", writer.prepare_commit())
    return [
        path
        for path in sorted(Path(str(sink.path)).rglob("part-*"))
        if path.is_file() and "_penstock" not in path.parts
    ]


def read(path: Path) -> list[tuple[Any, ...]]:
    """Read Hive's layout with another reader."""
    schema = pa.schema([("country", pa.string()), ("day", pa.date32()), ("n", pa.int64())])
    layout = pyarrow.dataset.partitioning(schema.remove(2), flavor="hive")
    found = pyarrow.dataset.dataset(path, schema, "parquet", partitioning=layout)
    return sorted(
        ((row["country"], row["n"], row["day"]) for row in found.to_table().to_pylist()), key=str
    )


def test_every_value_is_read_back_by_another_reader(
    tmp_path: Path, make_context: MakeContext
) -> None:
    values: list[tuple[Any, ...]] = [(text, n, DAY) for n, text in enumerate(TEXTS)]
    values += [(None, 90, DAY), ("DE", 91, None), (None, 92, None), ("DE", 93, DAY)]
    out = tmp_path / "out"
    files = committed(parted(out, "country", "day"), make_context(ROW), values[:9], values[9:])
    assert read(out) == sorted(values, key=str)
    assert len(files) == len(TEXTS) + 3
    assert all(out in path.parents and len(path.relative_to(out).parts) == 3 for path in files)
    assert pyarrow.parquet.ParquetFile(files[0]).schema_arrow.names == ["n"]


def test_paths_are_those_of_spark() -> None:
    names = ("country", "flag", "day")
    assert (
        bucket_of(names, ("a/b=c", True, DAY), None) == "country=a%2Fb%3Dc/flag=true/day=2026-01-31"
    )
    assert bucket_of(("c",), (None,), None) == "c=__HIVE_DEFAULT_PARTITION__"
    assert bucket_of(("a/b",), (-3,), None) == "a%2Fb=-3"


def test_a_text_that_is_the_directory_of_null_is_in_its_one_file() -> None:
    division = division_of(ROW, ("country",), None)
    rows: list[Any] = [
        Row(country=each, n=n, day=DAY) for n, each in enumerate((None, "DE", NULL, None))
    ]
    columns = pa.RecordBatch.from_arrays(
        arrow_columns(ROW, [list(row) for row in rows]), schema=arrow_schema(ROW)
    )
    found = [
        (bucket, made.column("n").to_pylist())
        for bucket, made in division.divided_columns(columns, None)
    ]
    assert found == [(f"country={NULL}", [0, 2, 3]), ("country=DE", [1])]
    of_records = division.divided(rows, None)
    assert [bucket for bucket, _ in found] == list(of_records)
    assert [len(made) for _, made in found] == list(map(len, of_records.values()))


def test_lines_have_the_other_fields(tmp_path: Path, make_context: MakeContext) -> None:
    records: list[Any] = [
        Row(country="DE", n=1, day=DAY),
        {"n": 2, "country": "FR", "day": None},
        ("DE", 3, None),
    ]
    for to, wanted in (
        (FileFormat.JSON, {'{"n": 1}', '{"n": 2}', '{"n": 3}'}),
        (FileFormat.CSV, {"1", "2", "3"}),
    ):
        files = committed(
            parted(tmp_path / to.value, "country", "day", to=to), make_context(ROW), records
        )
        lines = {line for path in files for line in path.read_text().splitlines()}
        if to is FileFormat.JSON:
            assert {json.dumps(json.loads(line)) for line in lines} == wanted
        else:
            assert lines == wanted | {'"n"'}


def test_many_buckets_are_not_all_open(
    tmp_path: Path, make_context: MakeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staged_files.MountedFiles, "most_open", 3)
    values = [(f"c{n % 7}", n, DAY) for n in range(70)]
    batches = [values[start : start + 5] for start in range(0, 70, 5)]
    out = tmp_path / "out"
    committed(parted(out, "country", "day"), make_context(ROW), *batches)
    assert read(out) == sorted(values, key=str)


@pytest.mark.parametrize("to", [FileFormat.PARQUET, FileFormat.CSV, FileFormat.JSON])
def test_files_end_at_their_size(tmp_path: Path, make_context: MakeContext, to: FileFormat) -> None:
    policy = RollingPolicy.default_rolling_policy(part_size=200_000)
    builder = FileSink.for_bulk_format(tmp_path, to).with_rolling_policy(policy)
    sink = builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()
    values = [("DE" * 4, n * 7919, DAY) for n in range(60_000)]
    files = committed(sink, make_context(ROW), values[:40_000], values[40_000:])
    assert len(files) > 3
    assert max(path.stat().st_size for path in files) < 900_000
    if to is FileFormat.PARQUET:
        counts = [pyarrow.parquet.read_metadata(path).num_rows for path in files]
        assert sum(counts) == 60_000
    else:
        lines = [line for path in files for line in path.read_text().splitlines()]
        assert len(set(lines)) == 60_000 + (to is FileFormat.CSV)
    whole = FileSink.parquet(tmp_path / "whole")
    assert len(committed(whole, make_context(ROW), values)) == 1


def test_a_writer_that_is_aborted_leaves_nothing(tmp_path: Path, make_context: MakeContext) -> None:
    sink = parted(tmp_path, "country")
    sink.create_committer(make_context(ROW)).recover()
    writer = sink.create_writer(make_context(ROW))
    writer.write([("DE", 1, DAY), ("FR", 2, DAY)])
    writer.abort()
    assert list(tmp_path.rglob("*.parquet")) == []


def test_values_without_a_directory_are_told(tmp_path: Path, make_context: MakeContext) -> None:
    sink = parted(tmp_path, "country")
    sink.create_committer(make_context(ROW)).recover()
    writer = sink.create_writer(make_context(ROW))
    with pytest.raises(SinkError, match="a record has an empty string in 'country'"):
        writer.write([("", 1, DAY)])
    with pytest.raises(TypeMismatchError, match="'country'"):
        writer.write([(3.5, 1, DAY)])


REFUSED: dict[str, tuple[FileSink, TypeInformation]] = {
    "it is no row with named fields": (parted(Path("/t"), "f0"), Types.TUPLE([Types.STRING()])),
    "there is no field 'city'": (parted(Path("/t"), "city"), ROW),
    "no field is left": (parted(Path("/t"), "country", "n", "day"), ROW),
    "'x' is a Double": (
        parted(Path("/t"), "x"),
        Types.ROW_NAMED(["x", "n"], [Types.DOUBLE(), Types.LONG()]),
    ),
    "is one text, and cannot be divided": (parted(Path("/t"), "n", to=FileFormat.TEXT), ROW),
}


@pytest.mark.parametrize("problem", REFUSED)
def test_streams_that_cannot_be_divided_are_told_when_the_program_is_written(problem: str) -> None:
    sink, type_info = REFUSED[problem]
    stream = StreamExecutionEnvironment.get_execution_environment().from_collection([], type_info)
    with pytest.raises(GraphError, match=problem) as error:
        stream.sink_to(sink)
    assert error.value.origin is not None
    assert error.value.origin.filename == __file__


def test_a_wrong_call_is_refused_where_it_is_made() -> None:
    wrong: tuple[Callable[[], Any], ...] = (
        BucketAssigner.by_columns,
        lambda: BucketAssigner.by_columns("a", "a"),
        lambda: BucketAssigner.by_columns(1),  # type: ignore[arg-type]
        lambda: FileSink("/t", FileFormat.PARQUET, part_size_bytes=0),
    )
    for call in wrong:
        with pytest.raises(ArgumentError):
            call()
