"""PyFlink's builders of file sources and sinks, and names of files."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Duration, Encoder, Types
from penstock.connectors.absent import INSTEAD
from penstock.connectors.files.file_naming import BucketAssigner
from penstock.datastream.connectors.file_system import (
    FileFormat,
    FileSink,
    FileSource,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
)
from penstock.datastream.formats.csv import CsvReaderFormat, CsvSchema
from penstock.errors import ArgumentError, MissingConnectorError
from tests.connectors.conftest import MakeContext


def write(sink: FileSink, make_context: MakeContext, values: list[Any], kind: Any = None) -> None:
    context = make_context(kind)
    committer = sink.create_committer(context)
    committer.recover()
    writer = sink.create_writer(context)
    writer.write(values)
    committer.commit("e1", writer.prepare_commit())


def visible(base: Path) -> list[Path]:
    found = (path.relative_to(base) for path in base.rglob("*") if path.is_file())
    return [path for path in found if path.parts[0] != "_penstock"]


def test_names_and_buckets_are_those_asked_for(tmp_path: Path, make_context: MakeContext) -> None:
    config = OutputFileConfig.builder().with_part_prefix("prefix").with_part_suffix(".ext").build()
    sink = (
        FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder())
        .with_output_file_config(config)
        .with_bucket_assigner(BucketAssigner.date_time_bucket_assigner("yyyy/'of'"))
        .with_rolling_policy(RollingPolicy.default_rolling_policy())
        .build()
    )
    write(sink, make_context, [("a", 1), "b"])
    (path,) = visible(tmp_path)
    assert path.match("20[0-9][0-9]/of/prefix-*.ext")
    assert (tmp_path / path).read_text() == "('a', 1)\nb\n"


def test_a_bucket_per_hour_is_the_default_as_in_flink(
    tmp_path: Path, make_context: MakeContext
) -> None:
    write(FileSink.for_row_format(tmp_path).build(), make_context, ["x"])
    (path,) = visible(tmp_path)
    assert path.match("20[0-9][0-9]-[01][0-9]-[0-3][0-9]--[0-2][0-9]/part-*")
    assert path.suffix == ""


def test_lines_look_as_print_shows_them(tmp_path: Path, make_context: MakeContext) -> None:
    kind = Types.ROW([Types.STRING(), Types.BOOLEAN()])
    flat = BucketAssigner.base_path_bucket_assigner()
    sink = FileSink.for_row_format(tmp_path).with_bucket_assigner(flat).build()
    write(sink, make_context, [kind.coerce(("a", True))], kind)
    (path,) = visible(tmp_path)
    assert (tmp_path / path).read_text() == "+I[a,true]\n"


def test_an_epoch_that_is_committed_again_stays_in_its_bucket(
    tmp_path: Path, make_context: MakeContext
) -> None:
    sink = FileSink.for_row_format(tmp_path).build()
    context = make_context()
    write(sink, make_context, ["x"])
    again = sink.create_writer(context)
    again.write(["other"])
    committer = sink.create_committer(context)
    committer.commit("e1", again.prepare_commit())
    committer.recover()
    (path,) = visible(tmp_path)
    assert (tmp_path / path).read_text() == "x\n"


def test_bulk_formats_are_named_by_their_format(tmp_path: Path) -> None:
    sink = FileSink.for_bulk_format(tmp_path, FileFormat.PARQUET).build()
    assert sink.format is FileFormat.PARQUET


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: FileSink.for_row_format("x", 3),  # type: ignore[arg-type]
        lambda: FileSink.for_row_format("x").with_output_file_config("p"),  # type: ignore[arg-type]
        lambda: FileSink.for_row_format("x").with_rolling_policy(None),  # type: ignore[arg-type]
        lambda: OutputFileConfig.builder().with_part_prefix("a/b"),
        lambda: OutputFileConfig.builder().with_part_prefix("_a"),
        lambda: BucketAssigner.date_time_bucket_assigner("yyyy-ww"),
        lambda: BucketAssigner.date_time_bucket_assigner("yyyy", "No/Where"),
        lambda: Encoder.simple_string_encoder("latin1"),
        lambda: StreamFormat.text_line_format("latin1"),
        lambda: FileSource.for_record_stream_format(StreamFormat.text_line_format()),
        lambda: FileSource.for_record_stream_format("text", "x"),  # type: ignore[arg-type]
        lambda: CsvSchema.builder().build(),
    ],
)
def test_wrong_arguments(wrong: Any) -> None:
    with pytest.raises(ArgumentError):
        wrong()


def test_text_sources(tmp_path: Path) -> None:
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    assert builder.process_static_file_set().build().is_bounded
    watching = builder.monitor_continuously(Duration.of_seconds(1)).build()
    assert watching.describe().endswith(" as they appear")
    assert not watching.is_bounded
    assert watching.discovery_seconds == 1.0
    assert watching.get_produced_type() == Types.STRING()


@pytest.mark.parametrize("interval", [1, -1.5, "1 s", Duration.of_millis(-1)])
def test_an_interval_that_is_none_is_refused(interval: Any) -> None:
    with pytest.raises(ArgumentError, match="discovery interval"):
        FileSource.text("/in").monitor_continuously(interval)


def test_several_paths_are_one_glob() -> None:
    text = StreamFormat.text_line_format()
    source = FileSource.for_record_stream_format(text, "/data/x/a", "/data/xy", "/data/b").build()
    assert source.path == "/data/{x/a,xy,b}"


def test_csv_columns_are_the_type_of_the_rows() -> None:
    schema = CsvSchema.builder().add_string_column("s").add_number_column("n").build()
    source = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), "/x").build()
    assert source.get_produced_type() == Types.ROW_NAMED(["s", "n"], [Types.STRING(), Types.LONG()])
    assert len(schema) == 2


@pytest.mark.parametrize("module", sorted(INSTEAD.keys() - {"kafka"}))
def test_connectors_that_are_missing_say_what_to_use(module: str) -> None:
    inside = module if module.startswith("formats.") else f"connectors.{module}"
    found = importlib.import_module(f"penstock.datastream.{inside}")
    with pytest.raises(MissingConnectorError) as caught:
        _ = found.KafkaSource
    assert isinstance(caught.value, ImportError)
    assert INSTEAD[module] in str(caught.value)


def test_a_time_of_day_that_spark_does_not_read_is_refused() -> None:
    row = Types.ROW_NAMED(["a"], [Types.LIST(Types.SQL_TIME())])
    with pytest.raises(ArgumentError, match="which Spark reads only from Parquet"):
        FileSource("in", "orc", row)
    assert FileSource.parquet("in", row).type_info is row
    assert FileSource.json("in", row).by_lines is not None
