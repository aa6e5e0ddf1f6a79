"""Reads the user's DataFrames. A live run first writes a batch DataFrame to files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from pyspark.sql import DataFrame

from penstock.config.options import MAX_FILES_PER_BATCH
from penstock.connectors.column_positions import by_position
from penstock.connectors.spark_source import SparkSource
from penstock.spark.sources.file_paths import escaped
from penstock.spark.sources.file_reads import stream_options
from penstock.spark.sources.read_context import ReadContext
from penstock.spark.sources.source_row import Position, ResumedPart, StreamReading


def own_rows(context: ReadContext, source: int, part: int, described: SparkSource) -> DataFrame:
    """Return the rows of a DataFrame."""
    del context, source, part
    frame: DataFrame = described.dataframe
    return frame


def written_rows(context: ReadContext, source: int, part: int, described: SparkSource) -> DataFrame:
    """Return the rows of a batch DataFrame, as a stream of the files it is written to."""
    del part
    return _written(context, source, described.dataframe)


def _written(context: ReadContext, source: int, frame: DataFrame) -> DataFrame:
    """Write a batch DataFrame once and stream the files."""
    target = context.directory / f"dataframe-{source}"
    if source in context.read_frames:
        frame = frame.limit(0)
    names, written = frame.columns, by_position(frame)
    if not (target / "_SUCCESS").exists():
        written.write.mode("overwrite").parquet(str(target))
        schema = written.schema
    else:
        # version 0.1.0 did not rename the columns
        schema = context.session.read.parquet(escaped(target)).schema
    stream = context.session.readStream.schema(schema)
    limit = str(context.configuration.get(MAX_FILES_PER_BATCH))
    options = stream_options(context, source) | {"maxFilesPerTrigger": limit}
    return stream.options(**options).parquet(escaped(target)).toDF(*names)


def has_no_values(part: SparkSource) -> bool:
    """Return False: a record is a row of columns."""
    del part
    return False


def streams_of(part: SparkSource) -> list[Any]:
    """Return the streams of a streaming DataFrame; it may read several, or one twice."""
    leaves = part.dataframe._jdf.queryExecution().analyzed().collectLeaves()  # noqa: SLF001
    found = (leaves.apply(index) for index in range(leaves.size()))
    return [leaf for leaf in found if leaf.isStreaming()]


def position_of_written(reading: StreamReading) -> Position:
    """Return whether rows are left; only the checkpoint directory has the positions."""
    written = reading.run_directory / f"dataframe-{reading.source}"
    names = {path.name for path in written.glob("*.parquet")}
    seen = {unquote(uri).rsplit("/", 1)[-1] for uri in reading.files()}
    return {"rows_left": bool(names - seen)}, {}


def position_of_streams(reading: StreamReading) -> Position:
    """Return the offsets of the user's streams, in Spark's form."""
    first = reading.first_stream
    return {"offsets": reading.offsets[first : first + reading.streams]}, {}


def resume_written(position: Mapping[str, Any]) -> ResumedPart | None:
    """Return that all rows are read, or None: it cannot be resumed."""
    return None if position["rows_left"] else ResumedPart(is_read=True)


def resume_streams(position: Mapping[str, Any]) -> None:
    """Return None: only the user can set the start of their own stream."""
    del position
