"""Session windows: they end when nothing arrived for a while."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from typing import Any

from penstock.api.windows.assigner import MergingWindowAssigner, milliseconds, positive
from penstock.api.windows.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from penstock.api.windows.trigger import Trigger
from penstock.api.windows.tumbling import stamped
from penstock.errors import ArgumentError, CallSite
from penstock.program.windows import TimeWindow
from penstock.types.time import Time


class SessionWindowTimeGapExtractor(ABC):
    """Says for each record how long its session stays open."""

    @abstractmethod
    def extract(self, element: Any) -> int:
        """Return the gap in milliseconds, greater than 0."""


class _Session(MergingWindowAssigner[Any, TimeWindow]):
    """A window from each record to the end of its gap; those that touch become one."""

    merges_neighbours = True

    def merge_windows(self, windows: Iterable[TimeWindow], callback: Any) -> None:
        """Merge the windows that overlap or touch."""
        TimeWindow.merge_windows(windows, callback)


class _EventTimeSession(_Session):
    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        """Return `EventTimeTrigger`."""
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        """Return True."""
        return True


class _ProcessingTimeSession(_Session):
    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        """Return `ProcessingTimeTrigger`."""
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        """Return False."""
        return False


class EventTimeSessionWindows(_EventTimeSession):
    """Sessions by the timestamps of records, with one gap for all."""

    def __init__(self, session_gap: int) -> None:
        """End sessions after `session_gap` milliseconds.

        Raises:
            ArgumentError: It is not greater than 0.
        """
        self.session_gap = positive(session_gap, "gap of sessions")

    @staticmethod
    def with_gap(size: Time) -> EventTimeSessionWindows:
        """Return sessions that end after `size` without a record.

        Raises:
            ArgumentError: It is no `Time`, or not greater than 0.
        """
        return EventTimeSessionWindows(milliseconds(size, "gap of sessions"))

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor,
    ) -> DynamicEventTimeSessionWindows:
        """Return sessions whose records say how long they stay open.

        Raises:
            ArgumentError: `extractor` is no `SessionWindowTimeGapExtractor`.
        """
        return DynamicEventTimeSessionWindows(extractor)

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        """Return a window from the timestamp on.

        Raises:
            TypeMismatchError: The record has no timestamp.
        """
        start = stamped(timestamp)
        return [TimeWindow(start, start + self.session_gap)]

    def __repr__(self) -> str:
        return f"EventTimeSessionWindows({self.session_gap})"


class ProcessingTimeSessionWindows(_ProcessingTimeSession):
    """Sessions by the wall clock, with one gap for all."""

    def __init__(self, session_gap: int) -> None:
        """End sessions after `session_gap` milliseconds.

        Raises:
            ArgumentError: It is not greater than 0.
        """
        self.session_gap = positive(session_gap, "gap of sessions")

    @staticmethod
    def with_gap(size: Time) -> ProcessingTimeSessionWindows:
        """Return sessions that end after `size` without a record.

        Raises:
            ArgumentError: It is no `Time`, or not greater than 0.
        """
        return ProcessingTimeSessionWindows(milliseconds(size, "gap of sessions"))

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor,
    ) -> DynamicProcessingTimeSessionWindows:
        """Return sessions whose records say how long they stay open.

        Raises:
            ArgumentError: `extractor` is no `SessionWindowTimeGapExtractor`.
        """
        return DynamicProcessingTimeSessionWindows(extractor)

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        """Return a window from this moment on."""
        now = context.get_current_processing_time()
        return [TimeWindow(now, now + self.session_gap)]

    def __repr__(self) -> str:
        return f"ProcessingTimeSessionWindows({self.session_gap})"


class DynamicEventTimeSessionWindows(_EventTimeSession):
    """Sessions by the timestamps of records, each of which says how long they stay open."""

    def __init__(self, session_window_time_gap_extractor: SessionWindowTimeGapExtractor) -> None:
        """Ask an extractor for gaps.

        Raises:
            ArgumentError: It is no `SessionWindowTimeGapExtractor`.
        """
        self._extract = _extract(session_window_time_gap_extractor)

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor,
    ) -> DynamicEventTimeSessionWindows:
        """Return sessions whose records say how long they stay open."""
        return DynamicEventTimeSessionWindows(extractor)

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        """Return a window from the timestamp on.

        Raises:
            ArgumentError: The gap is not greater than 0.
            TypeMismatchError: The record has no timestamp.
        """
        start = stamped(timestamp)
        return [TimeWindow(start, start + positive(self._extract(element), "gap of a session"))]

    def __repr__(self) -> str:
        return "DynamicEventTimeSessionWindows()"


class DynamicProcessingTimeSessionWindows(_ProcessingTimeSession):
    """Sessions by the wall clock, whose records say how long they stay open."""

    def __init__(self, session_window_time_gap_extractor: SessionWindowTimeGapExtractor) -> None:
        """Ask an extractor for gaps.

        Raises:
            ArgumentError: It is no `SessionWindowTimeGapExtractor`.
        """
        self._extract = _extract(session_window_time_gap_extractor)

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor,
    ) -> DynamicProcessingTimeSessionWindows:
        """Return sessions whose records say how long they stay open."""
        return DynamicProcessingTimeSessionWindows(extractor)

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        """Return a window from this moment on.

        Raises:
            ArgumentError: The gap is not greater than 0.
        """
        now = context.get_current_processing_time()
        return [TimeWindow(now, now + positive(self._extract(element), "gap of a session"))]

    def __repr__(self) -> str:
        return "DynamicProcessingTimeSessionWindows()"


def _extract(extractor: Any) -> Callable[[Any], int]:
    if isinstance(extractor, SessionWindowTimeGapExtractor):
        return extractor.extract
    raise ArgumentError(
        f"the gap extractor is {extractor!r}",
        hint="Pass an object of a class derived from SessionWindowTimeGapExtractor.",
        origin=CallSite.of_caller(),
    )
