"""Types of the columns of CSV files without a declared type: Spark's, if no text loses anything by them.

    3D    NaN    007    9007199254740993 beside 0.5    10:00    ──▶  text, where Spark has 3.0, NaN, 7, …992.0, today

A job over the files looks at the columns of numbers and times; a column with a text that would not come back is text.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    TimeType,
)

from penstock.connectors.files.file_source import FileSource
from penstock.connectors.spark_source import by_position, column_name
from penstock.spark.sources.file_options import reader_options

_WHOLE = "^(0|-?[1-9][0-9]*)$"
_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_ZERO = r"^-?0(\.0+)?([eE][+-]?[0-9]+)?$"
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MOMENT = rf"^{_DATE}[ T][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}(\.[0-9]{{1,6}})?)?(Z|[+-][0-9]{{2}}:?[0-9]{{2}})?$"
_EXACT_DIGITS = 15
"""Digits of a double that come back, whatever they are."""


def strict_schema(
    session: SparkSession, source: FileSource, path: str, inferred: StructType
) -> StructType:
    """Return the schema that Spark has inferred, with text where a value would lose something."""
    if source.format != "csv" or source.type_info is not None:
        return inferred
    looked_at = [
        (index, _FITS[type(field.dataType)])
        for index, field in enumerate(inferred.fields)
        if type(field.dataType) in _FITS
    ]
    if not looked_at:
        return inferred
    texts = _texts(session, source, path, inferred)
    answers = texts.agg(
        *[
            sf.bool_and(fits(sf.col(column_name(index)))).alias(f"a{index}")
            for index, fits in looked_at
        ]
    ).first()
    assert answers is not None, "an aggregate has a row"
    kept = {index for index, _ in looked_at if answers[f"a{index}"] is not False}
    is_text = {index for index, _ in looked_at} - kept
    return StructType(
        [
            StructField(field.name, StringType()) if index in is_text else field
            for index, field in enumerate(inferred.fields)
        ]
    )


def _texts(session: SparkSession, source: FileSource, path: str, inferred: StructType) -> DataFrame:
    options = {k: v for k, v in reader_options(source).items() if k.lower() != "inferschema"}
    schema = StructType([StructField(name, StringType()) for name in inferred.names])
    frame: DataFrame = by_position(
        session.read.format("csv").options(**options).schema(schema).load(path)
    )
    return frame


def _matches(pattern: str) -> Callable[[Column], Column]:
    return lambda text: text.rlike(pattern)


def _is_exact(text: Column) -> Column:
    """Return whether a text is a number that a double has to the last digit."""
    number = text.try_cast("double")
    digits = sf.length(sf.regexp_replace(text, "[eE].*|[^0-9]", ""))
    wide = "decimal(38, 18)"
    comes_back = text.try_cast(wide) == number.try_cast(wide)
    return (
        text.rlike(_NUMBER)
        & (sf.abs(number) < sf.lit(float("inf")))
        & ((number != 0) | text.rlike(_ZERO))
        & ((digits <= _EXACT_DIGITS) | sf.coalesce(comes_back, sf.lit(False)))  # noqa: FBT003 - a value
    )


_FITS: dict[type[DataType], Callable[[Column], Column]] = {
    IntegerType: _matches(_WHOLE),
    LongType: _matches(_WHOLE),
    DecimalType: _matches(_WHOLE),
    DoubleType: _is_exact,
    DateType: _matches(f"^{_DATE}$"),
    TimestampType: _matches(_MOMENT),
    TimestampNTZType: _matches(_MOMENT),
    TimeType: lambda _: sf.lit(False),  # noqa: FBT003 - `10:00` would come back as `10:00:00`
}
"""Type to the test whether a text may have it; it is not called with None."""
