"""Merging files of every format: the records are those of the files, in order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from penstock.common import Types
from penstock.connectors.files.file_formats import SPECS, FileFormat
from penstock.connectors.files.file_merger import _MERGES, merge_files
from penstock.connectors.files.file_writers import ROW_GROUP_ROWS
from penstock.errors import JobCancelledError
from tests.connectors.conftest import MakeContext

ROW = Types.ROW_NAMED(
    ["text\nof two lines", "n", "many"], [Types.STRING(), Types.LONG(), Types.LIST(Types.LONG())]
)
FLAT = Types.ROW_NAMED(["text\nof two lines", 'a "quoted" name'], [Types.STRING(), Types.LONG()])
TEXTS = ["a", None, "", 'b "c"', "two\nlines", "ü"]


def written(
    path: Path, make_context: MakeContext, file_format: FileFormat, kind: Any, rows: list[Any]
) -> Path:
    with path.open("xb") as file:
        records = SPECS[file_format].open(file, make_context(kind))
        records.write(rows)
        records.finish()
    return path


def merged(tmp_path: Path, paths: list[Path], count: int, delimiter: bytes = b"") -> Path:
    target = tmp_path / f"merged{paths[0].suffix}"
    with target.open("xb") as file:
        assert merge_files(paths, file, delimiter) == count
    return target


def test_every_format_can_be_merged() -> None:
    assert set(_MERGES) == {f".{spec.extension}" for spec in SPECS.values()}


def test_parquet_files_are_one_file_with_large_row_groups(
    tmp_path: Path, make_context: MakeContext
) -> None:
    rows = [(text, n, [n] * n) for n, text in enumerate(TEXTS)]
    paths = [
        written(tmp_path / f"{n}.parquet", make_context, FileFormat.PARQUET, ROW, [row] * 100)
        for n, row in enumerate(rows)
    ]
    whole = pyarrow.parquet.ParquetFile(merged(tmp_path, paths, len(rows)))
    assert whole.metadata.num_row_groups == 1
    assert whole.schema_arrow == pyarrow.parquet.read_schema(paths[0])
    found = [tuple(row.values()) for row in whole.read().to_pylist()]
    assert found == [row for row in rows for _ in range(100)]


def test_a_row_group_is_not_larger_than_those_that_tasks_write(
    tmp_path: Path, make_context: MakeContext
) -> None:
    kind = Types.ROW_NAMED(["n"], [Types.LONG()])
    count = ROW_GROUP_ROWS - 1
    paths = [
        written(tmp_path / f"{n}.parquet", make_context, FileFormat.PARQUET, kind, [(n,)] * count)
        for n in range(4)
    ]
    facts = pyarrow.parquet.read_metadata(merged(tmp_path, paths, 4))
    assert facts.num_rows == 4 * count
    assert facts.num_row_groups == 2


def test_csv_files_have_one_header(tmp_path: Path, make_context: MakeContext) -> None:
    rows = [(text, n) for n, text in enumerate(TEXTS)]
    paths = [
        written(tmp_path / f"{n}.csv", make_context, FileFormat.CSV, FLAT, [row])
        for n, row in enumerate(rows)
    ]
    options = pyarrow.csv.ParseOptions(newlines_in_values=True)
    nulls = pyarrow.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
    table = pyarrow.csv.read_csv(
        merged(tmp_path, paths, len(rows)), parse_options=options, convert_options=nulls
    )
    assert table.column_names == list(FLAT.get_field_names())
    assert [tuple(row.values()) for row in table.to_pylist()] == rows


@pytest.mark.parametrize("delimiter", [b"", b"--\n"])
def test_lines_follow_one_another(
    tmp_path: Path, make_context: MakeContext, delimiter: bytes
) -> None:
    paths = [
        written(tmp_path / f"{n}.json", make_context, FileFormat.JSON, None, [n, str(n)])
        for n in range(3)
    ]
    lines = merged(tmp_path, paths, 3, delimiter).read_bytes()
    found = [[json.loads(line) for line in part.splitlines()] for part in lines.split(b"--\n")]
    assert found == ([[0, "0"], [1, "1"], [2, "2"]] if delimiter else [[0, "0", 1, "1", 2, "2"]])


@pytest.mark.parametrize("file_format", [FileFormat.PARQUET, FileFormat.CSV])
def test_files_with_other_columns_are_left_for_the_next_merge(
    tmp_path: Path, make_context: MakeContext, file_format: FileFormat
) -> None:
    """A job that goes on with another program may hide files beside those of the one before."""
    kinds = [Types.ROW_NAMED(["n"], [Types.LONG()]), Types.ROW_NAMED(["m"], [Types.LONG()])]
    paths = [
        written(tmp_path / f"{n}.{file_format.value}", make_context, file_format, kind, [(n,)])
        for n, kind in enumerate([kinds[0], kinds[0], kinds[1], kinds[0]])
    ]
    whole = merged(tmp_path, paths, 2)
    read = pyarrow.parquet.read_table if file_format is FileFormat.PARQUET else pyarrow.csv.read_csv
    assert read(whole).to_pydict() == {"n": [0, 1]}


@pytest.mark.parametrize("file_format", [FileFormat.PARQUET, FileFormat.CSV, FileFormat.JSON])
def test_a_merge_can_be_given_up(
    tmp_path: Path, make_context: MakeContext, file_format: FileFormat
) -> None:
    kind = Types.ROW_NAMED(["n"], [Types.LONG()])
    paths = [
        written(tmp_path / f"{n}.{file_format.value}", make_context, file_format, kind, [(n,)])
        for n in range(3)
    ]
    asked: list[int] = []

    def check() -> None:
        asked.append(1)
        if len(asked) == 2:
            raise JobCancelledError("enough", hint="Go on.")

    with (tmp_path / "merged").open("xb") as file, pytest.raises(JobCancelledError):
        merge_files(paths, file, check=check)
    assert len(asked) == 2


def test_a_damaged_file_is_told(tmp_path: Path, make_context: MakeContext) -> None:
    kind = Types.ROW_NAMED(["n"], [Types.LONG()])
    good = written(tmp_path / "0.parquet", make_context, FileFormat.PARQUET, kind, [(1,)])
    bad = tmp_path / "1.parquet"
    bad.write_bytes(good.read_bytes()[:-7])
    with (tmp_path / "merged").open("xb") as file, pytest.raises(pa.ArrowException):
        merge_files([good, bad], file)
