"""Sliding windows: of one length, at equal distances; they may overlap or have gaps."""

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
