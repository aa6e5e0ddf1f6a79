"""Shared parts of assigners of time windows: the time by which records are assigned, and the trigger."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from typing import Any

from penstock.api.windows.assigner import WindowAssigner
from penstock.api.windows.trigger import Trigger
from penstock.api.windows.triggers import EventTimeTrigger, ProcessingTimeTrigger
from penstock.errors import TypeMismatchError
from penstock.program.windows import MIN_TIMESTAMP, RegularWindows, TimeWindow


class TimedAssigner(WindowAssigner[Any, TimeWindow]):
    """Assigns windows by one time of a record."""

    @abstractmethod
    def _time_of(self, timestamp: int, context: Any) -> int:
        """Return the time of a record in epoch milliseconds, by what `assign_windows` is given."""


class RegularAssigner(TimedAssigner):
    """Assigns windows at regular distances."""

    @property
    @abstractmethod
    def regular(self) -> RegularWindows:
        """The windows."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        """Return the windows that contain the time of the record, of overlapping ones the latest first.

        Raises:
            TypeMismatchError: It is to have a timestamp and has none.
        """
        found = self.regular.of(self._time_of(timestamp, context))
        return [TimeWindow(start, end) for start, end in found]


class EventTimeAssigner(TimedAssigner):
    """Assigns windows by timestamps."""

    def _time_of(self, timestamp: int, context: Any) -> int:
        """Return the timestamp.

        Raises:
            TypeMismatchError: It is Long.MIN, which stands for none.
        """
        if timestamp > MIN_TIMESTAMP:
            return timestamp
        raise TypeMismatchError(
            "the record has no timestamp, and event-time windows need one",
            hint="Call assign_timestamps_and_watermarks with a timestamp assigner before the window.",
        )

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        """Return `EventTimeTrigger`."""
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        """Return True."""
        return True


class ProcessingTimeAssigner(TimedAssigner):
    """Assigns windows by the wall clock."""

    def _time_of(self, timestamp: int, context: Any) -> int:
        """Return the current time."""
        now: int = context.get_current_processing_time()
        return now

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        """Return `ProcessingTimeTrigger`."""
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        """Return False."""
        return False
