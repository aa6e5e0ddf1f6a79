"""Reads the user's DataFrames. A live run first writes a batch DataFrame to files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.config.options import MAX_FILES_PER_BATCH
from penstock.connectors.column_positions import by_position
from penstock.connectors.spark_source import SparkSource
from penstock.spark.sources.file_paths import escaped, load_path, uri_of
from penstock.spark.sources.file_reads import stream_options
from penstock.spark.sources.listing.file_readings import FileReading
from penstock.spark.sources.listing.local_listing import list_local
from penstock.spark.sources.read_context import ReadContext
from penstock.spark.sources.source_row import LoopContext, Position, ResumedPart, StreamReading


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
    schema = _write(context.session, target, frame, is_read=source in context.read_frames)
    stream = context.session.readStream.schema(schema)
    limit = str(context.configuration.get(MAX_FILES_PER_BATCH))
    options = stream_options(context, source) | {"maxFilesPerTrigger": limit}
    return stream.options(**options).parquet(escaped(target)).toDF(*frame.columns)


def _write(session: SparkSession, target: Path, frame: DataFrame, *, is_read: bool) -> StructType:
    """Write a batch DataFrame, unless that is done; return the schema of the files.

    Args:
        session: Spark.
        target: Directory of the files.
        frame: The DataFrame.
        is_read: Whether its rows were read before the job began.
    """
    written = by_position(frame.limit(0) if is_read else frame)
    if not (target / "_SUCCESS").exists():
        written.write.mode("overwrite").parquet(str(target))
        schema: StructType = written.schema
        return schema
    # version 0.1.0 did not rename the columns
    return session.read.parquet(escaped(target)).schema


def _files(target: Path) -> dict[str, tuple[int, int]]:
    """Return the files of a written DataFrame, in the order of their names, which is that of its rows."""
    found = sorted(list_local([str(target)]), key=lambda each: each[1])
    return {uri_of(name): (size, time_ms) for time_ms, name, size in found}


def written_reading(context: LoopContext, part: SparkSource) -> FileReading:
    """Begin to read the files to which a batch DataFrame is written."""
    target = context.directory / f"dataframe-{context.source}"
    _write(context.session, target, part.dataframe, is_read=context.is_read)
    files = _files(target)
    return context.pinned_reading(files, list(files))


def written_schema(
    context: ReadContext,
    source: int,
    part: int,
    described: SparkSource,
    uris: Sequence[str],
    first: int,
) -> StructType:
    """Return the schema of the files to which a batch DataFrame was written."""
    del part, uris, first
    target = context.directory / f"dataframe-{source}"
    is_read = source in context.read_frames
    return _write(context.session, target, described.dataframe, is_read=is_read)


def rows_written(
    context: ReadContext, described: SparkSource, schema: StructType, uris: Sequence[str]
) -> DataFrame:
    """Return the rows of some of these files."""
    frame = context.session.read.schema(schema).parquet(*map(load_path, uris))
    return frame.toDF(*described.dataframe.columns)


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
    position = reading.position_in_loop()
    if position is not None:
        return {"rows_left": position < len(_files(written))}, {}
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
