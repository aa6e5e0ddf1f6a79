"""Windows at regular distances that share panes.

Panes divide time (`program.regular_windows`). A record is added to one pane, and a window that fires combines its
panes. So the cost of a record does not depend on the number of its windows.

    distance 4, length 6     |----w0----|
                                 |----w1----|
    panes of 2               p0  p1  p2  p3  p4

Each timer is that of a window. A new pane registers a timer for its first window that has not ended; a
window that fires registers one for the next window if they share a pane. So every window with records
fires, and no record registers more than one timer. A growing window that fires leaves one pane to the next.

Windows that end after Long.MAX are all due then. One timer lets all of them fire in order: with a timer
each, one of them could remove panes that an earlier window still needs.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from penstock.program.windows import MAX_TIMESTAMP, MIN_TIMESTAMP, RegularWindows, TimeWindow
from penstock.runtime.fold.panes import pane_starts
from penstock.runtime.operators.windows.contents import Contents, FoldedContents
from penstock.runtime.operators.windows.host import WindowHost


class PaneEngine:
    """Stores windows at regular distances that fire at their end."""

    def __init__(self, host: WindowHost, shape: RegularWindows, contents: Contents) -> None:
        self._host = host
        self._space = host.scope.context
        self._contents = contents
        self._shape = shape
        self._pane = shape.width
        self._by_event_time = host.window.assigner.is_event_time()
        self._lateness = host.window.allowed_lateness if self._by_event_time else 0
        self._leaves_one_pane = shape.grows and not self._lateness
        timers = host.timers
        self._register, self._clock = (
            (timers.register_event_time_timer, timers.current_watermark)
            if self._by_event_time
            else (timers.register_processing_time_timer, timers.current_processing_time)
        )

    def process(self, values: list[Any], stamps: list[int]) -> None:
        """Add records of the current key, pane by pane."""
        clock = self._clock()
        if not self._by_event_time:
            stamps = [clock] * len(values)
        if MIN_TIMESTAMP in stamps:
            self._refuse(values, stamps.index(MIN_TIMESTAMP))
        panes: dict[int, tuple[list[int], list[Any]]] = {}
        starts = pane_starts(stamps, self._shape)
        for pane, stamp, value in zip(starts, stamps, values, strict=True):
            found = panes.get(pane)
            if found is None:
                found = panes[pane] = ([], [])
            found[0].append(stamp)
            found[1].append(value)
        for pane, (times, records) in panes.items():
            self._add(pane, times, records, clock)

    def keep(self, pane: int, accumulator: Any, end: int) -> None:
        """Write the accumulator of a pane to state (batch run)."""
        assert isinstance(self._contents, FoldedContents), "lists are not folded"
        self._space.key = (self._host.keys.key, pane)
        self._contents.put(accumulator)
        self._wait_for(end)

    def on_event_time(self, form: Any, time: int) -> None:
        """React to the end of a window, or to the end of its lateness."""
        self._on_time(TimeWindow(*form), time)

    def on_processing_time(self, form: Any, time: int) -> None:
        """React to the end of a window."""
        self._on_time(TimeWindow(*form), time)

    def _on_time(self, window: TimeWindow, time: int) -> None:
        if time == MAX_TIMESTAMP:
            self._fire_last()
            return
        if time == window.max_timestamp():
            self._fire(window)
            following = self._following(window)
            if self._has_panes(following.start, window.end):
                self._wait_for(following.end)
            if self._lateness:
                self._register_cleanup(window)
        if time == self._cleanup_time(window):
            self._clean(window)

    def _fire_last(self) -> None:
        """Fire the windows of the current key that end at Long.MAX or later."""
        shape = self._shape
        first, last = shape.end_behind(MAX_TIMESTAMP + 1), shape.last_end(MAX_TIMESTAMP)
        windows = [self._ending(end) for end in range(first, last + 1, shape.slide)]
        held = [window for window in windows if self._has_panes(window.start, window.end)]
        for window in held:
            self._fire(window)
        for window in held:
            self._clean(window)

    def _add(self, pane: int, stamps: list[int], values: list[Any], clock: int) -> None:
        ends = self._shape.ends_of(pane)
        if not ends:  # between two windows: the pane belongs to none
            self._drop(stamps, values, clock)
            return
        if ends[0] - 1 <= clock or clock == MAX_TIMESTAMP:
            ends = self._kept(ends, clock)
            if not ends:
                self._drop(stamps, values, clock)
                return
            self._add_late(pane, values, ends, clock)
            return
        if self._put(pane, values):
            self._wait_for(ends[0])

    def _kept(self, ends: range, clock: int) -> range:
        """Return the ends of windows that are not cleaned up."""
        if clock == MAX_TIMESTAMP:
            return range(0)
        for number, end in enumerate(ends):
            if end - 1 + self._lateness > clock:
                return ends[number:]
        return range(0)

    def _add_late(self, pane: int, values: list[Any], ends: range, clock: int) -> None:
        """Add to a pane of a window that has ended; that window fires again for every record."""
        over = [end for end in ends if end - 1 <= clock]
        if not over:
            self._put(pane, values)
        for value in values if over else ():
            self._put(pane, [value])
            for end in over:
                window = self._ending(end)
                self._fire(window)
                self._register_cleanup(window)
        if len(over) < len(ends):
            self._wait_for(ends[len(over)])

    def _put(self, pane: int, values: list[Any]) -> bool:
        self._space.key = (self._host.keys.key, pane)
        position = iter(values)
        try:
            return self._contents.add_all(position)
        except BaseException as cause:
            raise self._host.failed(cause, values, position) from cause

    def _drop(self, stamps: list[int], values: list[Any], clock: int) -> None:
        if self._by_event_time:
            self._host.late += [
                (stamp, value)
                for stamp, value in zip(stamps, values, strict=True)
                if min(stamp + self._lateness, MAX_TIMESTAMP) <= clock
            ]

    def _fire(self, window: TimeWindow) -> None:
        key = self._host.keys.key
        panes = ((key, pane) for pane in range(window.start, window.end, self._pane))
        elements = self._contents.combined(panes)
        if elements is not None:
            self._space.key = (key, (window.start, window.end))
            self._host.fire(window, elements)
            if self._leaves_one_pane:
                self._join_panes(window)

    def _join_panes(self, window: TimeWindow) -> None:
        """Move all panes of a growing window to the first one: the next window has them all."""
        key = self._host.keys.key
        self._space.key = (key, window.start)
        others = range(window.start + self._pane, window.end, self._pane)
        self._contents.merge((key, pane) for pane in others)

    def _has_panes(self, start: int, end: int) -> bool:
        key = self._host.keys.key
        panes = ((key, pane) for pane in range(start, end, self._pane))
        return self._contents.any_of(panes)

    def _ending(self, end: int) -> TimeWindow:
        return TimeWindow(self._shape.start_of(end), end)

    def _following(self, window: TimeWindow) -> TimeWindow:
        return self._ending(window.end + self._shape.slide)

    def _wait_for(self, end: int) -> None:
        self._space.key = (self._host.keys.key, (self._shape.start_of(end), end))
        self._register(min(end - 1, MAX_TIMESTAMP))

    def _register_cleanup(self, window: TimeWindow) -> None:
        time = self._cleanup_time(window)
        if time < MAX_TIMESTAMP:
            self._space.key = (self._host.keys.key, (window.start, window.end))
            self._register(time)

    def _cleanup_time(self, window: TimeWindow) -> int:
        return min(window.max_timestamp() + self._lateness, MAX_TIMESTAMP)

    def _clean(self, window: TimeWindow) -> None:
        """Remove the panes that no later window contains."""
        key = self._host.keys.key
        kept_from = min(self._following(window).start, window.end)
        for pane in range(window.start, kept_from, self._pane):
            self._space.key = (key, pane)
            self._contents.clear()
        self._space.key = (key, (window.start, window.end))
        self._host.call.clear(window)

    def _refuse(self, values: list[Any], at: int) -> None:
        """Call the assigner for a record without a timestamp, which raises the error."""
        position = iter(values)
        *_, value = islice(position, at + 1)
        try:
            self._host.window.assigner.assign_windows(value, MIN_TIMESTAMP, None)
        except BaseException as cause:
            raise self._host.failed(cause, values, position) from cause
