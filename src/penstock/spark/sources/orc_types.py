"""Types of ORC files beside the declared ones: Spark's reader converts what does not fit without a word.

decimal(10,2) 1.50 as BIG_INT ──▶ 2        bigint 2**40 as INT ──▶ None        bigint 5 as BOOLEAN ──▶ True
"""

from __future__ import annotations

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

_DIGITS: dict[type[DataType], int] = {ByteType: 3, ShortType: 5, IntegerType: 10, LongType: 19}
_READ_AS_INT = (ByteType, ShortType, IntegerType)
_TEXTS = (StringType, CharType, VarcharType)
_TIMES = (TimestampType, TimestampNTZType)


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
