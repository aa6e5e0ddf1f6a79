"""A source over any Spark DataFrame, and the columns of a DataFrame by position, whatever their names.

Spark parses every name: `a.b` is the field `b` of a struct `a` if there is one, `*` is all columns,
`_metadata` may be the file of a row. Two columns may have the same name, or names that differ only
by case. Escaping the names that we write would not be enough, because `DataFrame.mapInArrow`
resolves the names of all columns again. Renaming by position resolves no name: this module gives all
columns new names for Spark, and workers restore the original names. Plain names need no new ones, where
only Spark's own functions read the columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.errors import ArgumentError
from penstock.graph.endpoints import Source
from penstock.types import RowTypeInfo, TypeInformation, Types

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
"""A name that Spark reads as it is, and that no hidden column has."""


def column_name(position: int) -> str:
    """Return the name of a column in a frame of `by_position`."""
    return f"c{position}"


def by_position(dataframe: Any) -> Any:
    """Return a Spark DataFrame whose columns are called `c0`, `c1`, … in their order."""
    return dataframe.toDF(*map(column_name, range(len(dataframe.columns))))


def by_plain_name(dataframe: Any) -> Any:
    """Return a Spark DataFrame each of whose columns its name denotes: the same one, or that of `by_position`.

    To rename columns is a plan that Spark analyses.
    """
    names = dataframe.columns
    is_plain = all(map(_PLAIN.fullmatch, names)) and len({*map(str.lower, names)}) == len(names)
    return dataframe if is_plain else by_position(dataframe)


def chosen(dataframe: Any, names: Sequence[str]) -> Any:
    """Return the columns with exactly these names, in this order."""
    columns = list(dataframe.columns)
    positions = map(columns.index, names)
    return by_position(dataframe).select(*map(column_name, positions)).toDF(*names)


def repeated(names: Iterable[str]) -> str | None:
    """Return a name that occurs twice, None if there is none."""
    known: set[str] = set()
    for name in names:
        if name in known:
            return name
        known.add(name)
    return None


def case_twins(type_info: RowTypeInfo) -> tuple[str, str] | None:
    """Return two field names of a row, or of a row in it, that differ only by case.

    Examples:
        >>> from penstock.types import Types
        >>> case_twins(Types.ROW_NAMED(["id", "Id"], [Types.INT(), Types.INT()]))
        ('id', 'Id')
    """
    known: dict[str, str] = {}
    for name in type_info.get_field_names():
        before = known.setdefault(name.lower(), name)
        if before != name:
            return before, name
    inside = (case_twins(f) for f in type_info.get_field_types() if isinstance(f, RowTypeInfo))
    return next(filter(None, inside), None)


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
        """Check the argument."""
        if not hasattr(self.dataframe, "mapInArrow"):
            raise ArgumentError.here(
                f"{self.dataframe!r} is not a Spark DataFrame",
                hint="Pass a DataFrame of spark.read or spark.readStream.",
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
                f"the DataFrame has two columns called {twice!r}, but names of columns must differ",
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
