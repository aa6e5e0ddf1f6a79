"""Windows: finite sets of records of a stream, those at regular distances with the panes that they share, and their bounds.

    sliding (tumbling, if they touch)        growing

    |------------|                           |---|
        |------------|                       |-------|
            |------------|                   |-----------|
                                                         |---|
      |   |   |   |   |  panes               |   |   |   |   |  panes

Windows end `slide` apart. Sliding ones have one length; growing ones begin `size` apart, and each is `slide` longer than
the one before. Panes are stretches of time that belong to the same windows from one end to the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from enum import Enum
from math import gcd
from typing import Any, Protocol

from penstock.errors import ExpressionError

MAX_TIMESTAMP = 2**63 - 1
"""Long.MAX: the watermark at the end of a bounded input."""

MIN_TIMESTAMP = -(2**63)
"""Long.MIN: the timestamp of a record that has none."""


def _start_of(time: int, offset: int, distance: int) -> int:
    """Return the last start of stretches at a distance that is not behind a time: the only formula of windows."""
    return time - (time - offset) % distance


class Window(ABC):
    """A finite set of records of a stream.

    A subclass of yours has to be a frozen dataclass of plain fields: state is stored by window.
    """

    __slots__ = ()

    @abstractmethod
    def max_timestamp(self) -> int:
        """Return the greatest timestamp in epoch milliseconds that belongs to the window."""


class TakesMerges(Protocol):
    """A `MergingWindowAssigner.MergeCallback` of time windows."""

    def merge(self, to_be_merged: Iterable[TimeWindow], merge_result: TimeWindow) -> None:
        """Let several windows become `merge_result`."""


@dataclass(frozen=True, slots=True, order=True, repr=False)
class TimeWindow(Window):
    """From `start`, included, to `end`, excluded, in epoch milliseconds.

    At the limits of Long a window may begin or end beyond them: its bounds are exact.

    Example:
        >>> TimeWindow(0, 60_000).max_timestamp()
        59999
        >>> TimeWindow(0, 10).intersects(TimeWindow(10, 20))
        True
        >>> TimeWindow(0, 10).cover(TimeWindow(10, 20))
        TimeWindow(start=0, end=20)
    """

    start: int
    end: int

    def max_timestamp(self) -> int:
        """Return the last millisecond of the window, Long.MAX if that is before it."""
        return min(self.end - 1, MAX_TIMESTAMP)

    def intersects(self, other: TimeWindow) -> bool:
        """Return whether this window and `other` overlap or touch."""
        return self.start <= other.end and self.end >= other.start

    def cover(self, other: TimeWindow) -> TimeWindow:
        """Return the least window that contains both this window and `other`."""
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """Return the start of the window that contains a timestamp.

        Args:
            timestamp: Epoch milliseconds.
            offset: Offset of the starts of windows, in milliseconds.
            window_size: Milliseconds.

        Example:
            >>> TimeWindow.get_window_start_with_offset(61_500, 0, 60_000)
            60000
        """
        return _start_of(timestamp, offset, window_size)

    @staticmethod
    def merge_windows(windows: Iterable[TimeWindow], callback: TakesMerges) -> None:
        """Find the windows that overlap or touch.

        Args:
            windows: In any order.
            callback: Its `merge` is called with windows, two at least, and the merged window.

        Example:
            >>> class Shown:
            ...     def merge(self, to_be_merged, merge_result):
            ...         print(len(to_be_merged), merge_result)
            >>> windows = [TimeWindow(0, 5), TimeWindow(9, 12), TimeWindow(3, 8)]
            >>> TimeWindow.merge_windows(windows, Shown())
            2 TimeWindow(start=0, end=8)
        """
        merged: list[TimeWindow] = []
        cover: TimeWindow | None = None
        for window in [*sorted(windows), None]:
            if window is not None and cover is not None and cover.intersects(window):
                merged.append(window)
                cover = cover.cover(window)
                continue
            if cover is not None and len(set(merged)) > 1:
                callback.merge(merged, cover)
            merged, cover = [] if window is None else [window], window

    def __repr__(self) -> str:
        return f"TimeWindow(start={self.start}, end={self.end})"


@dataclass(frozen=True, slots=True, repr=False)
class CountWindow(Window):
    """A window of a number of records, known by its number."""

    id: int

    def max_timestamp(self) -> int:
        """Return Long.MAX: it does not depend on time."""
        return MAX_TIMESTAMP

    def __repr__(self) -> str:
        return f"CountWindow(id={self.id})"


@dataclass(frozen=True, slots=True, repr=False)
class GlobalWindow(Window):
    """The window that contains all records of a key.

    Example:
        >>> GlobalWindow.get() == GlobalWindow()
        True
    """

    @staticmethod
    def get() -> GlobalWindow:
        """Return the only global window."""
        return _GLOBAL

    def max_timestamp(self) -> int:
        """Return Long.MAX."""
        return MAX_TIMESTAMP

    def __repr__(self) -> str:
        return "GlobalWindow"


_GLOBAL = GlobalWindow()


class TriggerResult(Enum):
    """The decision of a trigger: (evaluate the window, clear its contents)."""

    CONTINUE = (False, False)
    FIRE_AND_PURGE = (True, True)
    FIRE = (True, False)
    PURGE = (False, True)

    def is_fire(self) -> bool:
        """Return whether the window is evaluated."""
        return self.value[0]

    def is_purge(self) -> bool:
        """Return whether the contents of the window are cleared."""
        return self.value[1]


@dataclass(frozen=True, slots=True)
class RegularWindows:
    """Windows whose contents may be stored per pane.

    Attributes:
        size: Length of a window in milliseconds, of growing ones that of the longest.
        slide: Distance of the ends of two windows.
        offset: Start of some window.
        grows: Whether windows are growing ones; then `size` is a multiple of `slide`.
        width: Length of a pane.

    Examples:
        >>> RegularWindows(20, 10, 0).of(13)
        [(10, 30), (0, 20)]
        >>> RegularWindows(20, 5, 0, grows=True).of(13)
        [(0, 15), (0, 20)]
    """

    size: int
    slide: int
    offset: int
    grows: bool = False
    width: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", gcd(self.size, self.slide))

    @property
    def is_tumbling(self) -> bool:
        """True if windows touch, and do not overlap: a window is a pane."""
        return self.size == self.slide

    def of(self, time: int) -> list[tuple[int, int]]:
        """Return start and end of the windows that contain a time: of sliding ones the latest first."""
        size, slide = self.size, self.slide
        if not self.grows:
            last = _start_of(time, self.offset, slide)
            return [(start, start + size) for start in range(last, time - size, -slide)]
        start = _start_of(time, self.offset, size)
        return [(start, end) for end in range(self.end_behind(time + 1), start + size + 1, slide)]

    def pane_of(self, time: Any) -> Any:
        """Return the start of the pane that contains a time, or that of each time of an array."""
        return _start_of(time, self.offset, self.width)

    def ends_of(self, pane: int) -> range:
        """Return the ends of the windows that contain a pane, the earliest first; none between windows with gaps."""
        return range(self.end_behind(pane + self.width), self.last_end(pane) + 1, self.slide)

    def end_behind(self, time: int) -> int:
        """Return the first end of a window that is not before a time."""
        return time + (self.offset + self.size - time) % self.slide

    def last_end(self, time: int) -> int:
        """Return the end of the last window that begins at a time or before; the window may be over then."""
        distance = self.size if self.grows else self.slide
        return _start_of(time, self.offset, distance) + self.size

    def start_of(self, end: int) -> int:
        """Return the start of the window that ends at a time."""
        return _start_of(end - 1, self.offset, self.size) if self.grows else end - self.size


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def zone_of_bounds(kind: Any) -> tzinfo | None:
    """Return the zone of the bounds of a type: UTC for instants, none for timestamps without a zone."""
    return UTC if getattr(kind, "name", "") == "TimestampLtz" else None


def moments_of(
    start: int, end: int, zone: tzinfo | None, origin: Any = None
) -> tuple[datetime, datetime]:
    """Return the bounds of a window from milliseconds since 1970."""
    epoch = _EPOCH.replace(tzinfo=zone)
    try:
        return epoch + timedelta(milliseconds=start), epoch + timedelta(milliseconds=end)
    except OverflowError as refused:
        raise ExpressionError(
            f"a window from {start} ms to {end} ms since 1970 has bounds that are no timestamps",
            hint="Timestamps are of the years 1 to 9999. Correct the time of the records, or leave out the bounds.",
            origin=origin,
        ) from refused
