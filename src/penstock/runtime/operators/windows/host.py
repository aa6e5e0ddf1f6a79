"""What every way of keeping windows has of its operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from penstock.errors import PenstockError
from penstock.program.folding.fold import Fold
from penstock.program.operator_spec import OperatorSpec
from penstock.program.window_operation import WindowSpec
from penstock.program.windows import Window
from penstock.runtime.functions.context import OperatorContext
from penstock.runtime.functions.state_handles import KeyedScope
from penstock.runtime.operators.windows.evaluation import WindowCall
from penstock.runtime.time.timers import InternalTimerService
from penstock.state.handles.key_context import KeyContext

_AT_ONCE = 4096

Failed = Callable[[BaseException, list[Any], Iterator[Any]], PenstockError]
"""(cause, records, iterator that is being consumed) to the error that names the record."""


@dataclass(slots=True)
class WindowHost:
    """What every way of keeping windows has of its operator.

    Attributes:
        spec: The operator.
        window: Its window operation.
        keys: The current key.
        scope: State under (key, form of a window); its context is moved about.
        context: The runtime context.
        timers: Timers of the key of `scope`.
        call: The user's function.
        send: Takes results and the timestamp of all of them.
        failed: Makes the error of a failing record.
        failed_in: Makes the error of a function that failed elsewhere.
        fold: How what comes is folded; None if all of it is kept.
        late: Records that came too late, with their timestamps; the operator takes them.
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
    late: list[tuple[int, Any]] = field(default_factory=list)

    def fire(self, window: Window, elements: Any) -> None:
        """Call the user's function and send its results, a few thousand at a time."""
        remaining = iter(self.call(self.keys.key, window, elements))
        while results := list(islice(remaining, _AT_ONCE)):
            self.send(results, window.max_timestamp())
            if len(results) < _AT_ONCE:
                return


class WindowEngine(Protocol):
    """A way of keeping windows. The current key of the host is set at every call."""

    def process(self, values: list[Any], stamps: list[int]) -> None:
        """Add records of the current key."""

    def on_event_time(self, form: Any, time: int) -> None:
        """React to an event-time timer of a window of the current key."""

    def on_processing_time(self, form: Any, time: int) -> None:
        """React to a processing-time timer of a window of the current key."""
