"""The user's own operators after key_by: state and timers of keys.

    live run    one object per subtask, for the life of its worker
    batch run   one object per key group (or part of a key group that does not fit in memory). It is
                opened; it gets the attributes, all records, the end of backlog, the ends of inputs
                and the watermark; then it is closed. So it buffers at most one key group, and the
                state that it writes at its end is complete

In a batch run emitted watermarks and attributes take effect after all key groups of the task: the least
watermark, and backlog if the last attributes of any object were backlog.

The two inputs of an operator with one key share state and timers.
Per key, the records of a micro-batch (live run) or of all input (batch run) are processed together:
those of the first input before those of the second, and in a batch run by timestamp if they have one,
behind results of a bounded region. The two inputs have no other order.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, repeat
from typing import Any

from penstock.errors import UnkeyedStateError
from penstock.program.level import OperatorSpec
from penstock.program.record_attributes import combined_backlog
from penstock.runtime.exchange.channel_writer import results_among
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.functions.process_context import ProcessContext
from penstock.runtime.operators.application import input_calls
from penstock.runtime.operators.custom import NEVER_EMITTED, OwnOperator, refuse_result
from penstock.runtime.operators.keyed_process import KeyedProcessOperator
from penstock.runtime.operators.two_inputs import Batch, BuffersInputs, results_apart
from penstock.runtime.time.timers import InternalTimerService
from penstock.types.list_key import immutable_key, selected_key
from penstock.types.time import TimeDomain
from penstock.user_failure import short
from penstock.wire import user_code
from penstock.wire.canonical.key_groups import KeyGroups, subtask_of
from penstock.wire.elements import MAX_WATERMARK, MIN_TIMESTAMP

Entry = tuple[int, Any, int | None]
"""(input, record, timestamp)."""


class KeyedTwoInputOperator(BuffersInputs, KeyedProcessOperator):
    """Buffers both inputs, then calls the method of the input on every record, key by key."""

    def __init__(
        self, spec: OperatorSpec, output: Output, context: OperatorContext, scope: KeyedScope
    ) -> None:
        super().__init__(spec, output, context, scope)
        self._calls = input_calls(spec.function, spec.method)

    def inputs_complete(self) -> None:
        """Process the buffered records, key by key."""
        waiting = self.take_waiting()
        final, group_of = self._final_watermark, self._group_of
        for key, entries in self._by_key(waiting).items():
            self.keys.key = key
            self.keys.group = group_of(key)
            self.process_entries(key, entries)
            if final is not None:
                self.end_key(final)
        self.flush()

    def continue_key(self, number: int, values: list[Any], timestamps: list[int] | None) -> None:
        """Process some records of input `number`; parts are in the order of `in_order`."""
        self.records_in += len(values)
        stamps = timestamps or repeat(None)
        entries = [(number, *stamped) for stamped in zip(values, stamps, strict=False)]
        if not results_among(values):
            self.in_order(entries)
        self.process_entries(self.keys.key, entries)

    def _by_key(self, waiting: list[list[Batch]]) -> dict[Any, list[Entry]]:
        """Return the records of each key in the order in which they are processed."""
        results, others = results_apart(waiting)
        result_groups: dict[Any, list[Entry]] = {}
        for key, entry in self.with_keys(results):
            result_groups.setdefault(key, []).append(entry)
        groups: dict[Any, list[Entry]] = {}
        for key, entry in self.with_keys(others):
            groups.setdefault(key, []).append(entry)
        for entries in groups.values():
            self.in_order(entries)
        if not result_groups:
            return groups
        return {
            key: result_groups.get(key, []) + groups.get(key, [])
            for key in {**result_groups, **groups}
        }

    def with_keys(self, waiting: list[list[Batch]]) -> Iterator[tuple[Any, Entry]]:
        """Yield the records of buffered batches with their keys, input by input."""
        for number, batches in enumerate(waiting):
            for values, timestamps in batches:
                keys = self.keys_of(number, values)
                stamps = timestamps or repeat(None)
                for key, value, stamp in zip(keys, values, stamps, strict=False):
                    yield key, (number, value, stamp)

    def in_order(self, entries: list[Entry]) -> None:
        """Order the records of a key by time, in a batch run and if they have one."""
        if self._by_time and any(stamp is not None for _, _, stamp in entries):
            entries.sort(key=_time)  # stable: the first input goes first

    def process_entries(self, key: Any, entries: list[Entry]) -> None:
        """Process records of a key in the given order."""
        for (number, is_stamped), some in groupby(entries, key=_alike):
            _, values, stamps = zip(*some, strict=True)
            self.apply(
                self.inputs[number], list(values), list(stamps) if is_stamped else None, key=key
            )


def _alike(entry: Entry) -> tuple[int, bool]:
    """Return the value that entries processed together share."""
    return entry[0], entry[2] is not None


def _time(entry: Entry) -> int:
    return MIN_TIMESTAMP if entry[2] is None else entry[2]


_HINT = "Set only keys of records that this object was given."


class OperatorKeys:
    """Implements `StreamOperatorKeys` of the API: the current key, and the timers of keys."""

    def __init__(self, operator: KeyedCustomOperator, timers: InternalTimerService) -> None:
        self._operator = operator
        self._timers = timers

    def set_current_key(self, key: Any) -> None:
        """Set the current key, as the runtime does for each record."""
        self._operator.set_current_key(immutable_key(key))

    def get_current_key(self) -> Any:
        """Return the current key."""
        return selected_key(self._operator.keys.key)

    def timer_service(self) -> InternalTimerService:
        """Return the timers of the current key."""
        return self._timers


class KeyedCustomOperator(OwnOperator, KeyedTwoInputOperator):
    """Calls a `OneInputStreamOperator`, `TwoInputStreamOperator` or `MultipleInputStreamOperator`."""

    takes_keys_in_parts = True

    def __init__(
        self, spec: OperatorSpec, output: Output, context: OperatorContext, scope: KeyedScope
    ) -> None:
        super().__init__(spec, output, context, scope)
        self._prepare(ProcessContext(self._timers, scope.context, spec=spec))
        self._shipped = b"" if context.is_live else user_code.dump(spec.function)
        self._backlog_of: dict[int, bool] = {}
        self._is_open = False
        self._groups = KeyGroups(context.get_max_number_of_parallel_subtasks())
        self._seen: set[int] = set()
        self._least = MAX_WATERMARK
        self._last_backlog: bool | None = None
        self._out.holds = not context.is_live

    def open(self) -> None:
        """Open the object of a live run; those of a batch run are opened per key group."""
        if self.context.is_live:
            self._open(self.spec.function)

    def close(self) -> None:
        """Close the object of a live run, or of a key group of a batch run that was not ended."""
        if self.context.is_live or self._is_open:
            self._is_open = False
            super().close()

    def inputs_complete(self) -> None:
        """Process the buffered records, with a separate object for each key group of a batch run."""
        if not any(self._waiting):
            return
        if not self._is_open:
            self._begin_group()
        if not self.spec.sorts_itself or self._final_watermark is None:
            super().inputs_complete()
            return
        for waiting in results_apart(self.take_waiting()):
            for key, entry in self.with_keys(waiting):
                self.keys.key, self.keys.group = key, self._group_of(key)
                self.process_entries(key, [entry])
        self.flush()

    @property
    def has_parts_by_time(self) -> bool:
        """Parts of a key come as they arrived, if the operator sorts them itself."""
        return not self.spec.sorts_itself

    def start_key(self, key: Any) -> None:
        """Begin with a key whose records come in parts."""
        if not self._is_open:
            self._begin_group()
        super().start_key(key)

    def end_group(self) -> None:
        """End the object of a key group, before its state is written (batch run)."""
        final = self._final_watermark
        if not self._is_open or final is None:
            return
        if self.spec.sorts_itself:
            self._fire_all(final)
        for number in [n for n, backlog in self._backlog_of.items() if backlog]:
            if self._hands_over:
                self._forward_backlog(number, False)  # noqa: FBT003 - a status
        for number in sorted(self._ending):
            self._end(number)
        self._call("watermark", self._target.process_watermark, final)
        self._check_sorters("at the end of a key group")
        self._is_open = False
        super().close()
        self._out.flush()
        self._least = min(self._least, self._out.watermark)
        self._last_backlog = self._last_backlog or self._out.backlog

    def take_backlog(self, number: int, backlog: bool) -> None:  # noqa: FBT001
        """Pass the attributes of an input; in a batch run to every following object."""
        self._backlog_of[number] = backlog
        if self.context.is_live:
            self._forward_backlog(number, backlog)
            return
        known = combined_backlog(self._backlog_of.get(n) for n in range(self.spec.input_count))
        if known is not None:
            self.output.set_backlog(known or bool(self._last_backlog))

    def input_ended(self, number: int) -> None:
        """Pass the end of an input; that of the last one when its watermark arrives."""
        self._ending.add(number)
        if self.context.is_live and len(self._ending) < self.spec.input_count:
            self._end(number)

    def advance_watermark(self, watermark: int) -> None:
        """Fire timers and pass the watermark; Long.MAX is forwarded after all results."""
        if watermark <= self.watermark:
            return
        self.watermark = watermark
        if not self.context.is_live:
            is_end = watermark == MAX_WATERMARK
            self.output.advance_watermark(watermark if is_end else min(watermark, self._least))
            return
        self._timers.watermark = watermark
        self._timers.fire_all_keys(watermark, self._fire)
        self._pass_watermark(watermark)

    def restore_watermark(self, watermark: int) -> None:
        """Restore the watermark after a restart."""
        self._out.watermark = watermark
        super().restore_watermark(watermark)

    def memory(self) -> int | None:
        """Return the watermark it has emitted."""
        emitted = self._out.watermark if self.context.is_live else self._least
        return max(min(emitted, self.watermark), NEVER_EMITTED)

    def flush(self) -> None:
        """Emit the buffered results."""
        self._out.flush()

    def set_current_key(self, key: Any) -> None:
        """Set the current key."""
        group = self._groups[key]
        context = self.context
        subtasks = context.get_number_of_parallel_subtasks()
        own = group in self._seen
        if context.is_live:
            most = context.get_max_number_of_parallel_subtasks()
            own = subtask_of(group, subtasks, most) == context.get_index_of_this_subtask()
        if not own:
            problem = f"operator {self.spec.name!r} set the key {short(key)}, which is not its own"
            raise UnkeyedStateError(problem, hint=_HINT, origin=self.spec.origin)
        self.keys.key, self.keys.group = key, self._group_of(key)

    @property
    def _hands_over(self) -> bool:
        return not self._is_last_run

    def _begin_group(self) -> None:
        self._seen.clear()
        self._out.watermark, self._out.backlog = MIN_TIMESTAMP, None
        self._open(user_code.load(self._shipped))
        for number, backlog in sorted(self._backlog_of.items()):
            self._forward_backlog(number, backlog)

    def _open(self, function: Any) -> None:
        self._adopt(function)
        self._target.keys = OperatorKeys(self, self._timers)
        self._on_timer = self._target.on_timer
        self._call("open", self._target.open, self.context)
        self._is_open = True
        self._out.flush()

    def _fire_all(self, final: int) -> None:
        """Fire the timers of all keys of a group that was not processed key by key."""
        self._timers.watermark = final
        self._timers.fire_all_keys(final, self._fire)
        until = self._timers.processing_time_in_batch(is_last_run=self._is_last_run)
        self._context.domain = TimeDomain.PROCESSING_TIME
        self._timers.fire_processing_time(until, self._fire)
        self._context.domain = TimeDomain.EVENT_TIME
        self._timers.watermark = MIN_TIMESTAMP

    def in_order(self, entries: list[Entry]) -> None:
        """Order the records of a key, unless the operator does it itself."""
        if not self.spec.sorts_itself:
            super().in_order(entries)

    def process_entries(self, key: Any, entries: list[Entry]) -> None:
        """Pass records of a key to the operator, one by one."""
        if not self.context.is_live:
            self._seen.add(self._groups[key])
        context, calls = self._context, self._inputs.elements
        for number, value, stamp in entries:
            context.current_timestamp = stamp
            try:
                refuse_result(calls[number](value, context), self.spec)
            except BaseException as cause:
                where = f"record {short(value)} of input {number + 1}, key {short(key)}"
                raise self.failed_in(where, cause) from cause

    def _fire(self, timestamp: int) -> None:
        self._context.current_timestamp = timestamp
        where = f"timer {timestamp} of key {short(self.keys.key)}"
        self.guarded(where, self._on_timer, timestamp, self._context)
