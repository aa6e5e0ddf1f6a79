"""`Types`, the factories of type information, with PyFlink's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal

from penstock.types.base import TypeInformation
from penstock.types.containers import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
)
from penstock.types.records import RowTypeInfo, TupleTypeInfo
from penstock.types.scalars import BasicTypeInfo, PickledBytesTypeInfo
from penstock.types.time import Instant


class Types:
    """One factory per type.

    >>> Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
    Row(name: String, age: Integer)
    >>> Types.TUPLE([Types.BYTE(), Types.SHORT(), Types.LONG(), Types.FLOAT(), Types.DOUBLE()])
    Tuple(Byte, Short, Long, Float, Double)
    >>> Types.ROW([Types.CHAR(), Types.BIG_INT(), Types.BIG_DEC(), Types.BOOLEAN()])
    Row(f0: Char, f1: BigInteger, f2: BigDecimal, f3: Boolean)
    >>> Types.ROW([Types.INSTANT(), Types.TIMESTAMP_LTZ(), Types.SQL_TIMESTAMP()])
    Row(f0: Instant, f1: TimestampLtz, f2: SqlTimestamp)
    >>> Types.MAP(Types.SQL_DATE(), Types.LIST(Types.SQL_TIME()))
    Map(SqlDate, List(SqlTime))
    >>> Types.PRIMITIVE_ARRAY(Types.INT()), Types.BASIC_ARRAY(Types.LONG())
    (PrimitiveArray(Integer), BasicArray(Long))
    >>> Types.OBJECT_ARRAY(Types.STRING()), Types.PICKLED_BYTE_ARRAY()
    (ObjectArray(String), any object)
    """

    @staticmethod
    def STRING() -> BasicTypeInfo[str]:
        """Text, as `str`."""
        return BasicTypeInfo("String")

    @staticmethod
    def BOOLEAN() -> BasicTypeInfo[bool]:
        """True or False, as `bool`."""
        return BasicTypeInfo("Boolean")

    @staticmethod
    def BYTE() -> BasicTypeInfo[int]:
        """Integers of 8 bits, as `int` from -128 to 127."""
        return BasicTypeInfo("Byte")

    @staticmethod
    def SHORT() -> BasicTypeInfo[int]:
        """Integers of 16 bits, as `int`. Out of range is an error, not a wrap-around."""
        return BasicTypeInfo("Short")

    @staticmethod
    def INT() -> BasicTypeInfo[int]:
        """Integers of 32 bits, as `int`. Out of range is an error, not a wrap-around."""
        return BasicTypeInfo("Integer")

    @staticmethod
    def LONG() -> BasicTypeInfo[int]:
        """Integers of 64 bits, as `int`. Out of range is an error, not a wrap-around."""
        return BasicTypeInfo("Long")

    @staticmethod
    def FLOAT() -> BasicTypeInfo[float]:
        """Numbers of 32 bits, as `float` rounded to that precision."""
        return BasicTypeInfo("Float")

    @staticmethod
    def DOUBLE() -> BasicTypeInfo[float]:
        """Numbers of 64 bits, as `float`; integers are accepted."""
        return BasicTypeInfo("Double")

    @staticmethod
    def CHAR() -> BasicTypeInfo[str]:
        """One character, as `str`."""
        return BasicTypeInfo("Char")

    @staticmethod
    def BIG_INT() -> BasicTypeInfo[int]:
        """Integers of any size, as `int`; columns hold 38 digits."""
        return BasicTypeInfo("BigInteger")

    @staticmethod
    def BIG_DEC() -> BasicTypeInfo[Decimal]:
        """Decimals of any size, as `decimal.Decimal`; columns hold 20 digits and 18 more."""
        return BasicTypeInfo("BigDecimal")

    @staticmethod
    def INSTANT() -> BasicTypeInfo[Instant]:
        """Points in time, as `Instant`; columns hold microseconds."""
        return BasicTypeInfo("Instant")

    @staticmethod
    def SQL_DATE() -> BasicTypeInfo[date]:
        """Days, as `datetime.date`; a datetime is refused."""
        return BasicTypeInfo("SqlDate")

    @staticmethod
    def SQL_TIME() -> BasicTypeInfo[time]:
        """Times of day, as `datetime.time` without time zone, to the microsecond."""
        return BasicTypeInfo("SqlTime")

    @staticmethod
    def SQL_TIMESTAMP() -> BasicTypeInfo[datetime]:
        """Dates with time, as `datetime.datetime` without time zone, to the microsecond."""
        return BasicTypeInfo("SqlTimestamp")

    @staticmethod
    def TIMESTAMP_LTZ() -> BasicTypeInfo[datetime]:
        """Points in time, as `datetime.datetime` in UTC; PyFlink has no such factory."""
        return BasicTypeInfo("TimestampLtz")

    @staticmethod
    def PICKLED_BYTE_ARRAY() -> PickledBytesTypeInfo:
        """Any Python object; the type of a stream without a declared type."""
        return PickledBytesTypeInfo()

    @staticmethod
    def ROW(field_types: Sequence[TypeInformation]) -> RowTypeInfo:
        """Rows with the field names `f0`, `f1`, ...; fields may be None."""
        return RowTypeInfo(field_types)

    @staticmethod
    def ROW_NAMED(
        field_names: Sequence[str],
        field_types: Sequence[TypeInformation],
        renamed: Mapping[str, str | None] | None = None,
    ) -> RowTypeInfo:
        """Rows with these field names; fields may be None.

        Args:
            field_names: Name of each field.
            field_types: Type of each field.
            renamed: (beyond PyFlink) Earlier name of a field to its name now, None for a field that was removed: how state
                that an earlier version of the program stored is read.

        Example:
            >>> Types.ROW_NAMED(["totals"], [Types.LONG()], renamed={"total": "totals", "note": None})
            Row(totals: Long)
        """
        return RowTypeInfo(field_types, field_names, renamed)

    @staticmethod
    def TUPLE(field_types: Sequence[TypeInformation]) -> TupleTypeInfo:
        """Tuples; fields may not be None."""
        return TupleTypeInfo(field_types)

    @staticmethod
    def PRIMITIVE_ARRAY(element_type: TypeInformation) -> PrimitiveArrayTypeInfo:
        """Arrays without None, as `list`; of `Types.BYTE()`, as `bytes`."""
        return PrimitiveArrayTypeInfo(element_type)

    @staticmethod
    def BASIC_ARRAY(element_type: TypeInformation) -> BasicArrayTypeInfo:
        """Arrays of a basic type or None, as `list`."""
        return BasicArrayTypeInfo(element_type)

    @staticmethod
    def OBJECT_ARRAY(element_type: TypeInformation) -> ObjectArrayTypeInfo:
        """Arrays of any type or None, as `list`."""
        return ObjectArrayTypeInfo(element_type)

    @staticmethod
    def LIST(element_type_info: TypeInformation) -> ListTypeInfo:
        """Lists of any type or None, as `list`."""
        return ListTypeInfo(element_type_info)

    @staticmethod
    def MAP(key_type_info: TypeInformation, value_type_info: TypeInformation) -> MapTypeInfo:
        """Maps, as `dict`; values may be None."""
        return MapTypeInfo(key_type_info, value_type_info)
