"""Tumbling windows of records, for a key whose records are all available in order of time.

In a batch run the operator gets all records of a key, and then fires its windows one after the other.
Windows that end in this run need no state and no timers: the records are split where windows end, and
the results are emitted.

    records of a key   ── of windows that end in this run ──┬── of other windows ──────
                          fired here                        stored as in any run (`windows.panes`)

Windows whose contents are one value are folded instead, see `windows.folded`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

from penstock.program.window_operation import Evaluation
from penstock.program.windows import MAX_TIMESTAMP, RegularWindows, TimeWindow
from penstock.runtime.operators.windows.contents import seen_of
from penstock.runtime.operators.windows.host import WindowHost
from penstock.wire.elements import MIN_TIMESTAMP

_WITH_STATE = frozenset({Evaluation.PROCESS, Evaluation.PROCESS_ALL})


class CompleteWindows:
    """Fires tumbling windows in event time of the current key of a host.

    Attributes:
        time: Time of the window that is firing or was the last to fire.
    """

    def __init__(self, host: WindowHost, shape: RegularWindows) -> None:
        """Begin without records."""
        self.time = MIN_TIMESTAMP
        self._host = host
        self._size, self._start_of = shape.size, shape.pane_of
        self._lateness = host.window.allowed_lateness
        self._values: list[Any] = []
        self._stamps: list[int] = []

    def hold(self, values: list[Any], stamps: list[int], final_watermark: int) -> int:
        """Add the records of the current key whose windows are all complete.

        Returns:
            The number of added records; the others must be stored in panes.
        """
        count = self._complete(stamps, final_watermark)
        self._values = values if count == len(values) else values[:count]
        self._stamps = stamps if count == len(stamps) else stamps[:count]
        return count

    def fire(self) -> None:
        """Fire every window of the added records, in order.

        Raises:
            Exception: A function raised it.
        """
        values, self._values = self._values, []
        stamps, self._stamps = self._stamps, []
        host, space = self._host, self._host.scope.context
        for start, some in self._windows(values, stamps):
            window = TimeWindow(start, start + self._size)
            space.group, space.key = host.keys.group, (host.keys.key, (window.start, window.end))
            host.fire(window, seen_of(None, host.window, some))
            host.call.clear(window)

    def _complete(self, stamps: list[int], final_watermark: int) -> int:
        """Return the number of records whose windows all end, and are cleaned up, in this run."""
        if stamps[0] == MIN_TIMESTAMP:
            return 0  # no timestamp, which is refused when records are added to panes
        if self._lateness and self._host.window.evaluation in _WITH_STATE:
            return 0  # `clear` of the function is called after later windows have fired
        last = self._start_of(stamps[-1]) + self._size - 1
        if min(last + self._lateness, MAX_TIMESTAMP) <= final_watermark:
            return len(stamps)
        span = self._size - 1 + self._lateness
        return bisect_left(stamps, self._start_of(final_watermark - span) + self._size)

    def _windows(self, values: list[Any], stamps: list[int]) -> Iterator[tuple[int, list[Any]]]:
        """Yield start and records of every window with records."""
        at, count = 0, len(values)
        while at < count:
            start = self._start_of(stamps[at])
            self.time = start + self._size - 1
            end = bisect_left(stamps, start + self._size, at)
            yield start, values[at:end]
            at = end
