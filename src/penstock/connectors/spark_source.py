"""A source over any Spark DataFrame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.connectors.column_positions import repeated
from penstock.errors import ArgumentError
from penstock.graph.endpoints import Source
from penstock.types import TypeInformation, Types

_TYPES = {
    "string": Types.STRING,
    "boolean": Types.BOOLEAN,
    "byte": Types.BYTE,
    "short": Types.SHORT,
    "integer": Types.INT,
    "long": Types.LONG,
    "float": Types.FLOAT,
    "double": Types.DOUBLE,
    "date": Types.SQL_DATE,
    "timestamp": Types.TIMESTAMP_LTZ,
    "timestamp_ntz": Types.SQL_TIMESTAMP,
}
"""Spark's type names to types; a column of another type makes the whole row untyped."""


@dataclass(frozen=True, slots=True, eq=False)
class SparkSource(Source):
    """Reads the rows of a DataFrame as `Row`s with its column names.

    A batch DataFrame is bounded; a streaming one never ends and can only be read live. A live run
    first writes the rows to the checkpoint directory: of a batch DataFrame because Spark cannot read
    it in steps, of a stream each micro-batch of its own.

    Attributes:
        dataframe: A `pyspark.sql.DataFrame` of the session the job runs in.

    Example:
        >>> source = SparkSource(spark.range(3))  # doctest: +SKIP
        >>> source.describe()  # doctest: +SKIP
        'a DataFrame of id'
    """

    kind: ClassVar[str] = "dataframe"
    makes_records_anew: ClassVar[bool] = True
    is_written_first: ClassVar[bool] = True
    dataframe: Any

    def __post_init__(self) -> None:
        """Check the argument.

        Raises:
            ArgumentError: It is not a DataFrame.
        """
        if not hasattr(self.dataframe, "mapInArrow"):
            raise ArgumentError.here(
                f"{self.dataframe!r} is not a Spark DataFrame",
                hint="Pass what spark.read or spark.readStream returned.",
            )

    @property
    def is_bounded(self) -> bool:
        """True if the DataFrame is a batch one."""
        return not self.dataframe.isStreaming

    @property
    def unprojected_because(self) -> None:
        """No reason, because its rows are columns."""
        return

    @property
    def read_in_epochs_by(self) -> str:  # type: ignore[override]
        """Reader of the source in a live run, in words."""
        writer = "it" if self.is_bounded else "each micro-batch of it"
        return f"Spark's reader, from files that {writer} is written to first"

    def get_produced_type(self) -> TypeInformation:
        """Return a row type of the columns, unknown if a column has no simple type.

        Raises:
            ArgumentError: Two columns have one name.
        """
        fields = self.dataframe.schema.jsonValue()["fields"]
        names = [spark_field["name"] for spark_field in fields]
        twice = repeated(names)
        if twice is not None:
            raise ArgumentError.here(
                f"the DataFrame has two columns called {twice!r}, and a row would have one of them",
                hint="Rename one with toDF, or choose the columns with select.",
            )
        kinds = [spark_field["type"] for spark_field in fields]
        if not all(isinstance(kind, str) and kind in _TYPES for kind in kinds):
            return Types.PICKLED_BYTE_ARRAY()
        return Types.ROW_NAMED(names, [_TYPES[kind]() for kind in kinds])

    def describe(self) -> str:
        """Return the column names."""
        stream = "streaming " if self.dataframe.isStreaming else ""
        return f"a {stream}DataFrame of {', '.join(self.dataframe.columns)}"
