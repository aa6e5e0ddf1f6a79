"""Session windows: a session ends after a gap without records."""

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
    """Returns the session gap of each record.

    Example:
        >>> class ByAmount(SessionWindowTimeGapExtractor):
        ...     def extract(self, element):
        ...         return element[1] * 1_000
        >>> EventTimeSessionWindows.with_dynamic_gap(ByAmount())
        DynamicEventTimeSessionWindows()
    """

    @abstractmethod
    def extract(self, element: Any) -> int:
        """Return the gap in milliseconds, greater than 0.

        Args:
            element: The record.
        """


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
    """Sessions by the timestamps of records, with one gap for all.

    Example:
        >>> keyed = orders.key_by(lambda order: order[0])
        >>> sessions = keyed.window(EventTimeSessionWindows.with_gap(Time.seconds(5)))
        >>> sorted(collect(sessions.reduce(max)))
        [('ann', 5, 1000), ('ann', 7, 12000), ('bob', 3, 2000)]
    """

    def __init__(self, session_gap: int) -> None:
        """End sessions after `session_gap` milliseconds.

        Raises:
            ArgumentError: It is not greater than 0.
        """
        self.session_gap = positive(session_gap, "gap of sessions")

    @staticmethod
    def with_gap(size: Time) -> EventTimeSessionWindows:
        """Return sessions that end after `size` without a record.

        Args:
            size: The gap.

        Raises:
            ArgumentError: It is no `Time`, or not greater than 0.

        Example:
            >>> EventTimeSessionWindows.with_gap(Time.minutes(30))
            EventTimeSessionWindows(1800000)
        """
        return EventTimeSessionWindows(milliseconds(size, "gap of sessions"))

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor,
    ) -> DynamicEventTimeSessionWindows:
        """Return sessions whose gap depends on the record.

        Args:
            extractor: Returns the gap of a record.

        Raises:
            ArgumentError: `extractor` is no `SessionWindowTimeGapExtractor`.

        Example:
            >>> class ByAmount(SessionWindowTimeGapExtractor):
            ...     def extract(self, element):
            ...         return element[1] * 1_000
            >>> sessions = EventTimeSessionWindows.with_dynamic_gap(ByAmount())
            >>> collect(orders.window_all(sessions).reduce(max))
            [('bob', 3, 2000), ('ann', 7, 12000)]
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
    """Sessions by the wall clock, with one gap for all.

    Example:
        >>> ProcessingTimeSessionWindows.with_gap(Time.minutes(30))
        ProcessingTimeSessionWindows(1800000)
    """

    def __init__(self, session_gap: int) -> None:
        """End sessions after `session_gap` milliseconds.

        Raises:
            ArgumentError: It is not greater than 0.
        """
        self.session_gap = positive(session_gap, "gap of sessions")

    @staticmethod
    def with_gap(size: Time) -> ProcessingTimeSessionWindows:
        """Return sessions that end after `size` without a record.

        Args:
            size: The gap.

        Raises:
            ArgumentError: It is no `Time`, or not greater than 0.

        Example:
            >>> ProcessingTimeSessionWindows.with_gap(Time.minutes(30)).session_gap
            1800000
        """
        return ProcessingTimeSessionWindows(milliseconds(size, "gap of sessions"))

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor,
    ) -> DynamicProcessingTimeSessionWindows:
        """Return sessions whose gap depends on the record.

        Args:
            extractor: Returns the gap of a record.

        Raises:
            ArgumentError: `extractor` is no `SessionWindowTimeGapExtractor`.

        Example:
            >>> class ByAmount(SessionWindowTimeGapExtractor):
            ...     def extract(self, element):
            ...         return element[1] * 1_000
            >>> ProcessingTimeSessionWindows.with_dynamic_gap(ByAmount())
            DynamicProcessingTimeSessionWindows()
        """
        return DynamicProcessingTimeSessionWindows(extractor)

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        """Return a window from this moment on."""
        now = context.get_current_processing_time()
        return [TimeWindow(now, now + self.session_gap)]

    def __repr__(self) -> str:
        return f"ProcessingTimeSessionWindows({self.session_gap})"


class DynamicEventTimeSessionWindows(_EventTimeSession):
    """Sessions by the timestamps of records, with a gap that depends on the record.

    Example:
        >>> class ByAmount(SessionWindowTimeGapExtractor):
        ...     def extract(self, element):
        ...         return element[1] * 1_000
        >>> DynamicEventTimeSessionWindows.with_dynamic_gap(ByAmount())
        DynamicEventTimeSessionWindows()
    """

    def __init__(self, session_window_time_gap_extractor: SessionWindowTimeGapExtractor) -> None:
        """Set the extractor of gaps.

        Raises:
            ArgumentError: It is no `SessionWindowTimeGapExtractor`.
        """
        self._extract = _extract(session_window_time_gap_extractor)

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor,
    ) -> DynamicEventTimeSessionWindows:
        """Return sessions whose gap depends on the record, by `extractor`."""
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
    """Sessions by the wall clock, with a gap that depends on the record.

    Example:
        >>> class ByAmount(SessionWindowTimeGapExtractor):
        ...     def extract(self, element):
        ...         return element[1] * 1_000
        >>> DynamicProcessingTimeSessionWindows.with_dynamic_gap(ByAmount())
        DynamicProcessingTimeSessionWindows()
    """

    def __init__(self, session_window_time_gap_extractor: SessionWindowTimeGapExtractor) -> None:
        """Set the extractor of gaps.

        Raises:
            ArgumentError: It is no `SessionWindowTimeGapExtractor`.
        """
        self._extract = _extract(session_window_time_gap_extractor)

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor,
    ) -> DynamicProcessingTimeSessionWindows:
        """Return sessions whose gap depends on the record, by `extractor`."""
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
