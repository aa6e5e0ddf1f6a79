"""The file sink end to end in one process: what is written is what readers find."""

from __future__ import annotations

import csv
import datetime as dt
import json
import os
import pickle
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock import extras
from penstock.connectors.files import file_writers
from penstock.connectors.files.file_formats import SPECS, FileFormat
from penstock.connectors.files.file_sink import FileSink
from penstock.errors import (
    ArgumentError,
    CallSite,
    GraphError,
    MissingConnectorError,
    SinkError,
    TypeMismatchError,
)
from penstock.graph.endpoints import SinkContext
from penstock.types import TypeInformation
from penstock.types.row import Row
from penstock.types.time import Instant
from penstock.types.types import Types

ORIGIN = CallSite("job.py", 41, "build")
NAMED = Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.LONG()])
MakeContext = Callable[..., SinkContext]


def written(sink: FileSink, context: SinkContext, *batches: list[Any]) -> list[Path]:
    """Run one task and commit it; return the visible files."""
    committer = sink.create_committer(context)
    committer.recover()
    writer = sink.create_writer(context)
    for batch in batches:
        writer.write(batch)
    committables = pickle.loads(pickle.dumps(writer.prepare_commit()))
    committer.commit("batch-0", committables)
    return sorted(path for path in Path(str(sink.path)).iterdir() if path.is_file())


def test_every_format_has_a_spec() -> None:
    assert set(SPECS) == set(FileFormat)


RECORDS = st.lists(
    st.lists(
        st.tuples(st.none() | st.text(), st.none() | st.integers(-(2**63), 2**63 - 1)),
        max_size=5,
    ),
    max_size=4,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(batches=RECORDS)
def test_parquet_returns_the_records(
    tmp_path_factory: pytest.TempPathFactory, make_context: MakeContext, batches: Any
) -> None:
    sink = FileSink.parquet(tmp_path_factory.mktemp("out"))
    rows = [[Row(*record) for record in batch] for batch in batches]
    files = written(sink, make_context(NAMED), *rows)
    expected = [{"name": name, "n": n} for batch in batches for name, n in batch]
    assert len(files) == (1 if expected else 0)
    found = [row for path in files for row in pyarrow.parquet.read_table(path).to_pylist()]
    assert found == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(batches=RECORDS)
def test_json_lines_return_the_records(
    tmp_path_factory: pytest.TempPathFactory, make_context: MakeContext, batches: Any
) -> None:
    sink = FileSink.json(tmp_path_factory.mktemp("out"))
    files = written(sink, make_context(NAMED), *batches)
    found = [json.loads(line) for path in files for line in path.read_bytes().split(b"\n")[:-1]]
    assert found == [{"name": name, "n": n} for batch in batches for name, n in batch]


def test_row_groups_are_bounded_and_in_order(
    tmp_path: Path, make_context: MakeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_writers, "ROW_GROUP_ROWS", 10)
    batches = [[("a", start + offset) for offset in range(4)] for start in range(0, 28, 4)]
    (path,) = written(FileSink.parquet(tmp_path / "out"), make_context(NAMED), *batches)
    meta = pyarrow.parquet.read_metadata(path)
    assert [meta.row_group(i).num_rows for i in range(meta.num_row_groups)] == [12, 12, 4]
    assert pyarrow.parquet.read_table(path)["n"].to_pylist() == list(range(28))


def test_row_groups_are_bounded_in_bytes(
    tmp_path: Path, make_context: MakeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_writers, "ROW_GROUP_BYTES", 1000)
    batches = [[("x" * 600, 1)]] * 5
    (path,) = written(FileSink.parquet(tmp_path / "out"), make_context(NAMED), *batches)
    meta = pyarrow.parquet.read_metadata(path)
    assert [meta.row_group(i).num_rows for i in range(meta.num_row_groups)] == [2, 2, 1]


def test_csv_has_a_header_and_tells_null_from_empty(
    tmp_path: Path, make_context: MakeContext
) -> None:
    batches: list[list[Any]] = [[("a,b", 1), ('say "x"', 2)], [(None, 3), ("", None)]]
    (path,) = written(FileSink.csv(tmp_path / "out"), make_context(NAMED), *batches)
    assert path.read_text() == '"name","n"\n"a,b",1\n"say ""x""",2\n,3\n"",\n'
    with path.open(newline="") as file:
        assert [len(row) for row in csv.reader(file)] == [2] * 5
    assert pyarrow.csv.read_csv(path)["n"].to_pylist() == [1, 2, 3, None]


def test_tuple_columns_are_numbered(tmp_path: Path, make_context: MakeContext) -> None:
    pair = Types.TUPLE([Types.STRING(), Types.DOUBLE()])
    (path,) = written(FileSink.csv(tmp_path / "out"), make_context(pair), [("a", 1.5)])
    assert path.read_text() == '"f0","f1"\n"a",1.5\n'


def test_text_is_str_per_line(tmp_path: Path, make_context: MakeContext) -> None:
    (path,) = written(FileSink.text(tmp_path / "out"), make_context(), [1, "zwölf"], [(1, 2)])
    assert path.read_bytes() == "1\nzwölf\n(1, 2)\n".encode()
    assert path.suffix == ".txt"


JSON_LINES: list[tuple[Any, str]] = [
    (1, "1"),
    ("ä\n", '"ä\\n"'),
    (None, "null"),
    (("a", [1, {"b": True}]), '["a",[1,{"b":true}]]'),
    (Row("a", 1), '["a",1]'),
    (Row(a=1, b=Row(c=[Row(d=2)])), '{"a":1,"b":{"c":[{"d":2}]}}'),
    (dt.date(2024, 5, 6), '"2024-05-06"'),
    (dt.datetime(2024, 5, 6, 7, 8, 9), '"2024-05-06T07:08:09"'),  # noqa: DTZ001
    (dt.time(7, 8), '"07:08:00"'),
    (Instant(0, 5), '"1970-01-01T00:00:00.000000005Z"'),
    (Decimal("1.10"), '"1.10"'),
    (b"\xff", '"/w=="'),
]


@pytest.mark.parametrize(("value", "line"), JSON_LINES)
def test_json_form(tmp_path: Path, make_context: MakeContext, value: Any, line: str) -> None:
    (path,) = written(FileSink.json(tmp_path / "out"), make_context(), [value])
    assert path.read_text() == f"{line}\n"


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("make", "bad"),
    [
        (FileSink.json, {1, 2}),
        (FileSink.json, float("nan")),
        (FileSink.json, "\ud800"),
        (FileSink.text, Unprintable()),
    ],
)
def test_record_without_text_is_named_by_index(
    tmp_path: Path, make_context: MakeContext, make: Callable[..., FileSink], bad: Any
) -> None:
    sink = make(tmp_path / "out")
    context = make_context()
    sink.create_committer(context).recover()
    writer = sink.create_writer(context)
    writer.write([0, 1])
    with pytest.raises(SinkError, match="record 3 of subtask 0") as caught:
        writer.write([2, bad, 4])
    assert caught.value.origin == ORIGIN
    writer.abort()
    assert list(Path(str(sink.path)).glob("_penstock/*/*/staging/*")) == []


@pytest.mark.parametrize("make", [FileSink.parquet, FileSink.csv])
def test_record_of_another_type_is_named(
    tmp_path: Path, make_context: MakeContext, make: Callable[..., FileSink]
) -> None:
    sink, context = make(tmp_path / "out"), make_context(NAMED)
    sink.create_committer(context).recover()
    writer = sink.create_writer(context)
    writer.write([("a", 1)])
    with pytest.raises(TypeMismatchError, match=r"sink out: field 'n' of record 1") as caught:
        writer.write([("a", 1), ("b", "two")])
    assert caught.value.origin == ORIGIN
    writer.abort()
    assert list(Path(str(sink.path)).glob("_penstock/*/*/staging/*")) == []


@pytest.mark.parametrize("make", [FileSink.parquet, FileSink.csv, FileSink.json, FileSink.text])
def test_full_disk_is_a_sink_error_and_leaves_nothing(
    tmp_path: Path,
    make_context: MakeContext,
    make: Callable[..., FileSink],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sink, context = make(tmp_path / "out"), make_context(NAMED)
    sink.create_committer(context).recover()
    writer = sink.create_writer(context)
    writer.write([("a", 1)])

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SinkError, match="No space") as caught:
        writer.prepare_commit()
    assert "Free space" in caught.value.hint
    writer.abort()
    assert list(Path(str(sink.path)).glob("_penstock/*/*/staging/*")) == []


@pytest.mark.parametrize("make", [FileSink.parquet, FileSink.csv, FileSink.json, FileSink.text])
def test_device_that_is_full_from_the_start(
    tmp_path: Path,
    make_context: MakeContext,
    make: Callable[..., FileSink],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    sink, context = make(tmp_path / "out"), make_context(NAMED)
    sink.create_committer(context).recover()
    original = Path.open
    monkeypatch.setattr(
        Path, "open", lambda _, mode: original(Path("/dev/full"), mode.replace("x", "w"))
    )
    writer = sink.create_writer(context)

    def run() -> None:
        for _ in range(100):
            writer.write([("a" * 100, 1)] * 100)
        writer.prepare_commit()

    with pytest.raises(SinkError, match="No space"):
        run()
    writer.abort()


def test_writer_without_the_shared_directory_fails(
    tmp_path: Path, make_context: MakeContext
) -> None:
    writer = FileSink.text(tmp_path / "out").create_writer(make_context())
    with pytest.raises(SinkError, match="No such file") as caught:
        writer.write([1])
    assert "share" in caught.value.hint
    writer.abort()


def test_task_without_records_makes_no_file(tmp_path: Path, make_context: MakeContext) -> None:
    assert written(FileSink.parquet(tmp_path / "out"), make_context(NAMED), [], []) == []


LISTS = Types.ROW_NAMED(["xs"], [Types.LIST(Types.LONG())])
PICKLED_FIELD = Types.ROW_NAMED(["x"], [Types.PICKLED_BYTE_ARRAY()])


@pytest.mark.parametrize(
    ("make", "type_info", "message"),
    [
        (FileSink.parquet, Types.PICKLED_BYTE_ARRAY(), "need columns"),
        (FileSink.csv, Types.PICKLED_BYTE_ARRAY(), "need columns"),
        (FileSink.parquet, Types.LONG(), "need columns"),
        (FileSink.parquet, PICKLED_FIELD, "column"),
        (FileSink.csv, LISTS, "'xs'"),
    ],
)
def test_type_that_does_not_fit_is_refused(
    make: Callable[..., FileSink], type_info: TypeInformation, message: str
) -> None:
    with pytest.raises(GraphError, match=message) as caught:
        make("out").check(type_info, ORIGIN)
    assert caught.value.code == "GRAPH"
    assert caught.value.origin == ORIGIN


@pytest.mark.parametrize(
    ("make", "type_info"),
    [
        (FileSink.parquet, NAMED),
        (FileSink.parquet, LISTS),
        (FileSink.csv, NAMED),
        (FileSink.csv, Types.TUPLE([Types.STRING()])),
        (FileSink.json, Types.PICKLED_BYTE_ARRAY()),
        (FileSink.text, Types.PICKLED_BYTE_ARRAY()),
    ],
)
def test_type_that_fits_is_accepted(
    make: Callable[..., FileSink], type_info: TypeInformation
) -> None:
    make("out").check(type_info, ORIGIN)


@pytest.mark.parametrize(
    "path",
    ["", "s3a:/bucket", "HDFS://host/x", "file://host/out", Path("gs://b/o"), Path("s3://b/o")],
)
def test_path_of_another_storage_is_refused(path: str | Path) -> None:
    with pytest.raises(ArgumentError) as caught:
        FileSink.text(path)
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__


def test_paths_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert FileSink.text("a/../out").path == tmp_path / "out"
    assert FileSink.text("file:/x/a%20b") == FileSink.text("file:///x/a%20b")
    assert FileSink.text("file://localhost/x/a%20b").path == Path("/x/a b")


def test_description_survives_pickling() -> None:
    sink = FileSink.parquet("/data/out")
    assert pickle.loads(pickle.dumps(sink)) == sink
    assert sink.describe() == "parquet files in /data/out"


def test_a_path_of_s3_is_the_same_under_each_of_its_schemes() -> None:
    sink = FileSink.parquet("s3a://sales/out/")
    assert sink == FileSink.parquet("s3://sales/out")
    assert pickle.loads(pickle.dumps(sink)) == sink
    assert sink.describe() == "parquet files in s3://sales/out"
    numbered = sink.with_sequence_column("seq")
    assert (numbered.path, numbered.sequence_column) == (sink.path, "seq")


def test_s3_without_its_library_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    with pytest.raises(MissingConnectorError, match="botocore") as caught:
        FileSink.text("s3://sales/out")
    assert "pip install 'botocore>=" in caught.value.hint
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__
