"""The results of a window that fires: the call of its function, and the selection over the parts of its aggregates."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.errors import GraphError
from penstock.expressions.arrow.records import ChainEvaluation
from penstock.expressions.keyed_aggregate import WINDOW_BOUNDS
from penstock.program.level import OperatorSpec
from penstock.program.window_operation import Evaluation
from penstock.program.windows import RegularWindows, Window, moments_of, zone_of_bounds
from penstock.runtime.flow.output import FanOut, Output
from penstock.runtime.flow.record_copies import Emission
from penstock.runtime.operators.expressions import WriteColumns
from penstock.runtime.operators.windows.scoped_states import ScopedStates
from penstock.runtime.time.timers import InternalTimerService
from penstock.types.arrow import arrow_type
from penstock.types.list_key import selected_key


class FunctionContext:
    """Implements `WindowContext` of the API."""

    def __init__(
        self,
        timers: InternalTimerService,
        window_states: Callable[[], ScopedStates],
        global_states: Any,
    ) -> None:
        """Bind."""
        self._timers = timers
        self._window_states = window_states
        self._global_states = global_states
        self.current: Window | None = None

    def window(self) -> Any:
        """Return the window."""
        return self.current

    def current_processing_time(self) -> int:
        """Return the wall clock in epoch milliseconds."""
        return self._timers.current_processing_time()

    def current_watermark(self) -> int:
        """Return the watermark in epoch milliseconds."""
        return self._timers.current_watermark()

    def window_state(self) -> ScopedStates:
        """Return the state of the current key and window."""
        return self._window_states()

    def global_state(self) -> Any:
        """Return the state of the current key."""
        return self._global_states


class WindowCall:
    """Calls the user's function; the arguments are the same for all kinds of functions."""

    def __init__(self, spec: OperatorSpec, context: FunctionContext, emission: Emission) -> None:
        window = spec.window
        assert window is not None
        self._context = context
        self._emission = emission
        self._has_context = window.evaluation in _WITH_CONTEXT
        self._function = window.function
        self._call = _CALLS[window.evaluation]

    def __call__(self, key: Any, window: Window, elements: Any) -> Iterable[Any]:
        """Return the results for a window; they may be generated while they are read."""
        self._context.current = window
        produced = self._call(self._function, selected_key(key), self._context, elements)
        return () if produced is None else self._emission.of(produced)

    def clear(self, window: Window) -> None:
        """Call `clear` of the function for a window that is cleaned up."""
        if self._has_context:
            self._context.current = window
            self._function.clear(self._context)


def no_window_state() -> ScopedStates:
    """Refuse."""
    raise GraphError(
        "a function of merging windows requested state of its window",
        hint="Use global_state(), or windows that do not merge.",
    )


_WITH_CONTEXT = frozenset({Evaluation.PROCESS, Evaluation.PROCESS_ALL})

_CALLS: dict[Evaluation, Callable[[Any, Any, FunctionContext, list[Any]], Any]] = {
    Evaluation.NONE: lambda _, __, ___, elements: elements,
    Evaluation.APPLY: lambda function, key, context, elements: function.apply(
        key, context.current, elements
    ),
    Evaluation.APPLY_ALL: lambda function, _, context, elements: function.apply(
        context.current, elements
    ),
    Evaluation.PROCESS: lambda function, key, context, elements: function.process(
        key, context, elements
    ),
    Evaluation.PROCESS_ALL: lambda function, _, context, elements: function.process(
        context, elements
    ),
    Evaluation.CO_GROUP: lambda function, _, __, elements: function.co_group(*elements),
}


class ResultsOutput(FanOut):
    """Evaluates the selection of results for a batch at once.

    The bounds of regular windows are made of the timestamp of a result, which is the last millisecond of its window.
    """

    __slots__ = ("_bounds", "_kind", "_origin", "_results", "_zone")

    def __init__(self, output: Output, spec: OperatorSpec) -> None:
        super().__init__((output,))
        window = spec.window
        assert window is not None, "it is the output of windows"
        assert window.results is not None, "they aggregate columns"
        self._bounds: RegularWindows | None = window.bounds
        self._origin = spec.origin
        beside = () if self._bounds is None else tuple(WINDOW_BOUNDS)
        self._results = ChainEvaluation(window.results, spec.name, spec.origin, beside=beside)
        self._kind = window.results.records.field_types[-1]
        self._zone = zone_of_bounds(self._kind)

    def collect(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Forward the results of a batch, with its timestamps."""
        beside = None if self._bounds is None else self._bounds_of(self._bounds, timestamps or [])
        results, stamps = self._results.of_records(values, timestamps, beside)
        super().collect(results, stamps)

    @property
    def makes_columns(self) -> bool:
        """True if results have a form as columns."""
        return self._results.makes_columns

    def collect_columns(
        self, parts: pa.RecordBatch, timestamps: list[int], write: WriteColumns | None
    ) -> None:
        """Forward the results of columns of parts; as columns, if there is a function that takes them."""
        if self._bounds is not None:
            parts = self._with_bounds(self._bounds, parts, timestamps)
        if write is not None:
            write(*self._results.columns_of(parts, timestamps))
            return
        results, stamps = self._results.of_columns(parts, timestamps)
        super().collect(results, stamps)

    def _with_bounds(
        self, windows: RegularWindows, parts: pa.RecordBatch, timestamps: list[int]
    ) -> pa.RecordBatch:
        """Return parts beside start and end of their windows."""
        shape: Any = windows  # whose arithmetic is that of arrays too
        ends = np.array(timestamps, dtype=np.int64) + 1
        self._bounds_of(windows, [min(timestamps), max(timestamps)])  # refuses those of no year
        bounds = [
            pa.array(millis).cast(pa.timestamp("ms")).cast(arrow_type(self._kind))
            for millis in (shape.start_of(ends), ends)
        ]
        names = [*parts.schema.names, *WINDOW_BOUNDS]
        return pa.RecordBatch.from_arrays([*parts.columns, *bounds], names=names)

    def _bounds_of(
        self, windows: RegularWindows, timestamps: list[int]
    ) -> dict[str, list[datetime]]:
        """Return start and end of the window of each result."""
        bounds = {
            last: moments_of(windows.start_of(last + 1), last + 1, self._zone, self._origin)
            for last in set(timestamps)
        }
        pairs = [bounds[last] for last in timestamps]
        return {
            name: [pair[position] for pair in pairs] for position, name in enumerate(WINDOW_BOUNDS)
        }
