"""process after key_by, also beside a broadcast stream: a function with keyed state and timers."""

from __future__ import annotations

from typing import Any

from penstock.program.level import OperatorSpec
from penstock.runtime.exchange.group_order import in_group_order
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.functions.process_context import (
    InternalBroadcastContext,
    InternalKeyedBroadcastContext,
    ProcessContext,
)
from penstock.runtime.operators.application import Application, applications
from penstock.runtime.operators.base import NO_KEY, Collect
from penstock.runtime.operators.keyed import FLUSH_RECORDS, KeyedOperator
from penstock.runtime.time.timers import PROCESSING_TABLE, TABLE, InternalTimerService
from penstock.types.time import TimeDomain
from penstock.user_failure import short
from penstock.wire.elements import MIN_TIMESTAMP


class KeyedApplyOperator(KeyedOperator):
    """Calls a function on every record, key by key."""

    takes_keys_in_parts = True

    def __init__(
        self, spec: OperatorSpec, output: Output, context: OperatorContext, scope: KeyedScope
    ) -> None:
        super().__init__(spec, output, context, scope)
        self.may_tag = spec.kind.has_side_outputs
        self.apply_with(None)

    def apply_with(self, context: ProcessContext | None) -> None:
        """Make the application of each input."""
        self.inputs = applications(self.spec, self.emission, (context, context))

    def process_key(self, key: Any, values: list[Any], timestamps: list[int] | None) -> None:
        """Process the records of one key."""
        self.apply(self.inputs[0], values, timestamps, key=key)

    def apply(
        self,
        application: Application,
        values: list[Any],
        timestamps: list[int] | None,
        key: Any = NO_KEY,
    ) -> None:
        """Call a function on records, and buffer the results."""
        results, stamps = self.waiting_results(with_timestamps=timestamps is not None)
        position = iter(values)
        try:
            application.run(position, values, timestamps, results, stamps)
        except BaseException as cause:
            raise self.failed(
                cause, values, position, key=key, of_input=application.of_input
            ) from cause
        self.flush_if_many()


# FLIP-327, rule 4.
class KeyedProcessOperator(KeyedApplyOperator):
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
        self._timers = InternalTimerService(
            scope.store.timers(spec.uid, TABLE),
            scope.store.timers(spec.uid, PROCESSING_TABLE),
            scope.context,
            scope.now_ms,
        )
        self._context: ProcessContext = ProcessContext(self._timers, scope.context, spec=spec)
        if spec.kind.takes_context:
            self.apply_with(self._context)
        self._on_timer = self.emission.many(getattr(spec.function, "on_timer", None))

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Process a batch: key by key in a batch run, in order of arrival in a live run.

        In order of arrival the records of each key are in order too. Grouping them by key costs more
        than changing the current key at every record. Many records are sorted by key group before.
        """
        if self._final_watermark is None:
            self._process_in_order(values, timestamps)
        else:
            super().process(values, timestamps)

    def _process_in_order(self, values: list[Any], timestamps: list[int] | None) -> None:
        keys, groups, values, timestamps = in_group_order(
            self.keys_of(0, values),
            values,
            timestamps,
            self._group_of,
            self.context.settings,
        )
        for start in range(0, len(values), FLUSH_RECORDS):
            part = slice(start, start + FLUSH_RECORDS)
            stamps = None if timestamps is None else timestamps[part]
            self._process_some(keys[part], groups[part], values[part], stamps)
            self.flush()

    def _process_some(
        self,
        keys: list[Any],
        groups: list[int],
        values: list[Any],
        timestamps: list[int] | None,
    ) -> None:
        call, context, current = self.call, self._context, self.keys
        position = iter(values)
        keyed = zip(keys, groups, position, strict=True)
        results, stamps = self.waiting_results(with_timestamps=timestamps is not None)
        extend = results.extend
        try:
            if timestamps is None:
                context.current_timestamp = None
                for current.key, current.group, value in keyed:
                    produced = call(value, context)
                    if produced is not None:
                        extend(produced)
            else:
                for stamp, (current.key, current.group, value) in zip(
                    timestamps, keyed, strict=True
                ):
                    context.current_timestamp = stamp
                    produced = call(value, context)
                    if produced is not None:
                        before = len(results)
                        extend(produced)
                        stamps.extend([stamp] * (len(results) - before))
        except BaseException as cause:
            raise self.failed(cause, values, position, key=current.key) from cause

    # FLIP-327, rule 7.
    def end_key(self, watermark: int) -> None:
        """Fire the timers of a key whose records are complete (batch run)."""
        self._timers.watermark = watermark
        self._timers.fire_current_key(watermark, self._fire)
        until = self._timers.processing_time_in_batch(is_last_run=self._is_last_run)
        self._context.domain = TimeDomain.PROCESSING_TIME
        self._timers.fire_current_key_processing_time(until, self._fire)
        self._context.domain = TimeDomain.EVENT_TIME
        self._timers.watermark = MIN_TIMESTAMP

    def on_processing_time(self, now_ms: int) -> None:
        """Fire the timers that the wall clock has reached (live run)."""
        self._context.domain = TimeDomain.PROCESSING_TIME
        self._timers.fire_processing_time(now_ms, self._fire)
        self._context.domain = TimeDomain.EVENT_TIME
        self.flush()

    def next_processing_time(self) -> int | None:
        """Return the time of the next timer, None if there is none."""
        return self._timers.next_processing_time()

    def on_watermark(self, watermark: int) -> None:
        """Fire the due timers of all keys (live run)."""
        if self._final_watermark is not None:
            return  # a batch run has fired them key by key
        self._timers.watermark = watermark
        self._timers.fire_all_keys(watermark, self._fire)

    def restore_watermark(self, watermark: int) -> None:
        """Set the watermark to that before a restart; no timer fires."""
        self._timers.watermark = watermark
        super().restore_watermark(watermark)

    def _fire(self, timestamp: int) -> None:
        self._context.current_timestamp = timestamp
        if self._on_timer is None:
            return
        try:
            produced = self._on_timer(timestamp, self._context)
            results = [] if produced is None else list(produced)
        except BaseException as cause:
            where = f"timer {timestamp} of key {short(self.keys.key)}"
            raise self.failed_in(where, cause) from cause
        self.emit(results, [timestamp] * len(results))


class KeyedBroadcastProcessOperator(KeyedProcessOperator):
    """Calls `process_element`, `process_broadcast_element` and `on_timer`."""

    def __init__(
        self, spec: OperatorSpec, output: Output, context: OperatorContext, scope: KeyedScope
    ) -> None:
        super().__init__(spec, output, context, scope)
        self._context = InternalKeyedBroadcastContext(
            self._timers,
            spec,
            context.get_read_only_broadcast_state,
            scope.context,
        )
        self.apply_with(self._context)
        self._broadcast = Application(
            spec.function.process_broadcast_element,
            spec.kind.returns,
            self.emission,
            InternalBroadcastContext(self._timers, spec, context.get_broadcast_state),
            " of the broadcast input",
        )

    def collector(self, number: int) -> Collect:
        """Return the receiver of the records of input `number`; 1 is the broadcast input."""
        return self.collect if number == 0 else self._collect_broadcast

    def _collect_broadcast(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.records_in += len(values)
        self.apply(self._broadcast, values, timestamps)
        self.flush()
