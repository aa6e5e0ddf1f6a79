"""Interval join: pairs of records of one key whose times are close, in event time; and the records stored for it.

A pair is joined if `left time + lower <= right time <= left time + upper`. Each side stores its
records while a record of the other side that is not late can still be joined with them:

    left record of time t     needed up to t + max(upper, 0)
    right record of time t    needed up to t + max(-lower, 0)

Event-time timers of those times remove them. A record that has not matched then goes on beside None, if
the kind of the join has it: results are never taken back. The time of a record is its timestamp, or
that of a column.

A late record is not joined: its time is before the watermark; in a join of relations also at the
watermark, so that no match depends on what was removed before. In a batch run no record is late, the
records of a key are joined in order of time, and only records that the next run may need are written
to state.

The records of a side are a map state: one list per timestamp. Lists of the current key that were read or
changed are cached until `write`. So a list is read and written once per micro-batch, and only lists
within the bounds of a record are read.

    inner join                          [record, …]
    side whose unmatched records go on  [(record, has matched), …]
    left side of a semi or anti join    [record, …]   without those that have matched
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress, repeat
from typing import Any

from penstock.errors import ArgumentError, TypeMismatchError
from penstock.program.join import IntervalSpec, JoinKind, is_null_key, reaches_ms
from penstock.program.level import OperatorSpec
from penstock.runtime.flow.output import Output, send_sides
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.operators.two_inputs import BuffersInputs, lists_by_key
from penstock.state.backends.base import NestedPart
from penstock.state.handles.key_context import KeyContext
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.state.schema.own_states import INTERVAL_BUFFERS
from penstock.types import Types
from penstock.types.output_tag import OutputTag
from penstock.user_failure import short
from penstock.wire.elements import MIN_TIMESTAMP


class IntervalBuffer:
    """One side of one operator; it uses the current key of the scope's context."""

    def __init__(self, interval: IntervalSpec, side: int, uid: str, scope: KeyedScope) -> None:
        """Bind."""
        element = interval.types[side]
        self._pads = interval.kind.pads(side)
        self._is_done = interval.kind.is_existence and side == 0
        self._has_marks = self._pads and not self._is_done
        if self._has_marks and element.need_conversion():
            element = Types.TUPLE([element, Types.BOOLEAN()])
        stored_type = (
            Types.LIST(element) if element.need_conversion() else Types.PICKLED_BYTE_ARRAY()
        )
        schema = StateSchema(StateKind.MAP, stored_type, Types.LONG())
        name = INTERVAL_BUFFERS[side]
        self._table = scope.store.table(uid, name, schema)
        self._ends = scope.store.timers(uid, f"{name}_ends")
        self._reach = reaches_ms(interval.lower, interval.upper)[side]
        self._context: KeyContext = scope.context
        self._part: NestedPart
        self._lists: dict[int, list[Any]] = {}
        self._changed: set[int] = set()
        self._times: list[int] | None = None

    def start_key(self) -> None:
        """Begin with the records of the current key."""
        self._part = self._table[self._context.group]
        self._lists, self._changed, self._times = {}, set(), None

    def add(self, time: int, value: Any, *, has_matched: bool = False) -> None:
        """Add a record, unless it is already complete."""
        if self._is_done and has_matched:
            return
        entries = self._lists.get(time)
        if entries is None:
            entries = self._lists[time] = list(self._part.get(self._context.key, time, ()))
            if self._times is not None and not entries:
                insort(self._times, time)
        entries.append((value, has_matched) if self._has_marks else value)
        self._changed.add(time)

    def between(self, first: int, last: int) -> Iterator[tuple[int, list[Any]]]:
        """Yield (time, records) from `first` to `last`, both included, in order of time."""
        times = self._times
        if times is None:
            stored = self._part.subkeys(self._context.key)
            times = self._times = sorted({*stored, *self._lists})
        for time in times[bisect_left(times, first) : bisect_right(times, last)]:
            entries = self._lists.get(time)
            if entries is None:
                entries = self._lists[time] = list(self._part.get(self._context.key, time))
            yield time, [record for record, _ in entries] if self._has_marks else entries

    def have_matched(self, time: int, places: list[int]) -> None:
        """Record that those of a time at some places of its list have matched."""
        entries = self._lists[time]
        if self._is_done:
            gone = set(places)
            self._lists[time] = [entry for index, entry in enumerate(entries) if index not in gone]
        elif self._has_marks:
            for index in places:
                entries[index] = (entries[index][0], True)
        else:
            return
        self._changed.add(time)

    def drop(self, watermark: int) -> list[tuple[int, Any]]:
        """Remove the records of the current key that need not wait after a watermark.

        Return those without a match that are passed on, with the times at which they ended to wait.
        """
        last = watermark - self._reach
        gone = sorted(time for time in self._lists if time <= last)
        lists = {time: self._lists.pop(time) for time in gone}
        self._changed.difference_update(gone)
        if self._times is not None:
            del self._times[: bisect_right(self._times, last)]
        return [
            (time + self._reach, record)
            for time, entries in lists.items()
            for record in self._unmatched(entries)
        ]

    def write(self) -> None:
        """Store what has changed of the current key."""
        context = self._context
        for time in sorted(self._changed):
            entries = self._lists[time]
            if entries:
                self._part.put(context.key, time, entries)
                self._ends.add(context.group, context.key, time + self._reach)
            else:
                self._part.remove(context.key, time)

    def forget(self, watermark: int) -> Iterator[tuple[int, Any, int, list[Any]]]:
        """Remove the records of all keys that cannot be joined after a watermark.

        Yield key group, key, end of the waiting, and records without a match that are passed on.
        """
        while (due := self._ends.pop_due(watermark)) is not None:
            end, group, key = due
            time = end - self._reach
            if self._pads:
                unmatched = self._unmatched(self._table[group].get(key, time, ()))
                yield group, key, end, unmatched
            self._table[group].remove(key, time)

    def _unmatched(self, matches: Sequence[Any]) -> list[Any]:
        if self._has_marks:
            return [record for record, has_matched in matches if not has_matched]
        return list(matches) if self._pads else []


class InternalJoinContext:
    """Implements `ProcessJoinFunction.Context`.

    Attributes:
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
        """Emit to a side output."""
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
        self._buffers = [IntervalBuffer(interval, side, spec.uid, scope) for side in (0, 1)]
        # Per input: the offsets from the time of a record to the first and last time of its matches.
        self._reach = (
            (interval.lower, interval.upper),
            (-interval.upper, -interval.lower),
        )
        self._late_ms = int(interval.is_relational)
        self._is_plain = interval.kind is JoinKind.INNER and interval.condition is None
        self._context = InternalJoinContext(self.emission.copy)

    def inputs_complete(self) -> None:
        """Join the buffered records, key by key."""
        keys: list[Any] = []
        entries: list[Entry] = []
        for number, batches in enumerate(self.take_waiting()):
            for values, timestamps in batches:
                records, times = self._timed(number, values, timestamps)
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
        records, times = self._timed(number, values, timestamps)
        self._join_entries(zip(times, repeat(number), records, strict=False))
        assert self._final_watermark is not None
        if times and self._interval.times is None:  # other times are not in order
            self._drop(min(times[-1] - 1, self._final_watermark))

    def complete_key(self) -> None:
        """Store the records of the key that the next run needs."""
        self._store()
        self.flush()

    def on_watermark(self, watermark: int) -> None:
        """Remove records that are no longer needed (live run)."""
        if self._final_watermark is None:
            for number, buffer in enumerate(self._buffers):
                for group, key, end, records in buffer.forget(watermark):
                    self.keys.group, self.keys.key = group, key
                    self._pad(number, zip(repeat(end), records, strict=False))

    def _join_entries(self, entries: Iterable[Entry]) -> None:
        if self._interval.is_relational and is_null_key(self.keys.key):
            for time, number, value in entries:
                self._pad(number, [(time, value)])
            return
        for time, number, value in entries:
            first, last = self._reach[number]
            matches = self._buffers[1 - number].between(time + first, time + last)
            if not self._is_plain:
                has_matched = self._match(number, (time, value), matches)
                self._buffers[number].add(time, value, has_matched=has_matched)
                continue
            self._buffers[number].add(time, value)
            for other_time, others in matches:
                self._call(_pairs(number, value, others), number, time, other_time)

    def _match(
        self, number: int, own: tuple[int, Any], matches: Iterator[tuple[int, list[Any]]]
    ) -> bool:
        """Join one record with those of the other side that match it, and return whether there is one."""
        kind, condition = self._interval.kind, self._interval.condition
        (time, value), has_matched = own, False
        for other_time, others in matches:
            pairs = list(_pairs(number, value, others))
            places = [
                index for index, pair in enumerate(pairs) if condition is None or condition(*pair)
            ]
            if not places:
                continue
            self._buffers[1 - number].have_matched(other_time, places)
            if not kind.is_existence:
                self._call((pairs[index] for index in places), number, time, other_time)
            elif kind is JoinKind.SEMI and (number or not has_matched):
                lefts = (pairs[index][0] for index in (places if number else places[:1]))
                self._call(((left, None) for left in lefts), number, time, other_time)
            has_matched = True
        return has_matched

    def _drop(self, watermark: int) -> None:
        """Forget the records of the current key that wait no longer."""
        for number, buffer in enumerate(self._buffers):
            self._pad(number, buffer.drop(watermark))

    def _store(self) -> None:
        if self._final_watermark is not None:
            self._drop(self._final_watermark)
        for buffer in self._buffers:
            buffer.write()

    def _pad(self, number: int, records: Iterable[tuple[int, Any]]) -> None:
        """Pass on records that match nothing, with the times of the results, if the join has them."""
        if self._interval.kind.pads(number):
            for time, record in records:
                self._call(_pairs(number, record, (None,)), number, time, time)

    def _call(
        self, pairs: Iterable[tuple[Any, Any]], number: int, time: int, other_time: int
    ) -> None:
        """Call the function for pairs of a time of one side and a time of the other."""
        call, context = self.call, self._context
        context.left, context.right = (other_time, time) if number else (time, other_time)
        results, stamps = self.waiting_results(with_timestamps=True)
        for left, right in pairs:
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

    def _timed(
        self, number: int, values: list[Any], timestamps: list[int] | None
    ) -> tuple[list[Any], list[int]]:
        """Return the records that may match, with their times."""
        times = self._interval.times
        if times is None:
            return self._in_time(number, values, self._timestamps(number, values, timestamps))
        column = list(map(times[number], values))
        if None in column:
            stamps = timestamps or [MIN_TIMESTAMP] * len(values)
            is_bare = [time is None for time in column]
            self._pad(number, compress(zip(stamps, values, strict=True), is_bare))
            values = [value for value, bare in zip(values, is_bare, strict=True) if not bare]
        return self._in_time(number, values, [time for time in column if time is not None])

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
        watermark = self.watermark + self._late_ms
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


def _pairs(number: int, value: Any, others: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Return the pairs of a record of one side with some of the other."""
    return zip(others, repeat(value)) if number else zip(repeat(value), others)


def _time(entry: Entry) -> int:
    return entry[0]
