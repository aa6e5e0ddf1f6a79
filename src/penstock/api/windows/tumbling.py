"""Tumbling windows: of one length, one behind the other."""

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
    """Windows of one length, by the timestamps of records."""

    @staticmethod
    def of(size: Time, offset: Time | None = None) -> TumblingEventTimeWindows:
        """Return windows of `size` that start at multiples of it, plus `offset`.

        Raises:
            ArgumentError: An argument is no `Time`, or out of range.
        """
        shift = 0 if offset is None else milliseconds(offset, "offset of windows")
        return TumblingEventTimeWindows(milliseconds(size, "length of windows"), shift)

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        """Return the window that holds the timestamp.

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
    """Windows of one length, by the wall clock."""

    @staticmethod
    def of(size: Time, offset: Time | None = None) -> TumblingProcessingTimeWindows:
        """Return windows of `size` that start at multiples of it, plus `offset`.

        Raises:
            ArgumentError: An argument is no `Time`, or out of range.
        """
        shift = 0 if offset is None else milliseconds(offset, "offset of windows")
        return TumblingProcessingTimeWindows(milliseconds(size, "length of windows"), shift)

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        """Return the window that holds the moment."""
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
