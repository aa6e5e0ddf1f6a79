"""Windows at regular distances of a key group whose records are folded by key and pane.

In a batch run all records of a key group are folded before any window fires (`runtime.fold`). Windows
that end in the run fire from memory. Panes of other windows are written to state, with a timer for the
first of these windows:

    entries    ── of windows that end in this run ──┬── of other windows ──────────
    by pane       fired here, panes merged           stored in panes (`windows.panes`)

A pane may belong to windows of both kinds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import reduce
from itertools import repeat
from typing import Any

from penstock.program.folding.fold import Fold
from penstock.program.window_operation import Evaluation, PaneShape
from penstock.program.windows import MAX_TIMESTAMP, TimeWindow
from penstock.runtime.fold.fold_table import Entries
from penstock.runtime.fold.loops import result_of
from penstock.runtime.fold.panes import width_of
from penstock.runtime.operators.windows.contents import detached, stored_form
from penstock.runtime.operators.windows.host import WindowHost
from penstock.runtime.operators.windows.panes import PaneEngine
from penstock.user_failure import raise_interrupt, short

_AT_ONCE = 4096  # a record may belong to any number of sliding windows
_WITH_STATE = frozenset({Evaluation.PROCESS, Evaluation.PROCESS_ALL})


class FoldedWindows:
    """Fires the windows of one key group after the other."""

    def __init__(
        self,
        host: WindowHost,
        fold: Fold,
        shape: PaneShape,
        engine: PaneEngine,
        send: Callable[[list[Any], list[int]], None],
    ) -> None:
        """Bind.

        Args:
            host: The operator's values.
            fold: Merges panes, and makes results.
            shape: Shape of the windows.
            engine: Stores panes of windows that do not end in this run.
            send: Receives results of windows without a function, a few thousand at a time, and
                their timestamps. The host emits the results of functions.
        """
        self._host = host
        self._fold = fold
        self._form = stored_form(host.spec)
        self._size, self._slide, self._offset = shape.size, shape.slide, shape.offset
        self._width = width_of(shape)
        self._engine = engine
        self._send = send
        self._has_function = host.window.evaluation is not Evaluation.NONE
        self._results: list[Any] = []
        self._times: list[int] = []
        self._time = 0

    def fire(self, entries: Entries, group_of: Callable[[Any], int], final_watermark: int) -> bool:
        """Fire the windows of a key group, those of a key in order.

        Args:
            entries: Start of a pane to key to accumulator.
            group_of: Key to key group.
            final_watermark: The watermark at the end of all input.

        Returns:
            Whether it has written to state.

        Raises:
            PenstockError: The user's function failed.
        """
        limit = self._first_left(final_watermark)
        panes = sorted(self._in_windows(entries))
        if self._size == self._slide and not self._has_function:
            count = len(panes) if limit is None else bisect_left(panes, limit)
            for pane in panes[:count]:
                self._fire_apart(pane, entries[pane])
            panes = panes[count:]
        for key, of_key, kept in _by_key(panes, entries):
            self._host.keys.key, self._host.keys.group = key, group_of(key)
            self._host.scope.context.group = self._host.keys.group
            self._fire_key(of_key, kept, limit)
        self._flush()
        return limit is not None

    def _first_left(self, final_watermark: int) -> int | None:
        """Return the start of the first window that is not cleaned up in this run, or None."""
        lateness = self._host.window.allowed_lateness
        if lateness and self._host.window.evaluation in _WITH_STATE:
            # `clear` of the function is called after later windows have fired.
            return -(1 << 70)
        if final_watermark == MAX_TIMESTAMP:
            return None
        span = self._size - 1 + lateness
        return self._start_of(final_watermark - span) + self._slide

    def _start_of(self, time: int) -> int:
        return time - (time - self._offset) % self._slide

    def _first_with(self, pane: int) -> int:
        """Return the start of the first window that contains a pane."""
        start = self._start_of(pane)
        return start - (start + self._size - pane - self._width) // self._slide * self._slide

    def _in_windows(self, entries: Entries) -> Iterator[int]:
        """Yield the panes that belong to a window: between windows with gaps there are others."""
        for pane in entries:
            assert pane is not None, "windows at regular distances are folded by pane"
            if self._start_of(pane) + self._size > pane:
                yield pane

    def _fire_apart(self, pane: int, of_key: dict[Any, Any]) -> None:
        """Fire the windows of one pane, without a function: what was folded is the result."""
        results = list(of_key.values())
        result, form = self._fold.result, self._form
        time = min(pane + self._size - 1, MAX_TIMESTAMP)
        try:
            if form is not None:
                results = [form(kept) for kept in results]
            if result is not None:
                results = [result(kept) for kept in results]
        except BaseException as cause:
            # the window is fired again alone, so that the error names it
            raise_interrupt(cause)
            self._time = pane + self._size - 1
            for self._host.keys.key, kept in of_key.items():
                self._guarded(self._result, kept)
            raise
        self._add(results, list(repeat(time, len(results))))

    def _fire_key(self, panes: list[int], kept: list[Any], limit: int | None) -> None:
        """Fire the windows of the current key that end, and store the panes of other windows."""
        for start, some in self._windows(panes, kept, limit):
            self._time = start + self._size - 1
            self._guarded(self._fire_window, start, some)
        if limit is None:
            return
        for pane, each in zip(panes, kept, strict=True):
            last = self._start_of(pane)
            if last >= limit and last + self._size > pane:
                self._time = pane
                first = max(self._first_with(pane), limit)
                self._guarded(self._keep, pane, each, first)

    def _keep(self, pane: int, kept: Any, first: int) -> None:
        self._engine.keep(pane, self._formed(kept), first)

    def _windows(
        self, panes: list[int], kept: list[Any], limit: int | None
    ) -> Iterator[tuple[int, list[Any]]]:
        """Yield the start of each window that ends, and the accumulators of its panes."""
        size, slide = self._size, self._slide
        first, count = 0, len(panes)
        start = self._first_with(panes[0])
        while first < count and (limit is None or start < limit):
            end = bisect_left(panes, start + size, first)
            if end > first:
                yield start, kept[first:end]
            start += slide
            first = bisect_left(panes, start, first)
            if first < count and panes[first] >= start + size:
                start = max(start, self._first_with(panes[first]))
                first = bisect_left(panes, start, first)

    def _fire_window(self, start: int, kept: list[Any]) -> None:
        host = self._host
        some = [self._formed(each) for each in kept]
        if self._fold.may_change:  # other windows contain the same panes
            some = [detached(each) for each in some]
        result = result_of(self._fold, reduce(self._fold.merge, some))
        if not self._has_function:
            self._add([result], [min(self._time, MAX_TIMESTAMP)])
            return
        self._flush()
        window = TimeWindow(start, start + self._size)
        host.scope.context.key = (host.keys.key, (window.start, window.end))
        host.fire(window, [result])
        host.call.clear(window)

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
        for at in range(0, len(results), _AT_ONCE):
            self._send(results[at : at + _AT_ONCE], times[at : at + _AT_ONCE])

    def _guarded(self, call: Callable[..., Any], *arguments: Any) -> None:
        try:
            call(*arguments)
        except BaseException as cause:
            where = f"timer {self._time} of key {short(self._host.keys.key)}"
            raise self._host.failed_in(where, cause) from cause


def _by_key(panes: list[int], entries: Entries) -> Iterator[tuple[Any, list[int], list[Any]]]:
    """Yield each key, those of the panes that have it, in order, and what these keep of it."""
    found: dict[Any, tuple[list[int], list[Any]]] = {}
    for pane in panes:
        for key, kept in entries[pane].items():
            of_key = found.get(key)
            if of_key is None:
                found[key] = ([pane], [kept])
            else:
                of_key[0].append(pane)
                of_key[1].append(kept)
    return ((key, of_key, kept) for key, (of_key, kept) in found.items())
