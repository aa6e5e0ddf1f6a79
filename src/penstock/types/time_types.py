"""PyFlink's classes of types of time. All of them are basic types here.

`isinstance(Types.SQL_DATE(), DateTypeInfo)` holds, and calling a class gives the basic type.
"""

from __future__ import annotations

from datetime import date, datetime, time
from enum import Enum
from typing import Any, ClassVar

from penstock.errors import ArgumentError
from penstock.types.scalars import BasicType, BasicTypeInfo
from penstock.types.time import Instant

__all__ = [
    "DateTypeInfo",
    "InstantTypeInfo",
    "LocalTimeTypeInfo",
    "SqlTimeTypeInfo",
    "TimeTypeInfo",
    "TimestampTypeInfo",
]


class _Alias(type):
    """Metaclass of names whose instances are some of the basic types."""

    basic: tuple[str, ...]

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, BasicTypeInfo) and instance.name in cls.basic


class InstantTypeInfo(metaclass=_Alias):
    """Points in time, as `Instant`."""

    basic: ClassVar[tuple[str, ...]] = ("Instant",)

    def __new__(cls, basic_type: BasicType = BasicType.INSTANT) -> BasicTypeInfo[Instant]:  # type: ignore[misc]
        """Return `Types.INSTANT()`."""
        if basic_type is not BasicType.INSTANT:
            raise ArgumentError(
                f"InstantTypeInfo got {basic_type!r}", hint="Call Types.INSTANT() instead."
            )
        return BasicTypeInfo("Instant")


class DateTypeInfo(metaclass=_Alias):
    """Days, as `datetime.date`."""

    basic: ClassVar[tuple[str, ...]] = ("SqlDate",)

    def __new__(cls) -> BasicTypeInfo[date]:  # type: ignore[misc]
        """Return `Types.SQL_DATE()`."""
        return BasicTypeInfo("SqlDate")


class TimeTypeInfo(metaclass=_Alias):
    """Times of day, as `datetime.time` without time zone."""

    basic: ClassVar[tuple[str, ...]] = ("SqlTime",)

    def __new__(cls) -> BasicTypeInfo[time]:  # type: ignore[misc]
        """Return `Types.SQL_TIME()`."""
        return BasicTypeInfo("SqlTime")


class TimestampTypeInfo(metaclass=_Alias):
    """Dates with time, as `datetime.datetime` without time zone."""

    basic: ClassVar[tuple[str, ...]] = ("SqlTimestamp",)

    def __new__(cls) -> BasicTypeInfo[datetime]:  # type: ignore[misc]
        """Return `Types.SQL_TIMESTAMP()`."""
        return BasicTypeInfo("SqlTimestamp")


class SqlTimeTypeInfo(metaclass=_Alias):
    """The three types of SQL's dates and times.

    Example:
        >>> SqlTimeTypeInfo.DATE(), SqlTimeTypeInfo.TIME(), SqlTimeTypeInfo.TIMESTAMP()
        (SqlDate, SqlTime, SqlTimestamp)
    """

    basic: ClassVar[tuple[str, ...]] = ("SqlDate", "SqlTime", "SqlTimestamp")

    @staticmethod
    def DATE() -> BasicTypeInfo[date]:
        """As `Types.SQL_DATE`."""
        return BasicTypeInfo("SqlDate")

    @staticmethod
    def TIME() -> BasicTypeInfo[time]:
        """As `Types.SQL_TIME`."""
        return BasicTypeInfo("SqlTime")

    @staticmethod
    def TIMESTAMP() -> BasicTypeInfo[datetime]:
        """As `Types.SQL_TIMESTAMP`."""
        return BasicTypeInfo("SqlTimestamp")


class LocalTimeTypeInfo(metaclass=_Alias):
    """Java's local dates and times; their Python classes are those of SQL's."""

    class TimeType(Enum):
        """One of Java's local dates and times."""

        LOCAL_DATE = 0
        LOCAL_TIME = 1
        LOCAL_DATE_TIME = 2

    basic: ClassVar[tuple[str, ...]] = ("SqlDate", "SqlTime", "SqlTimestamp")

    def __new__(cls, time_type: TimeType) -> BasicTypeInfo[Any]:  # type: ignore[misc]
        """Return the basic type whose values are those of `time_type`."""
        if not isinstance(time_type, cls.TimeType):
            raise ArgumentError(
                f"LocalTimeTypeInfo got {time_type!r}",
                hint="Pass a LocalTimeTypeInfo.TimeType.",
            )
        return BasicTypeInfo(cls.basic[time_type.value])
