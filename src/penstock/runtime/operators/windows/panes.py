"""Windows at regular distances that share panes: in state, and in memory where the records of a key group are folded.

Panes divide time (`program.windows`). A record is added to one pane, and a window that fires combines its
panes. So the cost of a record does not depend on the number of its windows.

    distance 4, length 6     |----w0----|
                                 |----w1----|
    panes of 2               p0  p1  p2  p3  p4

Each timer is that of a window. A new pane registers a timer for its first window that has not ended; a
window that fires registers one for the next window if they share a pane. So every window with records
fires, and no record registers more than one timer. A growing window that fires leaves one pane to the next.

Windows that end after Long.MAX are all due then. One timer lets all of them fire in order: with a timer
each, one of them could remove panes that an earlier window still needs.

In a batch run all records of a key group are folded before any window fires (`runtime.fold`). Windows
that end in the run fire from memory. Panes of other windows are written to state, with a timer for the
first of these windows:

    entries    ── of windows that end in this run ──┬── of other windows ──────────
    by pane       fired here, panes merged           stored in panes

A pane may belong to windows of both kinds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import reduce
from itertools import islice, repeat
from typing import Any

from penstock.program.fold import Fold
from penstock.program.window_operation import Evaluation
from penstock.program.windows import MAX_TIMESTAMP, MIN_TIMESTAMP, RegularWindows, TimeWindow
from penstock.runtime.fold.fold_table import Entries
from penstock.runtime.fold.loops import result_of
from penstock.runtime.fold.panes import pane_starts
from penstock.runtime.operators.windows.contents import (
    Contents,
    FoldedContents,
    detached,
    stored_form,
)
from penstock.runtime.operators.windows.host import WindowHost
from penstock.user_failure import raise_interrupt, short

_AT_ONCE = 4096  # a record may belong to any number of sliding windows
_WITH_STATE = frozenset({Evaluation.PROCESS, Evaluation.PROCESS_ALL})


class FoldedWindows:
    """Fires the windows of one key group after the other."""

    def __init__(
        self,
        host: WindowHost,
        fold: Fold,
        shape: RegularWindows,
        engine: PaneEngine,
        send: Callable[[list[Any], list[int]], None],
    ) -> None:
        """Bind."""
        self._host = host
        self._fold = fold
        self._form = stored_form(host.spec)
        self._shape = shape
        self._engine = engine
        self._send = send
        self._has_function = host.window.evaluation is not Evaluation.NONE
        self._results: list[Any] = []
        self._times: list[int] = []
        self._time = 0
        self._grown: tuple[int, int, Any] | None = None

    def fire(self, entries: Entries, group_of: Callable[[Any], int], final_watermark: int) -> bool:
        """Fire the windows of a key group, those of a key in order; return whether state was written."""
        limit = self.first_left(final_watermark)
        panes = sorted(self._in_windows(entries))
        if self._shape.is_tumbling and not self._has_function:
            size = self._shape.size
            count = len(panes) if limit is None else bisect_left(panes, limit - size)
            for pane in panes[:count]:
                self._fire_apart(pane, entries[pane])
            panes = panes[count:]
        for key, of_key, kept in _by_key(panes, entries):
            self._host.keys.key, self._host.keys.group = key, group_of(key)
            self._host.scope.context.group = self._host.keys.group
            self._fire_key(of_key, kept, limit)
        self._flush()
        return limit is not None

    def keep(self, entries: Entries, group_of: Callable[[Any], int], limit: int) -> None:
        """Store the panes of a key group that belong to windows which do not end before a limit."""
        for key, panes, kept in _by_key(sorted(self._in_windows(entries)), entries):
            self._host.keys.key, self._host.keys.group = key, group_of(key)
            self._host.scope.context.group = self._host.keys.group
            self._keep_from(limit, panes, kept)

    def first_left(self, final_watermark: int) -> int | None:
        """Return the end of the first window that is not cleaned up in this run, or None."""
        lateness = self._host.window.allowed_lateness
        if lateness and self._host.window.evaluation in _WITH_STATE:
            # `clear` of the function is called after later windows have fired.
            return -(1 << 70)
        if final_watermark == MAX_TIMESTAMP:
            return None
        return self._shape.end_behind(final_watermark - lateness + 2)

    def _in_windows(self, entries: Entries) -> Iterator[int]:
        """Yield the panes that belong to a window: between windows with gaps there are others."""
        for pane in entries:
            assert pane is not None, "windows at regular distances are folded by pane"
            if self._shape.last_end(pane) > pane:
                yield pane

    def _fire_apart(self, pane: int, of_key: dict[Any, Any]) -> None:
        """Fire the windows of one pane, without a function: what was folded is the result."""
        results = list(of_key.values())
        result, form = self._fold.result, self._form
        last = pane + self._shape.size - 1
        time = min(last, MAX_TIMESTAMP)
        try:
            if form is not None:
                results = [form(kept) for kept in results]
            if result is not None:
                results = [result(kept) for kept in results]
        except BaseException as cause:
            # the window is fired again alone, so that the error names it
            raise_interrupt(cause)
            self._time = last
            for self._host.keys.key, kept in of_key.items():
                self._guarded(self._result, kept)
            raise
        self._add(results, list(repeat(time, len(results))))

    def _fire_key(self, panes: list[int], kept: list[Any], limit: int | None) -> None:
        """Fire the windows of the current key that end, and store the panes of other windows."""
        self._grown = None
        for end, some in self._windows(panes, kept, limit):
            self._time = end - 1
            self._guarded(self._fire_window, end, some)
        if limit is not None:
            self._keep_from(limit, panes, kept)

    def _keep_from(self, limit: int, panes: list[int], kept: list[Any]) -> None:
        for pane, accumulator in zip(panes, kept, strict=True):
            ends = self._shape.ends_of(pane)
            if ends and ends[-1] >= limit:
                self._time = pane
                self._guarded(self._keep, pane, accumulator, max(ends[0], limit))

    def _keep(self, pane: int, kept: Any, end: int) -> None:
        self._engine.keep(pane, self._formed(kept), end)

    def _windows(
        self, panes: list[int], kept: list[Any], limit: int | None
    ) -> Iterator[tuple[int, list[Any]]]:
        """Yield the end of each window that ends, and the accumulators of its panes."""
        shape = self._shape
        count, end = len(panes), shape.ends_of(panes[0])[0]
        while limit is None or end < limit:
            first = bisect_left(panes, shape.start_of(end))
            if first == count:
                return
            behind = bisect_left(panes, end, first)
            if behind > first:
                yield end, kept[first:behind]
                end += shape.slide
            else:
                end = shape.ends_of(panes[first])[0]

    def _fire_window(self, end: int, kept: list[Any]) -> None:
        host = self._host
        result = result_of(self._fold, self._merged(end, kept))
        if not self._has_function:
            self._add([result], [min(self._time, MAX_TIMESTAMP)])
            return
        self._flush()
        window = TimeWindow(self._shape.start_of(end), end)
        host.scope.context.key = (host.keys.key, (window.start, window.end))
        host.fire(window, [result])
        host.call.clear(window)

    def _merged(self, end: int, kept: list[Any]) -> Any:
        """Return the accumulator of all panes of a window; that of a growing one goes on with that of the window before."""
        grows, start, new = self._shape.grows, 0, kept
        if grows:
            start = self._shape.start_of(end)
            if self._grown is not None and self._grown[0] == start:
                _, known, before = self._grown
                new = [before, *kept[known:]]
        some = [self._formed(accumulator) for accumulator in new]
        if self._fold.may_change:  # other windows contain the same panes
            some = [detached(accumulator) for accumulator in some]
        merged = reduce(self._fold.merge, some)
        if grows:
            self._grown = (start, len(kept), merged)
        return merged

    def _result(self, kept: Any) -> Any:
        return result_of(self._fold, self._formed(kept))

    def _formed(self, kept: Any) -> Any:
        return kept if self._form is None else self._form(kept)

    def _add(self, results: list[Any], times: list[int]) -> None:
        self._results += results
        self._times += times
        if len(self._results) >= _AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        results, self._results = self._results, []
        times, self._times = self._times, []
        for start in range(0, len(results), _AT_ONCE):
            self._send(results[start : start + _AT_ONCE], times[start : start + _AT_ONCE])

    def _guarded(self, call: Callable[..., Any], *arguments: Any) -> None:
        try:
            call(*arguments)
        except BaseException as cause:
            where = f"timer {self._time} of key {short(self._host.keys.key)}"
            raise self._host.failed_in(where, cause) from cause


def _by_key(panes: list[int], entries: Entries) -> Iterator[tuple[Any, list[int], list[Any]]]:
    """Yield each key, those of the panes that have it, in order, and what these keep of it."""
    by_key: dict[Any, tuple[list[int], list[Any]]] = {}
    for pane in panes:
        for key, kept in entries[pane].items():
            of_key = by_key.get(key)
            if of_key is None:
                by_key[key] = ([pane], [kept])
            else:
                of_key[0].append(pane)
                of_key[1].append(kept)
    return ((key, of_key, kept) for key, (of_key, kept) in by_key.items())


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
            pane_records = panes.get(pane)
            if pane_records is None:
                pane_records = panes[pane] = ([], [])
            pane_records[0].append(stamp)
            pane_records[1].append(value)
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

    def _refuse(self, values: list[Any], index: int) -> None:
        """Call the assigner for a record without a timestamp, which raises the error."""
        position = iter(values)
        *_, value = islice(position, index + 1)
        try:
            self._host.window.assigner.assign_windows(value, MIN_TIMESTAMP, None)
        except BaseException as cause:
            raise self._host.failed(cause, values, position) from cause
