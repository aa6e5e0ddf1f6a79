"""Windows of one length: tumbling, sliding at equal distances, and those of SQL's CUMULATE."""

from __future__ import annotations

from typing import Self

from penstock.api.windows.assigner import milliseconds, positive, smaller_offset
from penstock.api.windows.timed_assigners import (
    EventTimeAssigner,
    ProcessingTimeAssigner,
    RegularAssigner,
)
from penstock.program.windows import RegularWindows
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


class CumulatingEventTimeWindows(EventTimeAssigner, RegularAssigner):
    """Windows by the timestamps of records, of which all that begin together end a step apart, up to one length."""

    def __init__(self, size: int, step: int, offset: int) -> None:
        """Make windows of up to `size` milliseconds, a multiple of `step`, one of which starts at `offset`."""
        self.size, self.step, self.offset = size, step, offset

    @property
    def regular(self) -> RegularWindows:
        """The windows."""
        return RegularWindows(self.size, self.step, self.offset, grows=self.step < self.size)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.step}, {self.offset})"


class _Sliding(RegularAssigner):
    def __init__(self, size: int, slide: int, offset: int) -> None:
        """Make windows of `size` milliseconds every `slide`, one of which starts at `offset`.

        Raises:
            ArgumentError: `size` or `slide` is not greater than 0, or `offset` is not smaller
                than `slide`.
        """
        self.size = positive(size, "length of windows")
        self.slide = positive(slide, "distance of windows")
        self.offset = smaller_offset(offset, slide)

    @classmethod
    def of(cls, size: Time, slide: Time, offset: Time | None = None) -> Self:
        """Return windows of `size` that start every `slide` from the epoch on, plus `offset`.

        Args:
            size: Length of a window, [start, end).
            slide: Time between the starts of two windows.
            offset: Of the starts; shorter than `slide`, of either sign.

        Raises:
            ArgumentError: An argument is no `Time`, or out of range.

        Example:
            >>> sliding = SlidingEventTimeWindows.of(Time.seconds(20), Time.seconds(10))
            >>> collect(orders.window_all(sliding).reduce(max))
            [('bob', 3, 2000), ('bob', 3, 2000), ('ann', 7, 12000)]
        """
        return cls(
            milliseconds(size, "length of windows"),
            milliseconds(slide, "distance of windows"),
            0 if offset is None else milliseconds(offset, "offset of windows"),
        )

    @property
    def regular(self) -> RegularWindows:
        """The windows."""
        return RegularWindows(self.size, self.slide, self.offset)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.slide}, {self.offset})"


class SlidingEventTimeWindows(EventTimeAssigner, _Sliding):
    """Windows of one length at equal distances, by the timestamps of records.

    Example:
        >>> SlidingEventTimeWindows.of(Time.minutes(10), Time.minutes(1))
        SlidingEventTimeWindows(600000, 60000, 0)
    """


class SlidingProcessingTimeWindows(ProcessingTimeAssigner, _Sliding):
    """Windows of one length at equal distances, by the wall clock.

    Example:
        >>> SlidingProcessingTimeWindows.of(Time.minutes(10), Time.minutes(1))
        SlidingProcessingTimeWindows(600000, 60000, 0)
    """
