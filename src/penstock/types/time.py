"""Lengths of time, points in time and the two time domains of timers, with PyFlink's names.

All are immutable, hashable and ordered. Lengths take whole numbers: express a fraction of a unit
in a smaller unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from penstock.errors import ArgumentError


class TimeDomain(Enum):
    """Domain of a timer: event time or processing time."""

    EVENT_TIME = 0
    PROCESSING_TIME = 1


_NANOS_PER_MILLI = 1_000_000
_NANOS_PER_SECOND = 1_000_000_000
_MILLIS_PER_SECOND = 1_000


@dataclass(frozen=True, slots=True, order=True, init=False, repr=False)
class Time:
    """A length of time in milliseconds; window assigners take it.

    >>> Time.seconds(5).to_milliseconds()
    5000
    """

    _milliseconds: int

    def __init__(self, milliseconds: int) -> None:
        """Make a length of `milliseconds`.

        Raises:
            ArgumentError: `milliseconds` is not a whole number.
        """
        object.__setattr__(self, "_milliseconds", _whole("Time", milliseconds))

    def to_milliseconds(self) -> int:
        """Return the length in milliseconds."""
        return self._milliseconds

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        """Return a length of `milliseconds`."""
        return Time(milliseconds)

    @staticmethod
    def seconds(seconds: int) -> Time:
        """Return a length of `seconds`."""
        return Time(_whole("Time.seconds", seconds) * _MILLIS_PER_SECOND)

    @staticmethod
    def minutes(minutes: int) -> Time:
        """Return a length of `minutes`."""
        return Time.seconds(_whole("Time.minutes", minutes) * 60)

    @staticmethod
    def hours(hours: int) -> Time:
        """Return a length of `hours`."""
        return Time.minutes(_whole("Time.hours", hours) * 60)

    @staticmethod
    def days(days: int) -> Time:
        """Return a length of `days` of 24 hours."""
        return Time.hours(_whole("Time.days", days) * 24)

    def __str__(self) -> str:
        return f"{self._milliseconds} ms"

    def __repr__(self) -> str:
        return f"Time({self._milliseconds})"


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A length of time in nanoseconds; watermark strategies and time-to-live take it.

    >>> Duration.of_seconds(5).to_millis()
    5000
    >>> Duration.of_days(1).to_millis(), Duration.of_millis(5).nanos
    (86400000, 5000000)
    >>> Duration.of_nanos(1_000_000).to_millis()
    1

    Attributes:
        nanos: The length in nanoseconds; may be negative.
    """

    nanos: int

    def __post_init__(self) -> None:
        """Refuse a length that is not a whole number."""
        _whole("Duration", self.nanos)

    def to_millis(self) -> int:
        """Return the length in whole milliseconds, rounded down."""
        return self.nanos // _NANOS_PER_MILLI

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        """Return a length of `nanos` nanoseconds."""
        return Duration(nanos)

    @staticmethod
    def of_millis(millis: int) -> Duration:
        """Return a length of `millis` milliseconds."""
        return Duration(_whole("Duration.of_millis", millis) * _NANOS_PER_MILLI)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        """Return a length of `seconds`."""
        return Duration(_whole("Duration.of_seconds", seconds) * _NANOS_PER_SECOND)

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        """Return a length of `minutes`."""
        return Duration.of_seconds(_whole("Duration.of_minutes", minutes) * 60)

    @staticmethod
    def of_hours(hours: int) -> Duration:
        """Return a length of `hours`."""
        return Duration.of_minutes(_whole("Duration.of_hours", hours) * 60)

    @staticmethod
    def of_days(days: int) -> Duration:
        """Return a length of `days` of 24 hours."""
        return Duration.of_hours(_whole("Duration.of_days", days) * 24)


@dataclass(frozen=True, slots=True, order=True, repr=False)
class Instant:
    """A point on the time line, to the nanosecond.

    Attributes:
        seconds: Whole seconds since 1970-01-01T00:00:00Z; negative before.
        nanos: Nanoseconds after that second, 0 to 999,999,999.

    Example:
        >>> Instant.of_epoch_milli(1_500).to_epoch_milli(), Instant.of_epoch_milli(-1).seconds
        (1500, -1)
    """

    seconds: int
    nanos: int

    def __post_init__(self) -> None:
        """Refuse fractions, and nanoseconds that make a full second."""
        _whole("Instant", self.seconds)
        if not 0 <= _whole("Instant", self.nanos) < _NANOS_PER_SECOND:
            raise ArgumentError(
                f"Instant got {self.nanos} nanoseconds",
                hint="Give 0 to 999999999; carry the rest into the seconds.",
            )

    def to_epoch_milli(self) -> int:
        """Return milliseconds since 1970-01-01T00:00:00Z, rounded down."""
        return self.seconds * _MILLIS_PER_SECOND + self.nanos // _NANOS_PER_MILLI

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        """Return the point `epoch_milli` milliseconds after 1970-01-01T00:00:00Z."""
        seconds, millis = divmod(_whole("Instant.of_epoch_milli", epoch_milli), _MILLIS_PER_SECOND)
        return Instant(seconds, millis * _NANOS_PER_MILLI)

    def __repr__(self) -> str:
        return f"Instant<{self.seconds}, {self.nanos}>"


def _whole(what: str, number: int) -> int:
    if isinstance(number, bool) or not isinstance(number, int):
        raise ArgumentError(
            f"{what} got {number!r}, which is not a whole number",
            hint="Give an int; write fractions in a smaller unit.",
        )
    return number
