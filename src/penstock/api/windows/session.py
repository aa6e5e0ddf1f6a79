"""Session windows: a session ends after a gap without records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from typing import Any, Self

from penstock.api.windows.assigner import MergingWindowAssigner, milliseconds, positive
from penstock.api.windows.timed_assigners import (
    EventTimeAssigner,
    ProcessingTimeAssigner,
    TimedAssigner,
)
from penstock.errors import ArgumentError
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


class _Session(TimedAssigner, MergingWindowAssigner[Any, TimeWindow]):
    """A window from each record to the end of its gap; windows that touch are merged."""

    merges_neighbours = True

    def merge_windows(self, windows: Iterable[TimeWindow], callback: Any) -> None:
        """Merge the windows that overlap or touch."""
        TimeWindow.merge_windows(windows, callback)


class _FixedGap(_Session):
    def __init__(self, session_gap: int) -> None:
        """End sessions after `session_gap` milliseconds.

        Raises:
            ArgumentError: It is not greater than 0.
        """
        self.session_gap = positive(session_gap, "gap of sessions")

    @classmethod
    def with_gap(cls, size: Time) -> Self:
        """Return sessions that end after `size` without a record.

        Args:
            size: The gap.

        Raises:
            ArgumentError: It is no `Time`, or not greater than 0.

        Example:
            >>> EventTimeSessionWindows.with_gap(Time.minutes(30))
            EventTimeSessionWindows(1800000)
        """
        return cls(milliseconds(size, "gap of sessions"))

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        """Return a window from the time of the record on.

        Raises:
            TypeMismatchError: It is to have a timestamp and has none.
        """
        start = self._time_of(timestamp, context)
        return [TimeWindow(start, start + self.session_gap)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.session_gap})"


class _DynamicGap(_Session):
    def __init__(self, session_window_time_gap_extractor: SessionWindowTimeGapExtractor) -> None:
        """Set the extractor of gaps.

        Raises:
            ArgumentError: It is no `SessionWindowTimeGapExtractor`.
        """
        self._extract = _extract(session_window_time_gap_extractor)

    @classmethod
    def with_dynamic_gap(cls, extractor: SessionWindowTimeGapExtractor) -> Self:
        """Return sessions whose gap depends on the record, by `extractor`."""
        return cls(extractor)

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        """Return a window from the time of the record on.

        Raises:
            ArgumentError: The gap is not greater than 0.
            TypeMismatchError: The record is to have a timestamp and has none.
        """
        start = self._time_of(timestamp, context)
        return [TimeWindow(start, start + positive(self._extract(element), "gap of a session"))]

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class DynamicEventTimeSessionWindows(EventTimeAssigner, _DynamicGap):
    """Sessions by the timestamps of records, with a gap that depends on the record.

    Example:
        >>> class ByAmount(SessionWindowTimeGapExtractor):
        ...     def extract(self, element):
        ...         return element[1] * 1_000
        >>> sessions = DynamicEventTimeSessionWindows.with_dynamic_gap(ByAmount())
        >>> collect(orders.window_all(sessions).reduce(max))
        [('bob', 3, 2000), ('ann', 7, 12000)]
    """


class DynamicProcessingTimeSessionWindows(ProcessingTimeAssigner, _DynamicGap):
    """Sessions by the wall clock, with a gap that depends on the record.

    Example:
        >>> class ByAmount(SessionWindowTimeGapExtractor):
        ...     def extract(self, element):
        ...         return element[1] * 1_000
        >>> DynamicProcessingTimeSessionWindows.with_dynamic_gap(ByAmount())
        DynamicProcessingTimeSessionWindows()
    """


class EventTimeSessionWindows(EventTimeAssigner, _FixedGap):
    """Sessions by the timestamps of records, with one gap for all.

    Example:
        >>> keyed = orders.key_by(lambda order: order[0])
        >>> sessions = keyed.window(EventTimeSessionWindows.with_gap(Time.seconds(5)))
        >>> sorted(collect(sessions.reduce(max)))
        [('ann', 5, 1000), ('ann', 7, 12000), ('bob', 3, 2000)]
    """

    with_dynamic_gap = DynamicEventTimeSessionWindows.with_dynamic_gap


class ProcessingTimeSessionWindows(ProcessingTimeAssigner, _FixedGap):
    """Sessions by the wall clock, with one gap for all.

    Example:
        >>> ProcessingTimeSessionWindows.with_gap(Time.minutes(30))
        ProcessingTimeSessionWindows(1800000)
    """

    with_dynamic_gap = DynamicProcessingTimeSessionWindows.with_dynamic_gap


def _extract(extractor: Any) -> Callable[[Any], int]:
    if isinstance(extractor, SessionWindowTimeGapExtractor):
        return extractor.extract
    raise ArgumentError.here(
        f"the gap extractor is {extractor!r}",
        hint="Pass an object of a class derived from SessionWindowTimeGapExtractor.",
    )
