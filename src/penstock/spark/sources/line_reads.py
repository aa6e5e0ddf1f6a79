"""Reads the lines of files, of which workers make records. Spark finds the files; local ones are read by workers, others by Spark.

in/day=7/a.json     ──pieces_of────────▶  NULL, file, start, end        ──LineDecoder──▶  records
in/day=7/a.json.gz  ──spark.read.text──▶  line, file, start, NULL       ──LineColumns──▶  columns for Spark SQL

Reading lines in the JVM and handing them to a worker costs more than decoding them. Where a worker can open
the files, Spark only decides which task reads which piece. Spark reads files of object stores, compressed ones,
and those with a checksum of Hadoop beside them, which it checks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from pyspark.accumulators import Accumulator
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType

from penstock.connectors.files.file_source import FileSource
from penstock.connectors.files.lines.decoder import LineDecoder
from penstock.connectors.spark_source import column_name
from penstock.errors import CallSite
from penstock.spark.sources.file_options import reader_options
from penstock.spark.sources.file_paths import load_path, local_file, plain
from penstock.spark.worker.line_columns import LineColumns
from penstock.types import RowTypeInfo
from penstock.types.arrow import arrow_schema

LINES_DDL = "line binary, file string, start bigint, end bigint"
"""Columns of lines: a line, or a piece of a file whose lines the worker reads."""

LINES_NAMES = [column.split()[0] for column in LINES_DDL.split(", ")]

_OPTIONS = frozenset(
    {"linesep", "recursivefilelookup", "pathglobfilter", "modifiedafter", "modifiedbefore"}
    | {"ignoremissingfiles", "ignorecorruptfiles", "basepath"}
)


def is_read_by_lines(source: Any) -> bool:
    """Return whether workers make the records of a source from lines."""
    return getattr(source, "by_lines", None) is not None


def decoder_of(
    source: Any, origin: CallSite | None, read: Accumulator[int] | None = None
) -> LineDecoder | None:
    """Return the decoder of the lines of a source; None if Spark's reader makes them."""
    form = getattr(source, "by_lines", None)  # other sources than files have none
    if form is None:
        return None
    return LineDecoder(form, origin, None if read is None else read.add)


def line_options(source: FileSource) -> dict[str, str]:
    """Return the options with which Spark reads the lines of a source: those about files and the ends of lines."""
    form = source.by_lines
    whole = {"wholetext": "true"} if form is not None and form.is_whole else {}
    options = reader_options(source).items()
    return {name: value for name, value in options if name.lower() in _OPTIONS} | whole


def lines_of_files(session: SparkSession, source: FileSource, uris: Sequence[str]) -> DataFrame:
    """Return the lines of files of a source that is read by lines, or the pieces with them."""
    sizes = sizes_of_local(session, source, uris)
    if sizes is not None:
        return pieces_of(session, sizes)
    frame_reader = session.read.format("text").options(**line_options(source))
    return lines_of(frame_reader.load([load_path(uri) for uri in uris]))


def lines_of(frame: DataFrame) -> DataFrame:
    """Return the lines of a frame of text, as bytes, with the file and the first byte of the piece they are in."""
    # `_metadata` has both, too. Spark then copies each row twice more, which doubles what it costs to read lines.
    return frame.select(
        sf.col("value").cast("binary").alias("line"),
        sf.input_file_name().alias("file"),
        sf.input_file_block_start().alias("start"),
        sf.lit(None).cast("bigint").alias("end"),
    )


def columns_of(
    frame: DataFrame,
    source: Any,
    origin: CallSite | None,
    read: Accumulator[int] | None = None,
    *,
    only: Sequence[str] | None = None,
) -> DataFrame:
    """Return the declared columns of the lines of a source, or some of them; a frame of columns as it is."""
    lines = decoder_of(source, origin, read)
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
        [StructField(column_name(position), field.dataType) for position, field in enumerate(named)]
    )
    return frame.mapInArrow(LineColumns(lines, fields), schema).toDF(*names)


_PLAIN = frozenset({"", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".txt", ".log"})
"""Suffixes that no compression has; Hadoop is called for others."""

_OF_SPARK = frozenset({"linesep", "ignoremissingfiles", "ignorecorruptfiles"})
_FILES_DDL = "array<struct<file: string, start: bigint, end: bigint>>"


def sizes_of_local(
    session: SparkSession, source: FileSource, uris: Sequence[str]
) -> dict[str, int] | None:
    """Return the sizes of files whose lines workers read; None if Spark reads those of a file."""
    form = source.by_lines
    if form is None or form.is_whole or _OF_SPARK & set(map(str.lower, source.options)):
        return None
    suffixes = {PurePosixPath(plain(uri)).suffix for uri in uris}
    if any(_is_compressed(session, suffix) for suffix in suffixes - _PLAIN):
        return None
    sizes = {}
    for uri in uris:
        local = local_file(uri)
        if local is None or not local.is_absolute() or ":" in str(local):
            return None  # a colon is refused, as Hadoop cannot name the file
        try:
            sizes[uri] = local.stat().st_size
            if local.with_name(f".{local.name}.crc").exists():
                return None
        except OSError:
            return None  # Spark's reader has the error
    return sizes


def _is_compressed(session: SparkSession, suffix: str) -> bool:
    jvm: Any = session._jvm  # noqa: SLF001 - no public way to Hadoop's compressions
    java_session: Any = session._jsparkSession  # noqa: SLF001
    hadoop = jvm.org.apache.hadoop
    known = hadoop.io.compress.CompressionCodecFactory(java_session.sessionState().newHadoopConf())
    return known.getCodec(hadoop.fs.Path(f"/x{suffix}")) is not None


def pieces_of(session: SparkSession, sizes: Mapping[str, int]) -> DataFrame:
    """Return the pieces of local files as `LINES_DDL` has them, in as many tasks as Spark would read them."""
    jvm: Any = session._jvm  # noqa: SLF001 - a list of Python would take a worker to make its rows
    java_session: Any = session._jsparkSession  # noqa: SLF001
    java_context: Any = session.sparkContext._jsc  # noqa: SLF001
    conf = java_session.sessionState().conf()
    tasks = jvm.java.util.ArrayList()
    for task in _tasks(_limits(java_session, conf), sizes):
        tasks.add(json.dumps(task))
    rows = java_context.parallelize(tasks, max(len(tasks), 1)).rdd()
    encoder = jvm.org.apache.spark.sql.Encoders.STRING()
    frame = DataFrame(java_session.createDataset(rows, encoder).toDF(), session)
    if sum(sizes.values()) <= conf.autoBroadcastJoinThreshold():
        frame = frame.hint("broadcast")  # Spark has no size of these rows, and takes the greatest
    pieces = frame.select(sf.inline(sf.from_json("value", _FILES_DDL)))
    line = sf.lit(None).cast("binary").alias("line")
    return pieces.select(line, "file", "start", "end")


def _limits(java_session: Any, conf: Any) -> tuple[int, int, int]:
    least = conf.filesMinPartitionNum()
    tasks = java_session.leafNodeDefaultParallelism() if least.isEmpty() else least.get()
    return conf.filesMaxPartitionBytes(), conf.filesOpenCostInBytes(), tasks


def _tasks(limits: tuple[int, int, int], sizes: Mapping[str, int]) -> list[list[dict[str, Any]]]:
    """Return the pieces that each task reads. The rules are those of Spark's `FilePartition`."""
    most, cost, tasks = limits
    total = sum(size + cost for size in sizes.values())
    longest = max(min(most, max(cost, total // tasks)), 1)
    pieces = [
        (uri, start, min(start + longest, size))
        for uri, size in sizes.items()
        for start in range(0, size, longest)
    ]
    piece_lists: list[list[dict[str, Any]]] = []
    room = 0
    for file, start, end in sorted(pieces, key=lambda piece: piece[1] - piece[2]):
        if not piece_lists or room < end - start:
            piece_lists.append([])
            room = longest
        room -= end - start + cost
        piece_lists[-1].append({"file": file, "start": start, "end": end})
    return piece_lists
