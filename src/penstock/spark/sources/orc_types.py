"""Types of ORC files beside the declared ones: Spark's reader converts what does not fit without a word.

decimal(10,2) 1.50 as BIG_INT ──▶ 2        bigint 2**40 as INT ──▶ None        bigint 5 as BOOLEAN ──▶ True
timestamp 12:00, without a zone ──▶ 12:00 of the zone of the JVM that reads it, which can be another one tomorrow
"""

from __future__ import annotations

import re
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    CharType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from penstock.spark.sources.file_paths import hadoop_path

_DIGITS: dict[type[DataType], int] = {ByteType: 3, ShortType: 5, IntegerType: 10, LongType: 19}
_READ_AS_INT = (ByteType, ShortType, IntegerType)
_TEXTS = (StringType, CharType, VarcharType)
_TIMES = (TimestampType, TimestampNTZType)
_has_local_time = re.compile(r"(^|[<,:])timestamp($|[>,])").search


def misfit(found: StructType, declared: StructType) -> str | None:
    """Return what of a file does not fit its declared columns, None if all does."""
    wanted = {field.name.lower(): field for field in declared.fields}
    for field in found.fields:
        asked = wanted.get(field.name.lower())
        if asked is not None and not fits(field.dataType, asked.dataType):
            told = (
                f"{field.dataType.simpleString()}, and {asked.dataType.simpleString()} is declared"
            )
            return f"column {field.name!r} is {told}"
    return None


def fits(found: DataType, declared: DataType) -> bool:
    """Return whether every value of a type is one of another."""
    if found == declared:
        return True
    if isinstance(declared, ArrayType):
        return isinstance(found, ArrayType) and fits(found.elementType, declared.elementType)
    if isinstance(declared, MapType):
        return (
            isinstance(found, MapType)
            and fits(found.keyType, declared.keyType)
            and fits(found.valueType, declared.valueType)
        )
    if isinstance(declared, StructType):
        return isinstance(found, StructType) and misfit(found, declared) is None
    return _scalar_fits(found, declared)


def _scalar_fits(found: DataType, declared: DataType) -> bool:
    digits = _DIGITS.get(type(found))
    if isinstance(declared, _READ_AS_INT):  # narrow ones are checked behind the reader
        return isinstance(found, _READ_AS_INT)
    if isinstance(declared, LongType):
        return digits is not None
    if isinstance(declared, DoubleType):
        return isinstance(found, (FloatType, *_READ_AS_INT))
    if isinstance(declared, DecimalType):
        before = declared.precision - declared.scale
        if isinstance(found, DecimalType):
            return found.scale <= declared.scale and found.precision - found.scale <= before
        return digits is not None and digits <= before
    return any(
        isinstance(declared, kinds) and isinstance(found, kinds) for kinds in (_TEXTS, _TIMES)
    )


def other_zone(session: SparkSession, uri: str, zone: str, names: frozenset[str]) -> str | None:
    """Return what Spark would read of a file in another zone than one; None if it reads nothing so.

    Args:
        session: Spark.
        uri: The file.
        zone: Name of the zone of a timestamp that has none.
        names: Columns that are read, in lower case; empty if all are.
    """
    jvm: Any = session._jvm  # noqa: SLF001 - Spark has one type for both timestamps of ORC
    conf, path = hadoop_path(session, uri)
    orc, reader = jvm.org.apache.orc, None
    try:
        reader = orc.OrcFile.createReader(path, orc.OrcFile.readerOptions(conf))
        found = reader.getSchema()
        columns = dict(zip(found.getFieldNames(), map(str, found.getChildren()), strict=True))
    except Py4JJavaError:
        return None  # it is damaged: the reader raises the error
    finally:
        if reader is not None:
            reader.close()
    local = [
        name
        for name, kind in columns.items()
        if _has_local_time(kind) and (not names or name.lower() in names)
    ]
    if not local:
        return None
    here = sf.java_method(sf.lit("java.time.ZoneId"), sf.lit("systemDefault"))  # of an executor
    (found_zone,) = session.range(1).select(here).collect()[0]
    zones = jvm.java.time.ZoneId
    if zones.of(found_zone).getRules().equals(zones.of(zone).getRules()):
        return None
    return (
        f"column {local[0]!r} has timestamps without a zone, which Spark reads in that of its "
        f"JVM, {found_zone}, and not in {zone}"
    )
