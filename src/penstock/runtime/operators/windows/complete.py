"""Windows of a key whose records are all at hand, in order of time: no state, no timers.

In a batch run a key gives all its records at once, and then its windows fire, one after the other.
Those that the run is to see the end of need not be kept in between: records are cut where windows
end, folded, and the results leave.

    records of a key   ── of windows that end in this run ──┬── of those that do not ──
                          fired here                        kept as in any run, in panes

A window gives what it gives if it is kept in panes (`windows.panes`): its records are folded pane by
pane, and panes are combined in order. Five times as fast with two records a window.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import reduce
from math import gcd
from typing import Any, Protocol

from penstock.program.window_operation import Evaluation, Fold, PaneShape
from penstock.program.windows import MAX_TIMESTAMP, TimeWindow
from penstock.runtime.operators.windows.contents import detached, make_fold, stored_type
from penstock.runtime.operators.windows.host import WindowHost
from penstock.runtime.operators.windows.two_lists import two_lists
from penstock.state.backends.base import ABSENT
from penstock.state.schema.declared_form import declared_form
from penstock.wire.elements import MIN_TIMESTAMP

_AT_ONCE = 4096  # one record may be in any number of sliding windows
_WITH_STATE = frozenset({Evaluation.PROCESS, Evaluation.PROCESS_ALL})


class CompleteWindows:
    """Fires tumbling and sliding windows in event time of the current key of a host.

    Attributes:
        time: Of the window that fires, or was the last to fire.
    """

    def __init__(self, host: WindowHost, shape: PaneShape) -> None:
        """Begin without records.

        Args:
            host: What the operator has.
            shape: Of its windows.
        """
        self.time = MIN_TIMESTAMP
        self._host = host
        self._size, self._slide, self._offset = shape.size, shape.slide, shape.offset
        self._pane = gcd(shape.size, shape.slide)
        self._lateness = host.window.allowed_lateness
        self._folding = _FOLDINGS[host.window.fold](host)
        self._values: list[Any] = []
        self._stamps: list[int] = []

    def hold(self, values: list[Any], stamps: list[int], final_watermark: int) -> int:
        """Take the records of the current key whose windows are all complete.

        Args:
            values: All of the key.
            stamps: Their timestamps, in ascending order.
            final_watermark: The watermark when all input has been read.

        Returns:
            How many; the others are to be kept in panes.
        """
        count = self._complete(stamps, final_watermark)
        self._values = values if count == len(values) else values[:count]
        self._stamps = stamps if count == len(stamps) else stamps[:count]
        return count

    def fire(self, send: Callable[[list[Any], list[int]], None]) -> None:
        """Fire every window of the records that were taken, in order.

        Args:
            send: Takes results of windows without a function, a few thousand at a time, and their
                timestamps. The results of functions are sent by the host.

        Raises:
            Exception: Whatever a function raises on what was folded.
            PenstockError: The function that folds failed on a record.
        """
        values, self._values = self._values, []
        stamps, self._stamps = self._stamps, []
        if not values:
            return
        windows = (
            self._sliding(values, stamps)
            if self._size > self._slide
            else self._apart(values, stamps)
        )
        if self._host.window.evaluation is Evaluation.NONE:
            results: list[Any] = []
            times: list[int] = []
            for start, elements in windows:
                results += elements
                times.append(min(start + self._size - 1, MAX_TIMESTAMP))
                if len(times) >= _AT_ONCE:
                    send(results, times)
                    results, times = [], []
            send(results, times)
            return
        host, space = self._host, self._host.scope.context
        for start, elements in windows:
            window = TimeWindow(start, start + self._size)
            space.group, space.key = host.keys.group, (host.keys.key, (window.start, window.end))
            host.fire(window, elements)
            host.call.clear(window)

    def _complete(self, stamps: list[int], final_watermark: int) -> int:
        """Return how many records only have windows that end, and are over, in this run."""
        if stamps[0] == MIN_TIMESTAMP:
            return 0  # no timestamp, which is refused where records are added
        if self._lateness and self._host.window.evaluation in _WITH_STATE:
            return 0  # the function is told that a window is over after later ones have fired
        last = self._start_of(stamps[-1]) + self._size - 1
        if min(last + self._lateness, MAX_TIMESTAMP) <= final_watermark:
            return len(stamps)
        if self._size > self._slide:
            return 0  # windows that end share records with windows that do not
        span = self._size - 1 + self._lateness
        return bisect_left(stamps, self._start_of(final_watermark - span) + self._slide)

    def _start_of(self, stamp: int) -> int:
        return stamp - (stamp - self._offset) % self._slide

    def _apart(self, values: list[Any], stamps: list[int]) -> Iterator[tuple[int, Any]]:
        """Yield start and elements of windows that share no records."""
        size, slide, offset = self._size, self._slide, self._offset
        fold, elements = self._folded, self._folding.elements
        at, count = 0, len(values)
        while at < count:
            start = stamps[at] - (stamps[at] - offset) % slide
            self.time = start + size - 1
            end = bisect_left(stamps, start + size, at)
            if end > at:
                yield start, elements([fold(values[at:end])])
            at = end if size == slide else bisect_left(stamps, start + slide, end)

    def _sliding(self, values: list[Any], stamps: list[int]) -> Iterator[tuple[int, Any]]:
        """Yield start and elements of windows that have panes in common."""
        size, slide, width = self._size, self._slide, self._pane
        panes: list[int] = []
        kept: list[Any] = []
        at, count = 0, len(values)
        while at < count:
            pane = stamps[at] - (stamps[at] - self._offset) % width
            end = bisect_left(stamps, pane + width, at)
            panes.append(pane)
            kept.append(self._folded(values[at:end]))
            at = end
        first = 0
        start = self._first_with(panes[0])
        while first < len(panes):
            end = bisect_left(panes, start + size, first)
            self.time = start + size - 1
            yield start, self._folding.shared(kept[first:end])
            start += slide
            first = bisect_left(panes, start, first)
            if first < len(panes) and panes[first] >= start + size:
                start = self._first_with(panes[first])

    def _first_with(self, pane: int) -> int:
        """Return the start of the first window that has a pane."""
        start = self._start_of(pane)
        return start - (start + self._size - pane - self._pane) // self._slide * self._slide

    def _folded(self, values: list[Any]) -> Any:
        position = iter(values)
        try:
            return self._folding.fold(values, position)
        except BaseException as cause:
            raise self._host.failed(cause, values, position) from cause


class _Folding(Protocol):
    """How records become what the function of a window sees."""

    def fold(self, values: list[Any], position: Iterator[Any]) -> Any:
        """Return what is kept of records; `position` tells on which it failed."""

    def elements(self, kept: list[Any]) -> Any:
        """Return what the function sees of panes that no other window has."""

    def shared(self, kept: list[Any]) -> Any:
        """Return what the function sees of panes that other windows have, too."""


class _Values:
    """One value, of REDUCE and AGGREGATE."""

    def __init__(self, host: WindowHost) -> None:
        spec, window = host.spec, host.window
        self._fold = make_fold(window)
        self._form = declared_form(
            stored_type(window.kept_type), f"a window of operator {spec.name!r}", spec.origin
        )

    def fold(self, values: list[Any], position: Iterator[Any]) -> Any:
        kept = self._fold.fold(ABSENT, position)
        return kept if self._form is None else self._form(kept)

    def elements(self, kept: list[Any]) -> Any:
        return [self._fold.result(kept[0])]

    def shared(self, kept: list[Any]) -> Any:
        if self._fold.may_change:
            kept = [detached(value) for value in kept]
        return [self._fold.result(reduce(self._fold.merge, kept))]


class _Lists:
    """All records, of LIST."""

    def __init__(self, host: WindowHost) -> None:
        del host

    def fold(self, values: list[Any], position: Iterator[Any]) -> Any:
        return values

    def elements(self, kept: list[Any]) -> Any:
        return kept[0]

    def shared(self, kept: list[Any]) -> Any:
        raise AssertionError("lists are not kept in panes, except for tumbling windows")


class _TwoLists(_Lists):
    """All records, a list per input, of TWO_LISTS."""

    def fold(self, values: list[Any], position: Iterator[Any]) -> Any:
        return two_lists(position)


_FOLDINGS: dict[Fold, Callable[[WindowHost], _Folding]] = {
    Fold.REDUCE: _Values,
    Fold.AGGREGATE: _Values,
    Fold.LIST: _Lists,
    Fold.TWO_LISTS: _TwoLists,
}
