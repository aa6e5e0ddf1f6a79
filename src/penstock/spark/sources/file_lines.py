"""Numbers of lines of a file, and short texts of lines for messages."""

from __future__ import annotations

from pyspark.sql import DataFrame, DataFrameReader
from pyspark.sql import functions as sf

from penstock.connectors.column_positions import by_position, column_name

_MOST_CHARACTERS = 200


def numbered_lines(reader: DataFrameReader, path: str) -> DataFrame:
    """Return the lines of a file for `line_number`."""
    lines: DataFrame = by_position(reader.text(path))
    return lines.select(
        sf.col(column_name(0)).alias("line"),
        sf.spark_partition_id().alias("task"),
        sf.monotonically_increasing_id().alias("place"),
    )


def line_number(lines: DataFrame, text: str) -> int | None:
    """Return the number of the first line that is `text`, from 1."""
    found = lines.where(sf.col("line") == text).orderBy("place").limit(1).collect()
    if not found:
        return None
    # The id consists of the number of the task and that of the line within it.
    task, place = found[0]["task"], found[0]["place"]
    before = lines.where(sf.col("task") < task).count() if task else 0
    return int(before) + (int(place) & ((1 << 33) - 1)) + 1


def shortened(text: str) -> str:
    """Return text, cut if it is too long for a message."""
    return text if len(text) <= _MOST_CHARACTERS else text[:_MOST_CHARACTERS] + "…"
