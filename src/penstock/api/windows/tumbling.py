"""Tumbling windows: of one length, without gaps and without overlap."""

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
from penstock.errors import TypeMismatchError
from penstock.program.windows import MIN_TIMESTAMP, TimeWindow
from penstock.types.time import Time


class _Tumbling(WindowAssigner[Any, TimeWindow]):
    def __init__(self, size: int, offset: int) -> None:
        """Make windows of `size` milliseconds, one of which starts at `offset`.

        Raises:
            ArgumentError: `size` is not greater than 0, or `offset` is not smaller.
        """
        self.size = positive(size, "length of windows")
        self.offset = smaller_offset(offset, size)

    def _window(self, time: int) -> TimeWindow:
        start = time - (time - self.offset) % self.size
        return TimeWindow(start, start + self.size)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.offset})"


class TumblingEventTimeWindows(_Tumbling):
    """Windows of one length by the timestamps of records; each record is in one of them.

    Example:
        >>> TumblingEventTimeWindows.of(Time.minutes(1))
        TumblingEventTimeWindows(60000, 0)
    """

    @staticmethod
    def of(size: Time, offset: Time | None = None) -> TumblingEventTimeWindows:
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
        return TumblingEventTimeWindows(milliseconds(size, "length of windows"), shift)

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        """Return the window that contains the timestamp.

        Raises:
            TypeMismatchError: The record has no timestamp.
        """
        return [self._window(stamped(timestamp))]

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        """Return `EventTimeTrigger`."""
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        """Return True."""
        return True


class TumblingProcessingTimeWindows(_Tumbling):
    """Windows of one length by the wall clock; each record is in one of them.

    Example:
        >>> TumblingProcessingTimeWindows.of(Time.minutes(1))
        TumblingProcessingTimeWindows(60000, 0)
    """

    @staticmethod
    def of(size: Time, offset: Time | None = None) -> TumblingProcessingTimeWindows:
        """Return windows of `size` that start at multiples of it since the epoch, plus `offset`.

        Args:
            size: Length of a window, [start, end).
            offset: Of the starts; shorter than `size`, of either sign.

        Raises:
            ArgumentError: An argument is no `Time`, or out of range.

        Example:
            >>> TumblingProcessingTimeWindows.of(Time.hours(1), Time.minutes(15)).offset
            900000
        """
        shift = 0 if offset is None else milliseconds(offset, "offset of windows")
        return TumblingProcessingTimeWindows(milliseconds(size, "length of windows"), shift)

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        """Return the window that contains the current time of the wall clock."""
        return [self._window(context.get_current_processing_time())]

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        """Return `ProcessingTimeTrigger`."""
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        """Return False."""
        return False


def stamped(timestamp: int) -> int:
    """Return a timestamp.

    Raises:
        TypeMismatchError: It is Long.MIN, which stands for none.
    """
    if timestamp > MIN_TIMESTAMP:
        return timestamp
    raise TypeMismatchError(
        "the record has no timestamp, and event-time windows need one",
        hint="Call assign_timestamps_and_watermarks with a timestamp assigner before the window.",
    )
