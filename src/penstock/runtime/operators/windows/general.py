"""Windows of any assigner, trigger and evictor, with contents, timers and state per window; also those that merge.

When windows merge, as sessions do, contents stay where they are: a window has a *state_window*, the window
under which its contents are stored, and the merged window takes the state_window of one of its parts.
Only the contents of the other parts move.

The stored form of a window is short, and decodable as a component of a key:

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

from penstock.errors import StateError
from penstock.program.windows import (
    MAX_TIMESTAMP,
    CountWindow,
    GlobalWindow,
    TimeWindow,
    TriggerResult,
    Window,
)
from penstock.runtime.functions.context import OperatorContext
from penstock.runtime.operators.windows.contents import Contents, StampedContents, seen_of
from penstock.runtime.operators.windows.host import WindowHost
from penstock.runtime.operators.windows.scoped_states import ScopedStates
from penstock.runtime.time.timers import InternalTimerService
from penstock.state.backends.base import ABSENT
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.state.schema.own_states import WINDOW_MERGES, WINDOW_TRIGGER_PREFIX
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
        position = bisect_left(self._sorted, window)
        first, last = position, position
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


class InternalTriggerContext:
    """Implements `TriggerContext` and `OnMergeContext` of the API, for the current window.

    Attributes:
        merged: (key, stored window) of the merged windows, while `on_merge` runs.
    """

    def __init__(
        self, timers: InternalTimerService, states: ScopedStates, context: OperatorContext
    ) -> None:
        self._states = states
        self.merged: list[Any] = []
        self.get_current_processing_time = timers.current_processing_time
        self.get_current_watermark = timers.current_watermark
        self.register_processing_time_timer = timers.register_processing_time_timer
        self.register_event_time_timer = timers.register_event_time_timer
        self.delete_processing_time_timer = timers.delete_processing_time_timer
        self.delete_event_time_timer = timers.delete_event_time_timer
        self.get_partitioned_state = states.of
        self.get_metric_group = context.get_metrics_group

    def merge_partitioned_state(self, state_descriptor: Any) -> None:
        """Merge the state of the merged windows into that of their result."""
        self._states.merge(state_descriptor, self.merged)


class AssignerContext:
    """Implements `WindowAssignerContext` of the API."""

    def __init__(self, timers: InternalTimerService, context: OperatorContext) -> None:
        self._context = context
        self.get_current_processing_time = timers.current_processing_time

    def get_runtime_context(self) -> OperatorContext:
        """Return the runtime context."""
        return self._context


class GeneralEngine:
    """Stores every window separately."""

    def __init__(self, host: WindowHost, contents: Contents) -> None:
        self._host = host
        self._space = host.scope.context
        self._contents = contents
        window = host.window
        self._assigner, self._trigger = window.assigner, window.trigger
        self._by_event_time = window.assigner.is_event_time()
        self._lateness = window.allowed_lateness if self._by_event_time else 0
        self._merging = MergingWindows(host) if window.is_merging else None
        states = ScopedStates(host.spec, host.scope, WINDOW_TRIGGER_PREFIX)
        self._trigger_context = InternalTriggerContext(host.timers, states, host.context)
        self._assigner_context = AssignerContext(host.timers, host.context)
        timers = host.timers
        self._register_cleanup, self._delete_cleanup = (
            (timers.register_event_time_timer, timers.delete_event_time_timer)
            if self._by_event_time
            else (timers.register_processing_time_timer, timers.delete_processing_time_timer)
        )

    def process(self, values: list[Any], stamps: list[int]) -> None:
        """Add records of the current key to their windows."""
        if self._merging is not None:
            self._merging.load()
        position, gap = iter(values), self._host.session_gap_ms
        try:
            if gap is None:
                for stamp, value in zip(stamps, position, strict=False):
                    assign = self._assigner.assign_windows
                    self._add(value, stamp, assign(value, stamp, self._assigner_context))
            else:
                for first, (folded, last) in zip(stamps, position, strict=False):
                    self._add(folded, first, (TimeWindow(first, last + gap),))
        except BaseException as cause:
            raise self._host.failed(cause, values, position) from cause

    def on_event_time(self, form: Any, time: int) -> None:
        """Call the trigger, and clean the window up at its end."""
        # The end of the input cleans up windows of all kinds.
        self._on_time(
            form, time, self._trigger.on_event_time, self._by_event_time or time == MAX_TIMESTAMP
        )

    def on_processing_time(self, form: Any, time: int) -> None:
        """Call the trigger, and clean the window up at its end."""
        self._on_time(form, time, self._trigger.on_processing_time, not self._by_event_time)

    def _add(self, value: Any, stamp: int, windows: Iterable[Any]) -> None:
        key, is_taken = self._host.keys.key, False
        for assigned in windows:
            window = assigned
            if self._merging is not None:
                window = self._merging.add(assigned, self._merged)
            if self._is_over(window):
                if self._merging is not None:
                    self._merging.end(window)
                continue
            is_taken = True
            form = stored_window(window)
            state_window = form if self._merging is None else self._merging.state_window_of(window)
            self._space.key = (key, state_window)
            self._contents.add(value, stamp)
            self._space.key = (key, form)
            result = self._trigger.on_element(value, stamp, window, self._trigger_context)
            if result is not TriggerResult.CONTINUE:
                self._act(result, window, state_window, stays=True)
                self._space.key = (key, form)
            cleanup = self._cleanup_time(window)
            if cleanup < MAX_TIMESTAMP:
                self._register_cleanup(cleanup)
        if is_taken or not self._by_event_time:
            return
        if min(stamp + self._lateness, MAX_TIMESTAMP) <= self._watermark:
            self._host.late.append((stamp, value))

    def _on_time(self, form: Any, time: int, handler: Any, may_end: bool) -> None:  # noqa: FBT001
        key = self._host.keys.key
        state_window = form if self._merging is None else self._merging.state_window(form)
        if state_window is ABSENT:
            return
        window = window_of_stored(form)
        self._space.key = (key, form)
        result = handler(time, window, self._trigger_context)
        is_end = may_end and time == self._cleanup_time(window)
        if result is not TriggerResult.CONTINUE:
            self._act(result, window, state_window, stays=not is_end)
        if is_end:
            self._space.key = (key, state_window)
            self._contents.clear()
            self._space.key = (key, form)
            self._trigger.clear(window, self._trigger_context)
            self._host.call.clear(window)
            if self._merging is not None:
                self._merging.end(window)

    def _act(self, result: TriggerResult, window: Any, state_window: Any, *, stays: bool) -> None:
        """Execute the decision of a trigger."""
        key = self._host.keys.key
        self._space.key = (key, state_window)
        if result.is_fire():
            elements = self._contents.elements(stays=stays and not result.is_purge())
            if elements is not None:
                if self._host.window.evictor is None:
                    self._space.key = (key, stored_window(window))
                    self._host.fire(window, elements)
                else:
                    self._fire_evicting(window, state_window, elements)
        if result.is_purge():
            self._space.key = (key, state_window)
            self._contents.clear()

    def _fire_evicting(self, window: Any, state_window: Any, stamped: list[Any]) -> None:
        evictor, context = self._host.window.evictor, self._trigger_context
        evictor.evict_before(stamped, len(stamped), window, context)
        if stamped:
            values = [value for _, value in stamped]
            elements = seen_of(self._host.fold, self._host.window, values)
            self._space.key = (self._host.keys.key, stored_window(window))
            self._host.fire(window, elements)
        evictor.evict_after(stamped, len(stamped), window, context)
        self._space.key = (self._host.keys.key, state_window)
        assert isinstance(self._contents, StampedContents)
        self._contents.replace(stamped)

    def _merged(self, result: Any, parts: list[Any], state_window: Any, others: list[Any]) -> None:
        """Move timers, state of triggers and contents of merged windows."""
        now = self._watermark
        if not self._by_event_time:
            now = self._host.timers.current_processing_time()
        if self._cleanup_time(result) <= now:
            raise StateError(
                f"{self._assigner!r} merged windows into {result!r}, which ended before "
                f"{now}, the current time",
                hint="Merge windows into one that holds all of them.",
            )
        key = self._host.keys.key
        self._space.key = (key, stored_window(result))
        self._trigger_context.merged = [(key, stored_window(part)) for part in parts]
        self._trigger.on_merge(result, self._trigger_context)
        self._trigger_context.merged = []
        for part in parts:
            self._space.key = (key, stored_window(part))
            self._trigger.clear(part, self._trigger_context)
            self._delete_cleanup(self._cleanup_time(part))
        self._space.key = (key, stored_window(state_window))
        self._contents.merge([(key, stored_window(other)) for other in others])

    @property
    def _watermark(self) -> int:
        return self._host.timers.watermark

    def _cleanup_time(self, window: Any) -> int:
        time: int = min(window.max_timestamp() + self._lateness, MAX_TIMESTAMP)
        return time

    def _is_over(self, window: Any) -> bool:
        return self._by_event_time and self._cleanup_time(window) <= self._watermark
