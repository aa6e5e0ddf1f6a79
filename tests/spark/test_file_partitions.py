"""Output that is divided by columns, on Spark: once whatever fails, and Spark reads the columns from the paths."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow.dataset import dataset
from pyspark.sql import SparkSession

from penstock.common import Types, WatermarkStrategy
from penstock.datastream.connectors import (
    BucketAssigner,
    FileSink,
    HybridSource,
    NumberSequenceSource,
)
from penstock.datastream.connectors.file_system import FileFormat
from tests.spark.conftest import Environment, Failures

ROW = Types.ROW_NAMED(["text", "small", "n"], [Types.STRING(), Types.INT(), Types.LONG()])
TEXTS = ["DE", "a/b", "x=y", "50% off", "ü ä", "*?[a]{b}^", "\\", '"', None]
COUNT = 400


@pytest.mark.parametrize("mode", ["batch", "streaming", "mixed"])
def test_records_are_in_their_directories_once_whatever_fails(
    environment: Environment, session: SparkSession, tmp_path: Path, failures: Failures, mode: str
) -> None:
    out = tmp_path / "out"
    nth = 1 if mode == "batch" else 2
    steps = ("manifest-written", "renamed-first", "committed")
    settings = failures.at(*(f"sink.{step}:{nth}:raise" for step in steps))
    settings["execution.live.max-records-per-batch"] = 50
    builder = FileSink.for_bulk_format(out, FileFormat.PARQUET)
    sink = builder.with_bucket_assigner(BucketAssigner.by_columns("text", "small")).build()
    env = environment(mode, **settings)
    first = NumberSequenceSource(0, COUNT // 2 - 1)
    rest = NumberSequenceSource(COUNT // 2, COUNT - 1)
    numbers = env.from_source(
        HybridSource.builder(first).add_source(rest).build(), WatermarkStrategy.no_watermarks(), "n"
    )
    numbers.map(lambda n: (TEXTS[n % len(TEXTS)], n % 3, n), ROW).sink_to(sink).uid("out")
    env.execute("parts")
    failures.check_all_happened()
    wanted = [(TEXTS[n % len(TEXTS)], n % 3, n) for n in range(COUNT)]
    rows = session.read.parquet(str(out)).select("text", "small", "n").collect()
    assert sorted(map(tuple, rows), key=lambda row: row[2]) == wanted
    assert len(dataset(out, partitioning="hive", exclude_invalid_files=True).to_table()) == COUNT
