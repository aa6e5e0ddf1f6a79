"""Sliding windows: of one length, at equal distances; they may overlap or have gaps."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from penstock.api.windows.assigner import (
    WindowAssigner,
    milliseconds,
    positive,
    smaller_offset,
)
from penstock.api.windows.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from penstock.api.windows.trigger import Trigger
from penstock.api.windows.tumbling import stamped
from penstock.program.windows import TimeWindow
from penstock.types.time import Time


class _Sliding(WindowAssigner[Any, TimeWindow]):
    def __init__(self, size: int, slide: int, offset: int) -> None:
        """Make windows of `size` milliseconds every `slide`, one of which starts at `offset`.

        Raises:
            ArgumentError: `size` or `slide` is not greater than 0, or `offset` is not smaller
                than `slide`.
        """
        self.size = positive(size, "length of windows")
        self.slide = positive(slide, "distance of windows")
        self.offset = smaller_offset(offset, slide)

    def _windows(self, time: int) -> list[TimeWindow]:
        last = time - (time - self.offset) % self.slide
        return [
            TimeWindow(start, start + self.size)
            for start in range(last, time - self.size, -self.slide)
        ]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.slide}, {self.offset})"


class SlidingEventTimeWindows(_Sliding):
    """Windows of one length at equal distances, by the timestamps of records.

    Example:
        >>> SlidingEventTimeWindows.of(Time.minutes(10), Time.minutes(1))
        SlidingEventTimeWindows(600000, 60000, 0)
    """

    @staticmethod
    def of(size: Time, slide: Time, offset: Time | None = None) -> SlidingEventTimeWindows:
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
        return SlidingEventTimeWindows(
            milliseconds(size, "length of windows"),
            milliseconds(slide, "distance of windows"),
            0 if offset is None else milliseconds(offset, "offset of windows"),
        )

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        """Return the windows that contain the timestamp, the latest first.

        Raises:
            TypeMismatchError: The record has no timestamp.
        """
        return self._windows(stamped(timestamp))

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        """Return `EventTimeTrigger`."""
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        """Return True."""
        return True


class SlidingProcessingTimeWindows(_Sliding):
    """Windows of one length at equal distances, by the wall clock.

    Example:
        >>> SlidingProcessingTimeWindows.of(Time.minutes(10), Time.minutes(1))
        SlidingProcessingTimeWindows(600000, 60000, 0)
    """

    @staticmethod
    def of(size: Time, slide: Time, offset: Time | None = None) -> SlidingProcessingTimeWindows:
        """Return windows of `size` that start every `slide` from the epoch on, plus `offset`.

        Args:
            size: Length of a window, [start, end).
            slide: Time between the starts of two windows.
            offset: Of the starts; shorter than `slide`, of either sign.

        Raises:
            ArgumentError: An argument is no `Time`, or out of range.

        Example:
            >>> SlidingProcessingTimeWindows.of(Time.minutes(10), Time.minutes(1)).slide
            60000
        """
        return SlidingProcessingTimeWindows(
            milliseconds(size, "length of windows"),
            milliseconds(slide, "distance of windows"),
            0 if offset is None else milliseconds(offset, "offset of windows"),
        )

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        """Return the windows that contain the current time of the wall clock, the latest first."""
        return self._windows(context.get_current_processing_time())

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        """Return `ProcessingTimeTrigger`."""
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        """Return False."""
        return False
