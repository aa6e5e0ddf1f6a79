"""interval_join: pairs of records of one key whose times are close, in event time.

A pair is joined if `left time + lower <= right time <= left time + upper`. Each side stores its
records while a record of the other side that is not late can still be joined with them:

    left record of time t     needed up to t + max(upper, 0)
    right record of time t    needed up to t + max(-lower, 0)

Event-time timers of those times remove them. A record whose time is before the watermark is late and
is not joined. In a batch run no record is late, the records of a key are joined in order of time, and
only records that the next run may need are written to state.

The context of the function of an interval join.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import compress, repeat
from typing import Any

from penstock.errors import ArgumentError, TypeMismatchError
from penstock.program.level import OperatorSpec
from penstock.runtime.flow.output import Output, send_sides
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.operators.joins.interval_buffer import IntervalBuffer
from penstock.runtime.operators.joins.two_sides import lists_by_key
from penstock.runtime.operators.two_inputs import BuffersInputs
from penstock.types.output_tag import OutputTag
from penstock.user_failure import short
from penstock.wire.elements import MIN_TIMESTAMP


class InternalJoinContext:
    """Implements `ProcessJoinFunction.Context`.

    Attributes:
        left: Time of the left record.
        right: Time of the right record.
        aside: (tag, value) pairs for side outputs that the operator has not taken yet.
    """

    __slots__ = ("_copy", "aside", "left", "right")

    def __init__(self, copy: Callable[[Any], Any] | None) -> None:
        """Begin without a pair."""
        self._copy = copy
        self.left = 0
        self.right = 0
        self.aside: list[tuple[OutputTag, Any]] = []

    def get_left_timestamp(self) -> int:
        """Return the time of the left record in epoch milliseconds."""
        return self.left

    def get_right_timestamp(self) -> int:
        """Return the time of the right record in epoch milliseconds."""
        return self.right

    def get_timestamp(self) -> int:
        """Return the time of the results: the later of the two."""
        return max(self.left, self.right)

    def output(self, output_tag: OutputTag, value: Any) -> None:
        """Emit to a side output.

        Raises:
            ArgumentError: `output_tag` is no `OutputTag`.
        """
        if not isinstance(output_tag, OutputTag):
            raise ArgumentError(
                f"output got {output_tag!r}", hint="Pass an OutputTag, then the value."
            )
        self.aside.append((output_tag, value if self._copy is None else self._copy(value)))


Entry = tuple[int, int, Any]
"""(time, input, record)."""

_SIDES = ("left", "right")


class IntervalJoinOperator(BuffersInputs):
    """Calls the function for every pair, as soon as both records have arrived."""

    may_tag = True
    takes_keys_in_parts = True

    def __init__(
        self, spec: OperatorSpec, output: Output, context: OperatorContext, scope: KeyedScope
    ) -> None:
        super().__init__(spec, output, context, scope)
        assert spec.interval is not None
        interval = self._interval = spec.interval
        self.late_records: int = 0
        reaches = (max(interval.upper, 0), max(-interval.lower, 0))
        self._buffers = [
            IntervalBuffer(spec.uid, f"_interval_{side}", scope, element, reach)
            for side, element, reach in zip(_SIDES, interval.types, reaches, strict=True)
        ]
        # Per input: the offsets from the time of a record to the first and last time of its matches.
        self._reach = (
            (interval.lower, interval.upper),
            (-interval.upper, -interval.lower),
        )
        self._context = InternalJoinContext(self.emission.copy)

    def inputs_complete(self) -> None:
        """Join the buffered records, key by key."""
        keys: list[Any] = []
        entries: list[Entry] = []
        for number, batches in enumerate(self.take_waiting()):
            for values, timestamps in batches:
                stamps = self._timestamps(number, values, timestamps)
                records, times = self._in_time(number, values, stamps)
                keys += self.keys_of(number, records)
                entries += zip(times, repeat(number), records, strict=False)
        for key, of_key in lists_by_key(keys, entries).items():
            self.start_key(key)
            if self._by_time:
                of_key.sort(key=_time)  # stable: of equal times the left ones go first
            self._join_entries(of_key)
            self._store()
        self.flush()

    def start_key(self, key: Any) -> None:
        """Begin with the records of a key."""
        super().start_key(key)
        for buffer in self._buffers:
            buffer.start_key()

    def continue_key(self, number: int, values: list[Any], timestamps: list[int] | None) -> None:
        """Join some records of a key, in order of time (batch run)."""
        self.records_in += len(values)
        stamps = self._timestamps(number, values, timestamps)
        self._join_entries(zip(stamps, repeat(number), values, strict=False))
        assert self._final_watermark is not None
        for buffer in self._buffers:
            buffer.drop(stamps[-1], self._final_watermark)

    def complete_key(self) -> None:
        """Store the records of the key that the next run needs."""
        self._store()
        self.flush()

    def on_watermark(self, watermark: int) -> None:
        """Remove records that are no longer needed (live run)."""
        if self._final_watermark is None:
            for buffer in self._buffers:
                buffer.forget(watermark)

    def _join_entries(self, entries: Iterable[Entry]) -> None:
        for time, number, value in entries:
            self._buffers[number].add(time, value)
            first, last = self._reach[number]
            found = self._buffers[1 - number].between(time + first, time + last)
            for other_time, others in found:
                self._join(number, (time, value), other_time, others)

    def _store(self) -> None:
        final = self._final_watermark
        for buffer in self._buffers:
            buffer.write(MIN_TIMESTAMP if final is None else final)

    def _join(self, number: int, own: tuple[int, Any], other_time: int, others: list[Any]) -> None:
        """Join one record with the records of the other side of one time."""
        call, context, (time, value) = self.call, self._context, own
        context.left, context.right = (other_time, time) if number else (time, other_time)
        results, stamps = self.waiting_results(with_timestamps=True)
        for other in others:
            left, right = (other, value) if number else (value, other)
            try:
                produced = call(left, right, context)
                if produced is not None:
                    results.extend(produced)
            except BaseException as cause:
                where = f"the pair {short(left)}, {short(right)} of key {short(self.keys.key)}"
                raise self.failed_in(where, cause) from cause
            if context.aside:
                results += context.aside
                context.aside.clear()
        stamps += repeat(max(time, other_time), len(results) - len(stamps))
        self.flush_if_many()

    def _timestamps(
        self, number: int, values: list[Any], timestamps: list[int] | None
    ) -> list[int]:
        if timestamps is not None and MIN_TIMESTAMP not in timestamps:
            return timestamps
        record = values[0 if timestamps is None else timestamps.index(MIN_TIMESTAMP)]
        raise TypeMismatchError(
            f"the {_SIDES[number]} record {short(record)} of {self.spec.name!r} has no timestamp, "
            "and an interval join needs one",
            hint="Call assign_timestamps_and_watermarks with a timestamp assigner on both streams.",
            origin=self.spec.origin,
        )

    def _in_time(
        self, number: int, values: list[Any], stamps: list[int]
    ) -> tuple[list[Any], list[int]]:
        """Return the records that are not late; late ones are dropped or sent to a side output."""
        watermark = self.watermark
        if self._final_watermark is not None or not stamps or min(stamps) >= watermark:
            return values, stamps
        is_late = [stamp < watermark for stamp in stamps]
        is_in_time = [not late for late in is_late]
        late = list(compress(values, is_late)), list(compress(stamps, is_late))
        tag = self._interval.late_tags[number]
        if tag is None:
            self.late_records += len(late[0])
        else:
            send_sides(self._sides, {tag: late})
        return list(compress(values, is_in_time)), list(compress(stamps, is_in_time))


def _time(entry: Entry) -> int:
    return entry[0]
