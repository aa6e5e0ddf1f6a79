"""Checks integers of Parquet and ORC files that are declared narrower than the files have them.

Spark's readers of columns cut them: 40000 is -25536 as `SHORT`. So narrow integers are read as `INT` and checked:

    a SMALLINT, r STRUCT<x TINYINT>  ──widened──▶  a INT, r STRUCT<x INT>  ──narrowed──▶  a SMALLINT, …, or an error
"""

from __future__ import annotations

from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    IntegerType,
    MapType,
    ShortType,
    StructField,
    StructType,
)

_COLUMNAR = frozenset({"parquet", "orc"})
_BITS: dict[type[DataType], int] = {ByteType: 8, ShortType: 16}


def widened(format_name: str, schema: StructType) -> StructType:
    """Return the schema with which files are read: narrow integers are `INT`, if the reader would cut them."""
    return _wide(schema) if format_name in _COLUMNAR else schema  # type: ignore[return-value]


def narrowed(frame: DataFrame, schema: StructType) -> DataFrame:
    """Return rows that were read with `widened`, with the types of a schema."""
    wanted = {field.name: field.dataType for field in schema.fields}
    if all(wanted.get(each.name, each.dataType) == each.dataType for each in frame.schema.fields):
        return frame
    file = frame.metadataColumn("_metadata").getField("file_path")
    columns = []
    for each in frame.schema.fields:
        column, kind = sf.col(_quoted(each.name)), wanted.get(each.name, each.dataType)
        if kind != each.dataType:
            message = sf.concat(
                file, sf.lit(f": field {each.name!r} is out of the range of {kind.simpleString()}: "),
                column.cast("string"),
            )  # fmt: skip
            column = sf.when(_fits(column, kind), column.cast(kind)).otherwise(
                sf.raise_error(message).cast(kind)
            )
        columns.append(column.alias(each.name))
    return frame.select(*columns)


def _wide(kind: DataType) -> DataType:
    if type(kind) in _BITS:
        return IntegerType()
    if isinstance(kind, StructType):
        fields = [StructField(f.name, _wide(f.dataType), f.nullable) for f in kind.fields]
        return StructType(fields)
    if isinstance(kind, ArrayType):
        return ArrayType(_wide(kind.elementType), kind.containsNull)
    if isinstance(kind, MapType):
        return MapType(_wide(kind.keyType), _wide(kind.valueType), kind.valueContainsNull)
    return kind


def _fits(column: Column, kind: DataType) -> Column:
    """Return whether the integers in a column are in the range of a type."""
    bits = _BITS.get(type(kind))
    if bits is not None:
        fits = column.between(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    elif isinstance(kind, StructType):
        inside = [_fits(column.getField(f.name), f.dataType) for f in kind.fields]
        fits = reduce(and_, inside, sf.lit(True))  # noqa: FBT003 - a value
    elif isinstance(kind, ArrayType):
        fits = sf.forall(column, lambda each: _fits(each, kind.elementType))
    elif isinstance(kind, MapType):
        keys = sf.forall(sf.map_keys(column), lambda each: _fits(each, kind.keyType))
        fits = keys & sf.forall(sf.map_values(column), lambda each: _fits(each, kind.valueType))
    else:
        return sf.lit(True)  # noqa: FBT003 - a value
    return column.isNull() | fits


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
