"""process behind key_by: a function with state and event-time timers."""

from __future__ import annotations

from itertools import repeat
from typing import Any

from penstock.errors import PenstockError
from penstock.runtime.context import KeyedScope, OperatorContext
from penstock.runtime.operators.keyed import KeyedOperator
from penstock.runtime.output import Output
from penstock.runtime.process_context import ProcessContext
from penstock.runtime.program import OperatorSpec
from penstock.runtime.timers import TABLE, TimerService
from penstock.serde.elements import MIN_TIMESTAMP


class KeyedProcessOperator(KeyedOperator):
    """Calls `process_element` per record and `on_timer` per due timer.

    Time, as FLIP-327 has it: in a live run the watermark moves after the records of a
    micro-batch and fires timers of all keys in order of time; in a batch run
    `current_watermark` is Long.MIN while a key's records are processed, and the final
    watermark while its timers fire.
    """

    def __init__(
        self, spec: OperatorSpec, output: Output, context: OperatorContext, scope: KeyedScope
    ) -> None:
        super().__init__(spec, output, context, scope)
        self._timers = TimerService(scope.store.timers(spec.uid, TABLE), scope.context)
        self._context = ProcessContext(self._timers, scope.context)
        self._on_timer = getattr(spec.function, "on_timer", None)

    def process_key(self, key: Any, values: list[Any], timestamps: list[int] | None) -> None:
        """Process the records of one key; results take the timestamp of their record."""
        call, context = self.call, self._context
        position = iter(values)
        results: list[Any] = []
        stamps: list[int] | None = None if timestamps is None else []
        stamp: int | None
        try:
            for value, stamp in zip(position, timestamps or repeat(None), strict=False):
                context.current_timestamp = stamp
                produced = call(value, context)
                if produced is not None:
                    before = len(results)
                    results.extend(produced)
                    if stamps is not None:
                        stamps.extend([stamp] * (len(results) - before))  # type: ignore[list-item]
        except Exception as cause:
            raise self.failed(cause, values, position, key=key) from cause
        self.emit(results, stamps)

    def end_key(self, watermark: int) -> None:
        """Fire the timers of a key whose records are complete (batch run)."""
        self._timers.watermark = watermark
        self._timers.fire_current_key(watermark, self._fire)
        self._timers.watermark = MIN_TIMESTAMP

    def on_watermark(self, watermark: int) -> None:
        """Fire the due timers of all keys (live run)."""
        if self._final_watermark is not None:
            return  # a batch run has fired them key by key
        self._timers.watermark = watermark
        self._timers.fire_all_keys(watermark, self._fire)

    def restore_watermark(self, watermark: int) -> None:
        """Set the watermark to what it was before a restart; no timer fires."""
        self._timers.watermark = watermark
        super().restore_watermark(watermark)

    def _fire(self, timestamp: int) -> None:
        self._context.current_timestamp = timestamp
        if self._on_timer is None:
            return
        try:
            produced = self._on_timer(timestamp, self._context)
            results = [] if produced is None else list(produced)
        except PenstockError:
            raise
        except Exception as cause:
            where = f"timer {timestamp} of key {self.keys.key!r}"
            raise self.failed_in(where, cause) from cause
        self.emit(results, [timestamp] * len(results))
