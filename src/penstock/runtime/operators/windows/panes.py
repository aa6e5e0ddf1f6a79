"""Windows at regular distances that share panes.

Panes divide time; their length is the greatest common divisor of length and distance of the windows.
A record is added to one pane, and a window that fires combines its panes. So the cost of a record
does not depend on the number of its windows.

    distance 4, length 6     |----w0----|
                                 |----w1----|
    panes of 2               p0  p1  p2  p3  p4

Each timer is that of a window. A new pane registers a timer for its first window that has not ended; a
window that fires registers one for the next window if they share a pane. So every window with records
fires, and no record registers more than one timer.

Windows that end after Long.MAX are all due then. One timer lets all of them fire in order: with a timer
each, one of them could remove panes that an earlier window still needs.
"""

from __future__ import annotations

from typing import Any

from penstock.program.window_operation import PaneShape
from penstock.program.windows import MAX_TIMESTAMP, MIN_TIMESTAMP, TimeWindow
from penstock.runtime.fold.panes import width_of
from penstock.runtime.operators.windows.contents import Contents, FoldedContents
from penstock.runtime.operators.windows.host import WindowHost


class PaneEngine:
    """Stores tumbling and sliding windows that fire at their end."""

    def __init__(self, host: WindowHost, shape: PaneShape, contents: Contents) -> None:
        self._host = host
        self._space = host.scope.context
        self._contents = contents
        self._size, self._slide, self._offset = shape.size, shape.slide, shape.offset
        self._pane = width_of(shape)
        self._by_event_time = host.window.assigner.is_event_time()
        self._lateness = host.window.allowed_lateness if self._by_event_time else 0
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
        width, offset = self._pane, self._offset
        panes: dict[int, tuple[list[int], list[Any]]] = {}
        position = iter(values)
        for stamp, value in zip(stamps, position, strict=False):
            if stamp == MIN_TIMESTAMP:
                self._refuse(value, values, position)
            pane = stamp - (stamp - offset) % width
            found = panes.get(pane)
            if found is None:
                found = panes[pane] = ([], [])
            found[0].append(stamp)
            found[1].append(value)
        for pane, (times, records) in panes.items():
            self._add(pane, times, records, clock)

    def keep(self, pane: int, accumulator: Any, start: int) -> None:
        """Write the accumulator of a pane to state (batch run).

        Args:
            pane: Start of the pane.
            accumulator: The accumulator of a fold.
            start: Start of its first window that has not ended.
        """
        assert isinstance(self._contents, FoldedContents), "lists are not folded"
        self._space.key = (self._host.keys.key, pane)
        self._contents.put(accumulator)
        self._wait_for(start)

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
            following = window.start + self._slide
            if self._has_panes(following, window.end):
                self._wait_for(following)
            if self._lateness:
                self._register_cleanup(window)
        if time == self._cleanup_time(window):
            self._clean(window)

    def _fire_last(self) -> None:
        """Fire the windows of the current key that end at Long.MAX or later."""
        first = MAX_TIMESTAMP + 1 - self._size
        first += (self._offset - first) % self._slide
        starts = range(first, MAX_TIMESTAMP + 1, self._slide)
        windows = [TimeWindow(start, start + self._size) for start in starts]
        held = [window for window in windows if self._has_panes(window.start, window.end)]
        for window in held:
            self._fire(window)
        for window in held:
            self._clean(window)

    def _add(self, pane: int, stamps: list[int], values: list[Any], clock: int) -> None:
        last = pane - (pane - self._offset) % self._slide
        if last + self._size <= pane:  # between two windows: the pane belongs to none
            self._drop(stamps, values, clock)
            return
        steps = (last - (pane + self._pane - self._size)) // self._slide
        first = last - steps * self._slide
        starts = range(first, last + 1, self._slide)
        if first + self._size - 1 <= clock or clock == MAX_TIMESTAMP:
            starts = self._kept(starts, clock)
            if not starts:
                self._drop(stamps, values, clock)
                return
            self._add_late(pane, values, starts, clock)
            return
        if self._put(pane, values):
            self._wait_for(first)

    def _kept(self, starts: range, clock: int) -> range:
        """Return the windows that are not cleaned up."""
        if clock == MAX_TIMESTAMP:
            return range(0)
        for number, start in enumerate(starts):
            if start + self._size - 1 + self._lateness > clock:
                return starts[number:]
        return range(0)

    def _add_late(self, pane: int, values: list[Any], starts: range, clock: int) -> None:
        """Add to a pane of a window that has ended; that window fires again for every record."""
        ended = [start for start in starts if start + self._size - 1 <= clock]
        if not ended:
            self._put(pane, values)
        for value in values if ended else ():
            self._put(pane, [value])
            for start in ended:
                window = TimeWindow(start, start + self._size)
                self._fire(window)
                self._register_cleanup(window)
        if len(ended) < len(starts):
            self._wait_for(starts[len(ended)])

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

    def _has_panes(self, start: int, end: int) -> bool:
        key = self._host.keys.key
        panes = ((key, pane) for pane in range(start, end, self._pane))
        return self._contents.any_of(panes)

    def _wait_for(self, start: int) -> None:
        self._space.key = (self._host.keys.key, (start, start + self._size))
        self._register(min(start + self._size - 1, MAX_TIMESTAMP))

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
        for pane in range(window.start, min(window.start + self._slide, window.end), self._pane):
            self._space.key = (key, pane)
            self._contents.clear()
        self._space.key = (key, (window.start, window.end))
        self._host.call.clear(window)

    def _refuse(self, value: Any, values: list[Any], position: Any) -> None:
        """Call the assigner for a record without a timestamp, which raises the error."""
        try:
            self._host.window.assigner.assign_windows(value, MIN_TIMESTAMP, None)
        except BaseException as cause:
            raise self._host.failed(cause, values, position) from cause
