"""Windows that become one, as sessions do.

The contents of a window stay where they are when it is merged: a window has a *state_window*, the window
under which its contents are stored, and the merged window takes the state_window of one of its parts.
Only the contents of the other parts move.

The stored form of windows. It is short, and decodable as a component of a key.

| window       | stored       |
|--------------|--------------|
| TimeWindow   | (start, end) |
| CountWindow  | number       |
| GlobalWindow | None         |
| any other    | itself       |
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from typing import Any

from penstock.program.windows import CountWindow, GlobalWindow, TimeWindow, Window
from penstock.runtime.operators.windows.host import WindowHost
from penstock.state.backends.base import ABSENT
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.state.schema.own_states import WINDOW_MERGES
from penstock.types import Types

_FORMS: dict[type, Callable[[Any], Any]] = {
    TimeWindow: lambda window: (window.start, window.end),
    CountWindow: lambda window: window.id,
    GlobalWindow: lambda _: None,
}

_WINDOWS: dict[type, Callable[[Any], Window]] = {
    tuple: lambda form: TimeWindow(*form),
    int: CountWindow,
    type(None): lambda _: GlobalWindow.get(),
}


def stored_window(window: Window) -> Any:
    """Return the stored form of a window."""
    make = _FORMS.get(type(window))
    return window if make is None else make(window)


def window_of_stored(form: Any) -> Any:
    """Return the window with this stored form."""
    make = _WINDOWS.get(type(form))
    return form if make is None else make(form)


Merged = Callable[[Any, list[Any], Any, list[Any]], None]
"""Called for every merge with (result, merged windows, state window, other state windows)."""


class MergingWindows:
    """The windows of the current key that have not ended."""

    def __init__(self, host: WindowHost) -> None:
        pickled = Types.PICKLED_BYTE_ARRAY()
        schema = StateSchema(StateKind.MAP, pickled, pickled)
        self._host = host
        self._table = host.scope.store.table(host.spec.uid, WINDOW_MERGES, schema)
        self._assigner = host.window.assigner
        self._state_windows: dict[Any, Any] = {}
        self._sorted: list[Any] | None = None

    def load(self) -> None:
        """Begin a key: load its windows."""
        keys = self._host.keys
        items = self._table[keys.group].items(keys.key)
        self._state_windows = {
            window_of_stored(form): window_of_stored(state_window) for form, state_window in items
        }
        if self._host.window.merges_neighbours:
            self._sorted = sorted(self._state_windows)

    def state_window(self, form: Any) -> Any:
        """Return the stored state window of a window of the current key, `ABSENT` if it has ended."""
        keys = self._host.keys
        return self._table[keys.group].get(keys.key, form, ABSENT)

    def state_window_of(self, window: Any) -> Any:
        """Return the stored state window of a window that was added since `load`."""
        return stored_window(self._state_windows[window])

    def end(self, window: Any) -> None:
        """Remove a window."""
        keys = self._host.keys
        self._table[keys.group].remove(keys.key, stored_window(window))
        if self._state_windows.pop(window, None) is not None and self._sorted is not None:
            del self._sorted[bisect_left(self._sorted, window)]

    def add(self, window: Any, merged: Merged) -> Any:
        """Add the window of a record and return the window that it is merged into."""
        if window in self._state_windows:
            return window
        candidates = self._candidates(window)
        if not candidates:
            self._put(window, window)
            return window
        decided = _Decisions()
        self._assigner.merge_windows([*candidates, window], decided)
        actual, is_absorbed = window, False
        for result, parts in decided.merges:
            old = [part for part in dict.fromkeys(parts) if part in self._state_windows]
            if window in parts:
                actual, is_absorbed = result, True
            if not old:
                self._put(result, result)
                continue
            state_windows = [self._state_windows[part] for part in old]
            for part in old:
                self.end(part)
            self._put(result, state_windows[0])
            gone = [part for part in old if part != result]
            if gone:
                merged(result, gone, state_windows[0], state_windows[1:])
        if not is_absorbed:
            self._put(window, window)
        return actual

    def _candidates(self, window: Any) -> list[Any]:
        """Return the windows that `window` may be merged with.

        Sessions are disjoint, so only neighbours can overlap or touch. The search is binary, because a
        key may have many windows: in a batch run all those of its history.
        """
        if self._sorted is None:
            return list(self._state_windows)
        at = bisect_left(self._sorted, window)
        first, last = at, at
        while first and self._sorted[first - 1].intersects(window):
            first -= 1
        while last < len(self._sorted) and self._sorted[last].intersects(window):
            last += 1
        return self._sorted[first:last]

    def _put(self, window: Any, state_window: Any) -> None:
        keys = self._host.keys
        self._table[keys.group].put(keys.key, stored_window(window), stored_window(state_window))
        self._state_windows[window] = state_window
        if self._sorted is not None:
            insort(self._sorted, window)


class _Decisions:
    """Implements `MergeCallback` of the API."""

    def __init__(self) -> None:
        self.merges: list[tuple[Any, list[Any]]] = []

    def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
        """Record a merge."""
        self.merges.append((merge_result, list(to_be_merged)))
