"""Rows of files of a sink, read back without their type."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Types
from penstock.connectors.files.file_naming import BucketAssigner
from penstock.connectors.files.file_sink import FileSink
from penstock.connectors.files.written_files import rows_of_files
from penstock.errors import SourceError
from penstock.graph.endpoints import EpochNumber
from penstock.types.row import Row
from tests.connectors.conftest import MakeContext
from tests.connectors.sink_epochs import staged, started

TYPE = Types.ROW_NAMED(["name", "n", "price"], [Types.STRING(), Types.LONG(), Types.DOUBLE()])
ROWS = [Row(name='a,\n"b"', n=1, price=0.1), Row(name="", n=None, price=None)]
ROWS += [Row(name=None, n=2**62, price=float("inf"))]


def write(sink: FileSink, context: Any, *rows: Any, epoch: int = 0) -> None:
    committer = started(sink, context)
    committer.commit(str(EpochNumber(0, epoch)), staged(sink, context, *rows))
    committer.close()


def read(path: Path, form: str = "") -> list[dict[str, Any]]:
    return [row for rows in rows_of_files(path, form) for row in rows]


def test_parquet_has_the_values(tmp_path: Path, make_context: MakeContext) -> None:
    sink = FileSink.parquet(tmp_path / "out")
    write(sink, make_context(TYPE), *ROWS)
    assert read(tmp_path / "out") == [row.as_dict() for row in ROWS]


def test_csv_has_texts_and_tells_nulls_from_empty_texts(
    tmp_path: Path, make_context: MakeContext
) -> None:
    write(FileSink.csv(tmp_path / "out"), make_context(TYPE), *ROWS)
    assert read(tmp_path / "out") == [
        {"name": 'a,\n"b"', "n": "1", "price": "0.1"},
        {"name": "", "n": None, "price": None},
        {"name": None, "n": str(2**62), "price": "Infinity"},
    ]


def test_csv_of_one_column_keeps_its_nulls(tmp_path: Path, make_context: MakeContext) -> None:
    one = Types.ROW_NAMED(["name"], [Types.STRING()])
    write(FileSink.csv(tmp_path / "out"), make_context(one), Row(name=None), Row(name="x"))
    assert read(tmp_path / "out") == [{"name": None}, {"name": "x"}]


def test_json_has_all_digits(tmp_path: Path, make_context: MakeContext) -> None:
    write(FileSink.json(tmp_path / "out"), make_context(TYPE), *ROWS[:2])
    assert read(tmp_path / "out") == [row.as_dict() for row in ROWS[:2]]
    (tmp_path / "digits.json").write_text('{"x": 0.10000000000000000001}\n[1]\n')
    digits = {"x": Decimal("0.10000000000000000001")}
    assert read(tmp_path / "digits.json") == [digits, {"record": [1]}]


def test_text_has_lines(tmp_path: Path, make_context: MakeContext) -> None:
    write(FileSink.text(tmp_path / "out"), make_context(), "a b", "", "c")
    assert read(tmp_path / "out") == [{"line": "a b"}, {"line": ""}, {"line": "c"}]


def test_columns_of_directories_are_texts_and_times_of_directories_are_none(
    tmp_path: Path, make_context: MakeContext
) -> None:
    sink = FileSink.json(tmp_path / "out")
    by_columns = replace(sink.naming, buckets=BucketAssigner.by_columns("name"))
    write(FileSink(sink.path, sink.format, by_columns), make_context(TYPE), ROWS[0], ROWS[2])
    assert {(row["name"], row["n"]) for row in read(tmp_path / "out")} == {
        ('a,\n"b"', 1),
        (None, 2**62),
    }
    by_hour = replace(sink.naming, buckets=BucketAssigner.date_time_bucket_assigner())
    hours = FileSink(tmp_path / "hours", sink.format, by_hour)
    write(hours, make_context(TYPE), ROWS[0])
    assert read(tmp_path / "hours") == [ROWS[0].as_dict()]


def test_rows_come_in_the_order_of_epochs(tmp_path: Path, make_context: MakeContext) -> None:
    sink, context = FileSink.json(tmp_path / "out"), make_context(TYPE)
    for epoch in range(11):
        write(sink, context, Row(name="a", n=epoch, price=None), epoch=epoch)
    assert [row["n"] for row in read(tmp_path / "out")] == [*range(11)]


def test_names_without_an_end_need_the_format(tmp_path: Path, make_context: MakeContext) -> None:
    sink = FileSink.for_bulk_format(tmp_path / "out", FileSink.parquet("/x").format)
    write(sink.build(), make_context(TYPE), ROWS[0])
    assert read(tmp_path / "out", "parquet") == [ROWS[0].as_dict()]
    with pytest.raises(SourceError, match="cannot be read"):
        read(tmp_path / "out")


def test_damage_and_absence_are_errors(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="there is no output"):
        read(tmp_path / "nowhere")
    for name, text in (("a.parquet", "PAR1"), ("b.json", "{"), ("c.csv", 'x\n"a')):
        (tmp_path / name).write_text(text)
    for name in ("a.parquet", "b.json"):
        with pytest.raises(SourceError, match="cannot be read"):
            read(tmp_path / name)
