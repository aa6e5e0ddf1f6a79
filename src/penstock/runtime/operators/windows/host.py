"""The interface between a window operator and its window engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from penstock.errors import PenstockError
from penstock.program.fold import Fold
from penstock.program.level import OperatorSpec
from penstock.program.window_operation import WindowSpec
from penstock.program.windows import Window
from penstock.runtime.functions.context import OperatorContext
from penstock.runtime.functions.state_handles import KeyedScope
from penstock.runtime.operators.windows.evaluation import WindowCall
from penstock.runtime.time.timers import InternalTimerService
from penstock.state.handles.key_context import KeyContext

_AT_ONCE = 4096

Failed = Callable[[BaseException, list[Any], Iterator[Any]], PenstockError]
"""(cause, records, consumed iterator) to the error that names the record."""


@dataclass(slots=True)
class WindowHost:
    """The operator's values that a window engine uses.

    Attributes:
        scope: State by (key, stored window); engines set the key of its context.
        timers: Timers of the key of `scope`.
        send: Receives results and the timestamp of all of them.
        failed: Makes the error about a failing record.
        failed_in: Makes the error about a function that failed elsewhere.
        fold: The fold; None if all records are stored.
        session_gap_ms: The gap of sessions, if the input was folded before: its records are
            (accumulator, time of the last record) with the time of the first. Else None.
        late: Late records with their timestamps; the operator takes them.
    """

    spec: OperatorSpec
    window: WindowSpec
    keys: KeyContext
    scope: KeyedScope
    context: OperatorContext
    timers: InternalTimerService
    call: WindowCall
    send: Callable[[list[Any], int], None]
    failed: Failed
    failed_in: Callable[[str, BaseException], PenstockError]
    fold: Fold | None = None
    session_gap_ms: int | None = None
    late: list[tuple[int, Any]] = field(default_factory=list)

    def fire(self, window: Window, elements: Any) -> None:
        """Call the user's function and emit its results, a few thousand at a time."""
        remaining = iter(self.call(self.keys.key, window, elements))
        while results := list(islice(remaining, _AT_ONCE)):
            self.send(results, window.max_timestamp())
            if len(results) < _AT_ONCE:
                return


class WindowEngine(Protocol):
    """Stores and fires windows. The operator sets the current key of the host before every call."""

    def process(self, values: list[Any], stamps: list[int]) -> None:
        """Add records of the current key."""

    def on_event_time(self, form: Any, time: int) -> None:
        """React to an event-time timer of a window of the current key."""

    def on_processing_time(self, form: Any, time: int) -> None:
        """React to a processing-time timer of a window of the current key."""
