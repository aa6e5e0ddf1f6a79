"""Assigners of windows of time: tumbling, sliding at equal distances, those of SQL's CUMULATE, and sessions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from typing import Any, Self

from penstock.api.windows.assigner import (
    MergingWindowAssigner,
    WindowAssigner,
    milliseconds,
    positive,
    smaller_offset,
)
from penstock.api.windows.trigger import Trigger
from penstock.api.windows.triggers import EventTimeTrigger, ProcessingTimeTrigger
from penstock.errors import ArgumentError, TypeMismatchError
from penstock.program.windows import MIN_TIMESTAMP, RegularWindows, TimeWindow
from penstock.types.time import Time


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
        windows = self.regular.of(self._time_of(timestamp, context))
        return [TimeWindow(start, end) for start, end in windows]


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
            offset: Offset of the starts; shorter than `size`, of either sign.

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
            offset: Offset of the starts; shorter than `slide`, of either sign.

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
