"""assign_timestamps_and_watermarks: assigns timestamps to records, and emits watermarks.

Without a generator of the user's, the watermark is the greatest timestamp minus the
out-of-orderness minus one, and is emitted once per task or micro-batch, after its records. A
generator may also emit between two records; in a live run such a watermark takes effect there, in
every downstream operator. Upstream watermarks are dropped, except the last one, which means that
the input has ended.
"""

from __future__ import annotations

from itertools import repeat
from time import time_ns
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as kinds

from penstock.errors import TypeMismatchError, UserCodeError
from penstock.program.level import OperatorSpec
from penstock.program.timestamps import (
    ColumnTimestamps,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
)
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import OperatorContext
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.expressions import WriteColumns
from penstock.user_failure import short
from penstock.wire.elements import MAX_WATERMARK, MIN_TIMESTAMP
from penstock.wire.row_columns import rows_of


def without_timestamp(spec: OperatorSpec) -> TypeMismatchError:
    """Return the error about a record whose column of timestamps is NULL."""
    return TypeMismatchError(
        f"the column of timestamps of {spec.name!r} is NULL in a record",
        hint="Filter such records out before, with where.",
        origin=spec.origin,
    )


class ReadsColumns(Protocol):
    """An operator that may read Arrow columns of a source."""

    def reads(self, schema: Any) -> bool:
        """Return whether it reads columns of a schema."""


class GeneratedWatermarks(WatermarkOutput):
    """The output of a generator.

    Attributes:
        idle: Whether it is marked idle (True) or active (False); None if neither.
        is_new: Whether it has changed since the operator set this to False.
    """

    __slots__ = ("greatest", "idle", "is_new")

    def __init__(self) -> None:
        self.greatest = MIN_TIMESTAMP
        self.idle: bool | None = None
        self.is_new = False

    def emit_watermark(self, watermark: Watermark) -> None:
        """Store a watermark."""
        stamp = getattr(watermark, "timestamp", None)
        if type(stamp) is not int or not _fits([stamp]):
            raise TypeMismatchError(
                f"a watermark generator emitted {short(watermark)}",
                hint="Emit Watermark(epoch milliseconds), an int of at most 64 bits.",
            )
        if stamp > self.greatest:
            self.greatest = stamp
            self.is_new = True
        if self.idle:
            self.mark_active()

    def mark_idle(self) -> None:
        """Mark the split idle."""
        self.is_new = self.is_new or self.idle is not True
        self.idle = True

    def mark_active(self) -> None:
        """Mark the split active."""
        self.is_new = self.is_new or self.idle is not False
        self.idle = False


class TimestampsOperator(Operator):
    """Assigns timestamps, tracks the greatest, and makes watermarks from it."""

    def __init__(self, spec: OperatorSpec, output: Output, context: OperatorContext) -> None:
        super().__init__(spec, output, context)
        assert spec.timestamps is not None
        self._assigner = spec.timestamps.assigner
        self._bound_ms = spec.timestamps.out_of_orderness_ms
        self._make_generator = spec.timestamps.make_generator
        self._idle_ms = spec.timestamps.idle_ms
        self._greatest = MIN_TIMESTAMP
        self._idle = False
        self._generator: WatermarkGenerator | None = None
        self._generated = GeneratedWatermarks()
        self._last_record_ms: int | None = None
        self._has_records = False
        self._next: ReadsColumns | None = None
        self._merged_keys: int | None = None
        self._sends_times = False
        self._write: WriteColumns = _no_reader

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Assign timestamps to a batch."""
        if self._assigner is not None:
            timestamps = self._assign(self._assigner, values, timestamps)
        if self._idle_ms is not None and not self._has_records:
            self._has_records = True
            self._forward_idle(idle=False)
        if self._make_generator is not None:
            self._generate(values, timestamps)
            return
        if timestamps is not None:
            self._greatest = max(self._greatest, *timestamps)
        self.output.collect(values, timestamps)

    def reads(self, schema: Any) -> bool:
        """Return whether it assigns timestamps to Arrow columns of a source, and its only reader takes such."""
        if self._merged_keys is not None:
            return True
        if self._next is None or not isinstance(self._assigner, ColumnTimestamps):
            return False
        return self._next.reads(schema)

    def send_merged(self, keys: int, write: WriteColumns, *, sends_times: bool) -> None:
        """Send what Spark SQL has merged by key and pane or session to the channel that is the only reader.

        It also sends the greatest timestamps of sessions.
        """
        self._merged_keys, self._write, self._sends_times = keys, write, sends_times

    def send_columns(self, reader: ReadsColumns, write: WriteColumns) -> None:
        """Send batches of columns to an operator of expressions, which is the only reader."""
        if self._make_generator is None and self._idle_ms is None:
            self._next, self._write = reader, write

    def collect_columns(self, batch: Any) -> None:
        """Assign timestamps to a non-empty Arrow batch of a source; only if `reads` returned True."""
        assert isinstance(self._assigner, ColumnTimestamps), "others read records"
        self.records_in += batch.num_rows
        if self._merged_keys is not None:
            self._collect_merged(batch, self._merged_keys)
            return
        times = epoch_millis_of(batch.column(self._assigner.name))
        if times is None:
            self._assign(self._assigner, rows_of(batch), None)  # names the record without one
            raise AssertionError("some record has no timestamp")
        self._greatest = max(self._greatest, *times)
        self._write(batch, times)

    def _collect_merged(self, batch: Any, keys: int) -> None:
        """Send parts with the time of their pane or first record, and take the greatest timestamp (`penstock.expressions.paned`)."""
        *_, greatest = batch.columns
        if greatest.null_count:
            raise without_timestamp(self.spec)
        self._greatest = max(self._greatest, pc.max(greatest).as_py())
        at_parts = keys + 1
        if kinds.is_boolean(batch.schema.field(at_parts).type):  # no part is one
            batch = batch.filter(batch.column(at_parts))
            at_parts += 1
        if batch.num_rows:
            end = batch.num_columns if self._sends_times else batch.num_columns - 1
            parts = batch.select([*range(keys), *range(at_parts, end)])
            self._write(parts, batch.column(keys).to_pylist())

    def advance_watermark(self, watermark: int) -> None:
        """Drop upstream watermarks except the last."""
        if watermark == MAX_WATERMARK:
            super().advance_watermark(watermark)

    def set_idle(self, idle: bool) -> None:  # noqa: FBT001
        """Drop the upstream status: this operator determines idleness itself."""

    def finish_batch(self) -> None:
        """Emit the watermark of the records so far."""
        if self._make_generator is not None:
            try:
                self._current_generator().on_periodic_emit(self._generated)
            except BaseException as cause:
                raise self.failed_in("on_periodic_emit", cause) from cause
            self._pass_on()
        elif self._bound_ms is not None and self._greatest != MIN_TIMESTAMP:
            super().advance_watermark(self._greatest - self._bound_ms - 1)
        if self._idle_ms is not None:
            self._detect_idleness(self._idle_ms)

    def next_idle_time(self) -> int | None:
        """Return the time at which it becomes idle without records, None if it never does."""
        if self._idle_ms is None or self._idle or self._last_record_ms is None:
            return None
        return self._last_record_ms + self._idle_ms

    def start_split(self) -> None:
        """Reset the greatest timestamp: each split has its own watermark."""
        super().start_split()
        self._greatest = MIN_TIMESTAMP
        self._idle = False
        self._generator = None
        self._generated = GeneratedWatermarks()
        self._last_record_ms = None
        self._has_records = False

    def memory(self) -> int | None:
        """Return the greatest timestamp, or with a generator the greatest watermark."""
        return self._greatest

    def restore_memory(self, memory: int) -> None:
        """Restore the value that `memory` returned in an earlier run."""
        self._greatest = memory
        if self.watermark == MAX_WATERMARK:
            return  # the input has ended, so its watermark is greater
        if memory == MIN_TIMESTAMP:
            return
        if self._make_generator is not None:
            self._generated.greatest = memory
            super().restore_watermark(memory)
        elif self._bound_ms is not None:
            super().restore_watermark(memory - self._bound_ms - 1)

    def restore_watermark(self, watermark: int) -> None:
        """Restore only an upstream end; `restore_memory` restores the watermark."""
        if watermark == MAX_WATERMARK:
            super().restore_watermark(watermark)

    def _generate(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Pass every record to the generator; split the batch where it emits a watermark."""
        on_event = self._current_generator().on_event
        generated = self._generated
        stamps = repeat(MIN_TIMESTAMP) if timestamps is None else timestamps
        start = 0
        position = iter(values)
        for end, (value, stamp) in enumerate(zip(position, stamps, strict=False), 1):
            try:
                on_event(value, stamp, generated)
            except BaseException as cause:
                raise self.failed(cause, values, position) from cause
            if generated.is_new and self.context.is_live:
                cut = None if timestamps is None else timestamps[start:end]
                self.output.collect(values[start:end], cut)
                start = end
                self._pass_on()
                self.output.separate()
        if start < len(values):
            cut = None if timestamps is None else timestamps[start:]
            self.output.collect(values[start:], cut)

    def _pass_on(self) -> None:
        """Forward the output of the generator."""
        generated = self._generated
        if not generated.is_new:
            return
        generated.is_new = False
        if generated.idle is False:
            self._forward_idle(idle=False)
        if generated.greatest != MIN_TIMESTAMP:
            self._greatest = max(self._greatest, generated.greatest)
            super().advance_watermark(generated.greatest)
        if generated.idle:
            self._forward_idle(idle=True)

    def _forward_idle(self, *, idle: bool) -> None:
        """Forward the idle status, also of a new split that is active."""
        self._idle = idle
        self.output.set_idle(idle)

    def _detect_idleness(self, idle_ms: int) -> None:
        """Become idle after this time without records; only at levels above 0.

        A task of level 0 does not have the times of earlier tasks. So the receivers of its channels
        detect the idleness of its splits.
        """
        now_ms = time_ns() // 1_000_000
        if self._has_records or self._last_record_ms is None:
            self._last_record_ms = now_ms
        elif now_ms - self._last_record_ms >= idle_ms and not self._idle:
            self._forward_idle(idle=True)
        self._has_records = False

    def _current_generator(self) -> WatermarkGenerator:
        if self._generator is None:
            assert self._make_generator is not None
            try:
                generator = self._make_generator(self.context)
            except BaseException as cause:
                raise self.failed_in("the maker of the generator", cause) from cause
            if not hasattr(generator, "on_event") or not hasattr(generator, "on_periodic_emit"):
                raise UserCodeError(
                    f"for_generator was given a function that returned {short(generator)}",
                    hint="Return an object of a class derived from WatermarkGenerator.",
                    origin=self.spec.origin,
                )
            self._generator = generator
        return self._generator

    def _assign(self, assigner: Any, values: list[Any], timestamps: list[int] | None) -> list[int]:
        position = iter(values)
        try:
            if timestamps is None:
                assigned = [assigner(value, MIN_TIMESTAMP) for value in position]
            else:
                previous = zip(position, timestamps, strict=True)
                assigned = [assigner(value, stamp) for value, stamp in previous]
        except BaseException as cause:
            raise self.failed(cause, values, position) from cause
        if set(map(type, assigned)) != {int} or not _fits(assigned):
            index = next(
                i
                for i, stamp in enumerate(assigned)
                if type(stamp) is not int or not _fits([stamp])
            )
            raise self._no_timestamp(assigner, values[index], assigned[index])
        return assigned

    def _no_timestamp(self, assigner: Any, record: Any, assigned: Any) -> TypeMismatchError:
        if isinstance(assigner, ColumnTimestamps) and assigned is None:
            return TypeMismatchError(
                f"record {short(record)} of {self.spec.name!r} has no time: column "
                f"{assigner.name!r} is NULL",
                hint="Correct the data, or take the time from a column that is never NULL.",
                origin=self.spec.origin,
            )
        return TypeMismatchError(
            f"the timestamp assigner of {self.spec.name!r} returned {short(assigned)} for record "
            f"{short(record)}",
            hint="Return epoch milliseconds as an int of at most 64 bits.",
            origin=self.spec.origin,
        )


def epoch_millis_of(column: Any) -> list[int] | None:
    """Return the epoch milliseconds of a column of whole numbers or times; None if one is NULL."""
    if column.null_count:
        return None
    if kinds.is_timestamp(column.type):
        micros = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
        millis: list[int] = (micros.to_numpy() // 1_000).tolist()
        return millis
    whole: list[int] = column.to_pylist()
    return whole


def _no_reader(_batch: Any, _timestamps: list[int] | None) -> None:
    raise AssertionError("it has no reader of columns")


def _fits(stamps: list[int]) -> bool:
    return min(stamps) >= MIN_TIMESTAMP and max(stamps) <= MAX_WATERMARK
