"""The stored records of one side of an interval join, per key in order of time.

A map state has one list of records per key and timestamp. Lists of the current key that were read or
changed are cached until `write`. So a list is read and written once per micro-batch, and only lists
within the bounds of a record are read.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import Any

from penstock.runtime.functions.state_handles import KeyedScope
from penstock.state.backends.base import NestedPart
from penstock.state.handles.key_context import KeyContext
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.types import TypeInformation, Types


class IntervalBuffer:
    """One side of one operator; it uses the current key of the scope's context."""

    def __init__(
        self, uid: str, name: str, scope: KeyedScope, element: TypeInformation, reach: int
    ) -> None:
        """Bind."""
        kept = Types.LIST(element) if element.need_conversion() else Types.PICKLED_BYTE_ARRAY()
        schema = StateSchema(StateKind.MAP, kept, Types.LONG())
        self._table = scope.store.table(uid, name, schema)
        self._ends = scope.store.timers(uid, f"{name}_ends")
        self._reach = reach
        self._context: KeyContext = scope.context
        self._part: NestedPart
        self._lists: dict[int, list[Any]] = {}
        self._changed: set[int] = set()
        self._times: list[int] | None = None

    def start_key(self) -> None:
        """Begin with the records of the current key."""
        self._part = self._table[self._context.group]
        self._lists, self._changed, self._times = {}, set(), None

    def add(self, time: int, value: Any) -> None:
        """Add a record."""
        found = self._lists.get(time)
        if found is None:
            found = self._lists[time] = list(self._part.get(self._context.key, time, ()))
            if self._times is not None and not found:
                insort(self._times, time)
        found.append(value)
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
            yield time, found

    def drop(self, time: int, watermark: int) -> None:
        """Remove records that no record from `time` on can join, unless they must be stored."""
        gone = min(time - 1, watermark) - self._reach
        for known in [known for known in self._lists if known <= gone]:
            del self._lists[known]
            self._changed.discard(known)
        if self._times is not None:
            del self._times[: bisect_right(self._times, gone)]

    def write(self, watermark: int) -> None:
        """Store the added records that may still be joined after a watermark."""
        context = self._context
        for time in sorted(self._changed):
            end = time + self._reach
            if end > watermark:
                self._part.put(context.key, time, self._lists[time])
                self._ends.add(context.group, context.key, end)

    def forget(self, watermark: int) -> None:
        """Remove the records of all keys that cannot be joined after a watermark."""
        while (due := self._ends.pop_due(watermark)) is not None:
            end, group, key = due
            self._table[group].remove(key, end - self._reach)
