"""The sequence column of the file sink: later epochs have greater numbers, and what is written again has the same.

Finds: a number that depends on when or how often an epoch is written, rows of a task out of order, an epoch that takes
numbers of the next one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet
import pytest

from penstock.connectors.files import sequence_column
from penstock.connectors.files.file_formats import FileFormat
from penstock.connectors.files.file_naming import BucketAssigner
from penstock.connectors.files.file_sink import FileSink
from penstock.connectors.files.sequence_column import first_sequence, most_rows
from penstock.errors import ArgumentError, GraphError, SinkError
from penstock.graph.endpoints import EpochNumber, SinkContext
from penstock.types.row import Row
from penstock.types.types import Types
from tests.connectors.conftest import MakeContext

ROW = Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.LONG()])
BATCH = EpochNumber(0, is_whole_run=True)


@pytest.fixture
def context(make_context: MakeContext) -> SinkContext:
    return make_context(ROW)


def staged(sink: FileSink, context: SinkContext, epoch: EpochNumber, *batches: Any) -> list[Any]:
    writer = sink.create_writer(replace(context, epoch=epoch))
    try:
        for batch in batches:
            writer.write(batch)
    except SinkError:
        writer.abort()
        raise
    return writer.prepare_commit()


def read(sink: FileSink) -> list[dict[str, Any]]:
    tables = [
        pyarrow.parquet.read_table(path, partitioning=None).to_pylist()
        for path in Path(str(sink.path)).rglob("part-*.parquet")
    ]
    return sorted([row for table in tables for row in table], key=lambda row: row["seq"])


def test_rows_are_in_order_over_batches_and_epochs_and_runs(
    tmp_path: Path, context: SinkContext
) -> None:
    sink = FileSink.parquet(tmp_path / "out").with_sequence_column("seq")
    sink.check(ROW, None)
    committer = sink.create_committer(context)
    committer.recover()
    epochs = [BATCH, EpochNumber(1, 0), EpochNumber(1, 1), EpochNumber(1, 17), EpochNumber(2, 0)]
    written = []
    for at, epoch in enumerate(epochs):
        rows = [Row(f"{at}", n) for n in range(4)]
        committer.commit(str(epoch), staged(sink, context, epoch, rows[:3], rows[3:]))
        written += [(f"{at}", n) for n in range(4)]
    found = read(sink)
    assert [(row["name"], row["n"]) for row in found] == written
    assert [row["seq"] for row in found[:4]] == [0, 1, 2, 3]
    assert list(found[0]) == ["name", "n", "seq"]


def test_an_epoch_that_is_written_again_has_the_same_numbers(
    tmp_path: Path, context: SinkContext
) -> None:
    sink = FileSink.parquet(tmp_path / "out").with_sequence_column("seq")
    committer = sink.create_committer(context)
    committer.recover()
    epoch = EpochNumber(1, 3)
    staged(sink, context, epoch, [("a", 1)], [("b", 2)])  # of a driver that was killed
    committer.recover()
    committer.commit(str(epoch), staged(sink, context, epoch, [("a", 1), ("b", 2)]))
    first = first_sequence(epoch)
    assert read(sink) == [
        {"name": "a", "n": 1, "seq": first},
        {"name": "b", "n": 2, "seq": first + 1},
    ]


FORMATS: dict[FileFormat, Callable[[Path], list[Any]]] = {
    FileFormat.JSON: lambda path: [json.loads(line) for line in path.read_text().splitlines()],
    FileFormat.CSV: lambda path: pyarrow.csv.read_csv(path).to_pylist(),
}


@pytest.mark.parametrize("file_format", FORMATS)
def test_the_column_is_in_every_format_with_columns_and_beside_directories(
    tmp_path: Path, context: SinkContext, file_format: FileFormat
) -> None:
    builder = FileSink.for_bulk_format(tmp_path / "out", file_format).with_sequence_column("seq")
    sink = builder.with_bucket_assigner(BucketAssigner.by_columns("name")).build()
    sink.check(ROW, None)
    committer = sink.create_committer(context)
    committer.recover()
    committer.commit("0-0", staged(sink, context, BATCH, [("a", 1), ("b", 2), ("a", 3)]))
    found = {
        name: FORMATS[file_format](next((tmp_path / "out" / f"name={name}").iterdir()))
        for name in "ab"
    }
    assert found == {
        "a": [{"n": 1, "seq": 0}, {"n": 3, "seq": 2}],
        "b": [{"n": 2, "seq": 1}],
    }


def test_tuples_have_the_column_behind_their_own(tmp_path: Path, make_context: MakeContext) -> None:
    sink = FileSink.parquet(tmp_path / "out").with_sequence_column("seq")
    context = make_context(Types.TUPLE([Types.LONG()]))
    sink.check(context.type_info, None)
    committer = sink.create_committer(context)
    committer.recover()
    committer.commit("0-0", staged(sink, context, BATCH, [(7,)]))
    assert read(sink) == [{"f0": 7, "seq": 0}]


def test_an_epoch_never_takes_numbers_of_the_next_one(
    tmp_path: Path, context: SinkContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sequence_column, "_ROW_BITS", 2)
    sink = FileSink.parquet(tmp_path / "out").with_sequence_column("seq")
    sink.create_committer(context).recover()
    epoch = EpochNumber(0, 5)
    assert first_sequence(epoch) + most_rows(epoch) == first_sequence(EpochNumber(0, 6))
    rows = [("a", n) for n in range(5)]
    assert staged(sink, context, epoch, rows[:4])
    with pytest.raises(SinkError, match="more than 4 rows in epoch 0-5") as caught:
        staged(sink, context, epoch, rows[:3], rows[3:])
    assert "max-records-per-batch" in caught.value.hint
    assert staged(sink, context, BATCH, rows)  # nothing follows it in its run
    assert most_rows(BATCH) == first_sequence(EpochNumber(1)) - first_sequence(BATCH)
    with pytest.raises(SinkError, match="epoch 64-0 has no number"):
        staged(sink, context, EpochNumber(64), rows)


def test_what_cannot_have_the_column_is_refused(tmp_path: Path) -> None:
    sink = FileSink.parquet(tmp_path)
    with pytest.raises(GraphError, match="it has a field of that name"):
        sink.with_sequence_column("n").check(ROW, None)
    with pytest.raises(GraphError, match="it is no row or tuple"):
        FileSink.json(tmp_path).with_sequence_column("seq").check(Types.STRING(), None)
    with pytest.raises(GraphError, match="is one text, and cannot have a column 'seq'"):
        FileSink.text(tmp_path).with_sequence_column("seq").check(ROW, None)
    with pytest.raises(ArgumentError, match="the name of the sequence column is ''"):
        sink.with_sequence_column("")
    with pytest.raises(ArgumentError, match="is 7"):
        FileSink.for_bulk_format(tmp_path, FileFormat.CSV).with_sequence_column(7)  # type: ignore[arg-type]
