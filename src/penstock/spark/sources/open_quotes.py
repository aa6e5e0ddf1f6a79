"""Check of CSV files for values with an open quote, which Spark's parser reads as if it were closed.

    1,"open        the value `open`, with any mode, columnNameOfCorruptRecord or
                   unescapedQuoteHandling: the parser gets one line, and treats
                   the end of the line like the closing quote

So a Spark job checks the lines as text: Spark reads files of any file system and decompresses them. If
the quote of another value than the last is open, the parser itself finds the next quote in a wrong
position. The module also has line numbers of a file, and short texts of lines for messages.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from penstock.connectors.files.file_source import FileSource
from penstock.connectors.spark_source import by_position, column_name
from penstock.spark.sources.file_options import reader_options
from penstock.spark.sources.file_paths import load_path, plain

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
    rows = lines.where(sf.col("line") == text).orderBy("place").limit(1).collect()
    if not rows:
        return None
    # The id consists of the number of the task and that of the line within it.
    task, place = rows[0]["task"], rows[0]["place"]
    before = lines.where(sf.col("task") < task).count() if task else 0
    return int(before) + (int(place) & ((1 << 33) - 1)) + 1


def shortened(text: str) -> str:
    """Return text, cut if it is too long for a message."""
    return text if len(text) <= _MOST_CHARACTERS else text[:_MOST_CHARACTERS] + "…"


_WIDE = re.compile(r"utf-?(16|32)", re.IGNORECASE)
"""Encodings in which a quote is several bytes; the lines are read as UTF-8."""


def looks_for_open_quotes(source: FileSource) -> bool:
    """Return whether lines of a source are checked: those of CSV, if a bad record is an error."""
    return source.format == "csv" and _pattern(source) is not None


def open_quote(
    session: SparkSession, source: FileSource, schema: StructType, uris: Sequence[str]
) -> str | None:
    """Return file, line, field and value of a line that ends within a quoted value; None if there is none."""
    pattern = _pattern(source)
    if pattern is None or not uris:
        return None
    lower_case = _lower_case(source)
    reader = session.read.option("recursiveFileLookup", "true")  # without partition columns
    if "linesep" in lower_case:
        reader = reader.option("lineSep", lower_case["linesep"])
    value = sf.col(column_name(0))
    lines = by_position(
        reader.text(list(map(load_path, uris))).select("value", "_metadata.file_path")
    )
    rows = (
        lines.where(value.contains(lower_case["quote"]) & value.rlike(pattern)).limit(1).collect()
    )
    if not rows:
        return None
    text, path = rows[0]
    uri = next((uri for uri in uris if plain(uri) == plain(path)), path)
    number = line_number(numbered_lines(reader, load_path(uri)), text)
    cells = next(csv.reader([text], delimiter=lower_case["sep"], quotechar=lower_case["quote"]))
    of_file = [item.name for item in schema.fields if f"/{item.name}=" not in uri]
    name = repr(of_file[len(cells) - 1]) if len(cells) <= len(of_file) else str(len(cells))
    place = uri if number is None else f"{uri}, line {number}"
    return (
        f"{place}: field {name} has the value {shortened(repr(lower_case['quote'] + cells[-1]))}, whose quote is "
        "left open"
    )


def _lower_case(source: FileSource) -> dict[str, str]:
    lower_case = {name.lower(): value for name, value in reader_options(source).items()}
    separator = lower_case.get("sep", lower_case.get("delimiter", ","))
    return (
        {"quote": '"', "escape": "\\", "encoding": "utf-8"}
        | lower_case
        | {"sep": separator.replace("\\t", "\t")}
    )


def _pattern(source: FileSource) -> str | None:
    r"""Return the pattern of lines whose last value has an open quote; None if lines are not checked.

    A value begins with a quote or is not quoted; inside quotes an escaped quote is text. All repetitions
    are possessive: without backtracking Java's stack does not grow with the length of a value.
    """
    lower_case = _lower_case(source)
    marks = [lower_case[name] for name in ("sep", "quote", "escape")]
    if (
        lower_case["mode"].upper() != "FAILFAST"
        or lower_case.get("multiline", "").lower() == "true"
    ):
        return None
    if any(len(mark) != 1 for mark in marks) or _WIDE.match(
        lower_case.get("charset", lower_case["encoding"])
    ):
        return None
    separator, quote, escape = map(re.escape, marks)
    pair = quote + quote if escape == quote else escape + "."
    begun = rf"{quote}[^{quote}{escape}]*+(?:{pair}[^{quote}{escape}]*+)*+"
    if lower_case.get("ignoreleadingwhitespace", "").lower() == "true":
        begun = rf"[ \t]*+{begun}"
    value = rf"(?:{begun}{quote}[ \t]*+|[^{quote}{separator}][^{separator}]*+|)"
    comment = rf"(?!{re.escape(lower_case['comment'])})" if lower_case.get("comment") else ""
    return rf"^{comment}(?:{value}{separator})*+{begun}$"
