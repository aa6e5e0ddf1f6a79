"""Tumbling windows: of one length, without gaps and without overlap."""

from __future__ import annotations

from typing import Self

from penstock.api.windows.assigner import milliseconds, positive, smaller_offset
from penstock.api.windows.timed_assigners import (
    EventTimeAssigner,
    ProcessingTimeAssigner,
    RegularAssigner,
)
from penstock.program.regular_windows import RegularWindows
from penstock.types.time import Time


class _Tumbling(RegularAssigner):
    def __init__(self, size: int, offset: int) -> None:
        """Make windows of `size` milliseconds, one of which starts at `offset`.

        Raises:
            ArgumentError: `size` is not greater than 0, or `offset` is not smaller.
        """
        self.size = positive(size, "length of windows")
        self.offset = smaller_offset(offset, size)

    @classmethod
    def of(cls, size: Time, offset: Time | None = None) -> Self:
        """Return windows of `size` that start at multiples of it since the epoch, plus `offset`.

        Args:
            size: Length of a window, [start, end).
            offset: Of the starts; shorter than `size`, of either sign.

        Raises:
            ArgumentError: An argument is no `Time`, or out of range.

        Example:
            >>> hours = TumblingEventTimeWindows.of(Time.hours(1), Time.minutes(15))
            >>> hours.size, hours.offset
            (3600000, 900000)
        """
        shift = 0 if offset is None else milliseconds(offset, "offset of windows")
        return cls(milliseconds(size, "length of windows"), shift)

    @property
    def regular(self) -> RegularWindows:
        """The windows."""
        return RegularWindows(self.size, self.size, self.offset)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.offset})"


class TumblingEventTimeWindows(EventTimeAssigner, _Tumbling):
    """Windows of one length by the timestamps of records; each record is in one of them.

    Example:
        >>> TumblingEventTimeWindows.of(Time.minutes(1))
        TumblingEventTimeWindows(60000, 0)
    """


class TumblingProcessingTimeWindows(ProcessingTimeAssigner, _Tumbling):
    """Windows of one length by the wall clock; each record is in one of them.

    Example:
        >>> TumblingProcessingTimeWindows.of(Time.minutes(1))
        TumblingProcessingTimeWindows(60000, 0)
    """
