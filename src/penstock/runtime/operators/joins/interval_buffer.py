"""The stored records of one side of an interval join, per key in order of time.

A map state has one list of records per key and timestamp. Lists of the current key that were read or
changed are cached until `write`. So a list is read and written once per micro-batch, and only lists
within the bounds of a record are read.

    inner join                          [record, …]
    side whose unmatched records go on  [(record, has matched), …]
    left side of a semi or anti join    [record, …]   without those that have matched
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from typing import Any

from penstock.program.join import IntervalSpec, reaches_ms
from penstock.runtime.functions.state_handles import KeyedScope
from penstock.state.backends.base import NestedPart
from penstock.state.handles.key_context import KeyContext
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.state.schema.own_states import INTERVAL_BUFFERS
from penstock.types import Types


class IntervalBuffer:
    """One side of one operator; it uses the current key of the scope's context."""

    def __init__(self, interval: IntervalSpec, side: int, uid: str, scope: KeyedScope) -> None:
        """Bind."""
        element = interval.types[side]
        self._pads = interval.pads(side)
        self._is_done = interval.existence is not None and side == 0
        self._has_marks = self._pads and not self._is_done
        if self._has_marks and element.need_conversion():
            element = Types.TUPLE([element, Types.BOOLEAN()])
        kept = Types.LIST(element) if element.need_conversion() else Types.PICKLED_BYTE_ARRAY()
        schema = StateSchema(StateKind.MAP, kept, Types.LONG())
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
        """Add a record, unless nothing more is to be done with it."""
        if self._is_done and has_matched:
            return
        found = self._lists.get(time)
        if found is None:
            found = self._lists[time] = list(self._part.get(self._context.key, time, ()))
            if self._times is not None and not found:
                insort(self._times, time)
        found.append((value, has_matched) if self._has_marks else value)
        self._changed.add(time)

    def between(self, first: int, last: int) -> Iterator[tuple[int, list[Any]]]:
        """Yield (time, records) from `first` to `last`, both included, in order of time."""
        times = self._times
        if times is None:
            stored = self._part.subkeys(self._context.key)
            times = self._times = sorted({*stored, *self._lists})
        for time in times[bisect_left(times, first) : bisect_right(times, last)]:
            found = self._lists.get(time)
            if found is None:
                found = self._lists[time] = list(self._part.get(self._context.key, time))
            yield time, [record for record, _ in found] if self._has_marks else found

    def have_matched(self, time: int, places: list[int]) -> None:
        """Record that those of a time at some places of its list have matched."""
        found = self._lists[time]
        if self._is_done:
            gone = set(places)
            self._lists[time] = [each for at, each in enumerate(found) if at not in gone]
        elif self._has_marks:
            for at in places:
                found[at] = (found[at][0], True)
        else:
            return
        self._changed.add(time)

    def drop(self, watermark: int) -> list[tuple[int, Any]]:
        """Remove the records of the current key that need not wait after a watermark.

        Returns:
            Those without a match that are passed on, with the times at which they ended to wait.
        """
        last = watermark - self._reach
        gone = sorted(known for known in self._lists if known <= last)
        lists = {known: self._lists.pop(known) for known in gone}
        self._changed.difference_update(gone)
        if self._times is not None:
            del self._times[: bisect_right(self._times, last)]
        return [
            (known + self._reach, record)
            for known, found in lists.items()
            for record in self._unmatched(found)
        ]

    def write(self) -> None:
        """Store what has changed of the current key."""
        context = self._context
        for time in sorted(self._changed):
            found = self._lists[time]
            if found:
                self._part.put(context.key, time, found)
                self._ends.add(context.group, context.key, time + self._reach)
            else:
                self._part.remove(context.key, time)

    def forget(self, watermark: int) -> Iterator[tuple[int, Any, int, list[Any]]]:
        """Remove the records of all keys that cannot be joined after a watermark.

        Yields:
            Key group, key, end of the waiting, and records without a match that are passed on.
        """
        while (due := self._ends.pop_due(watermark)) is not None:
            end, group, key = due
            time = end - self._reach
            if self._pads:
                unmatched = self._unmatched(self._table[group].get(key, time, ()))
                yield group, key, end, unmatched
            self._table[group].remove(key, time)

    def _unmatched(self, found: Sequence[Any]) -> list[Any]:
        if self._has_marks:
            return [record for record, has_matched in found if not has_matched]
        return list(found) if self._pads else []
