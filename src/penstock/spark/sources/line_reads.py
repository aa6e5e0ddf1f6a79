"""Reads the lines of files with Spark, which finds, splits and decompresses the files; workers make records of the lines.

in/day=7/a.json  ──spark.read.text──▶  line BINARY, file STRING, start LONG  ──LineDecoder──▶  records
                                                                             ──LineColumns──▶  columns for Spark SQL
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType

from penstock.connectors.column_positions import column_name
from penstock.connectors.files.file_source import FileSource
from penstock.connectors.files.lines.decoder import LineDecoder
from penstock.errors import CallSite
from penstock.spark.sources.file_options import reader_options
from penstock.spark.worker.line_columns import LineColumns
from penstock.types import RowTypeInfo
from penstock.types.arrow import arrow_schema

LINES_DDL = "line binary, file string, start bigint"
"""Columns of `lines_of`."""

_OPTIONS = frozenset(
    {"linesep", "recursivefilelookup", "pathglobfilter", "modifiedafter", "modifiedbefore"}
    | {"ignoremissingfiles", "ignorecorruptfiles", "basepath"}
)


def is_read_by_lines(source: Any) -> bool:
    """Return whether workers make the records of a source from lines."""
    return getattr(source, "by_lines", None) is not None


def decoder_of(source: Any, origin: CallSite | None) -> LineDecoder | None:
    """Return what makes records of the lines of a source; None if Spark's reader makes them."""
    form = getattr(source, "by_lines", None)  # other sources than files have none
    return None if form is None else LineDecoder(form, origin)


def line_options(source: FileSource) -> dict[str, str]:
    """Return the options with which Spark reads the lines of a source: those about files and the ends of lines."""
    form = source.by_lines
    whole = {"wholetext": "true"} if form is not None and form.is_whole else {}
    options = reader_options(source).items()
    return {name: value for name, value in options if name.lower() in _OPTIONS} | whole


def lines_of(frame: DataFrame) -> DataFrame:
    """Return the lines of a frame of text, as bytes, with the file and the first byte of the piece they are in."""
    # `_metadata` has both, too. Spark then copies each row twice more, which doubles what it costs to read lines.
    return frame.select(
        sf.col("value").cast("binary").alias("line"),
        sf.input_file_name().alias("file"),
        sf.input_file_block_start().alias("start"),
    )


def columns_of(
    frame: DataFrame, source: Any, origin: CallSite | None, *, only: Sequence[str] | None = None
) -> DataFrame:
    """Return the declared columns of the lines of a source; a frame of columns as it is."""
    lines = decoder_of(source, origin)
    if lines is None:
        return frame
    declared = lines.form.type_info
    known = (
        {}
        if declared is None
        else dict(zip(declared.field_names, declared.field_types, strict=True))
    )
    names = [*known] if only is None else [name for name in only if name in known]
    if not names:
        return frame.select()  # lines of text are values, and have no columns
    fields = RowTypeInfo([known[name] for name in names], names)
    named = from_arrow_schema(arrow_schema(fields), prefer_timestamp_ntz=True)
    schema = StructType(
        [StructField(column_name(at), each.dataType) for at, each in enumerate(named)]
    )
    return frame.mapInArrow(LineColumns(lines, fields), schema).toDF(*names)
