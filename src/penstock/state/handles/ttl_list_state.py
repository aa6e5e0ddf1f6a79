"""List state with a time-to-live: every element expires separately.

A chunk contains `(last access in ms, element)` pairs. Expired elements are removed from their chunk
when the list is read or swept. A chunk without elements stays until the list is written again, because
the numbers of chunks have no gaps. A list without elements is removed.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any

from penstock.state.backends.base import NestedPart, Table
from penstock.state.handles.key_context import KeyContext
from penstock.state.handles.list_state import MAX_CHUNKS, TableListState, joined
from penstock.state.handles.ttl import Expiry
from penstock.state.schema.declared_form import Form

_value = itemgetter(1)


class TtlListState(TableListState):
    """`ListState` whose elements expire."""

    __slots__ = ("_expiry", "_form")

    def __init__(
        self, table: Table, context: KeyContext, expiry: Expiry, form: Form | None
    ) -> None:
        super().__init__(table, context)
        self._expiry = expiry
        self._form = form

    def get(self) -> list[Any]:
        """Return the visible elements in order of addition."""
        expiry, context = self._expiry, self._context
        expiry.accesses += 1
        now = expiry.now_ms()
        part, key = self._parts[context.group], context.key
        visible = super().get() if expiry.shows_expired else None
        self.remove_expired(part, key, now)
        living = super().get()
        if expiry.refreshes and any(last != now for last, _ in living):
            self._replace(part, key, [(now, value) for _, value in living])
        return list(map(_value, living if visible is None else visible))

    def add(self, value: Any) -> None:
        """Append `value`."""
        super().add(self._dated([value])[0])

    def add_all(self, values: Iterable[Any]) -> None:
        """Append `values`."""
        super().add_all(self._dated(values))

    def update(self, values: Iterable[Any]) -> None:
        """Replace all elements by `values`."""
        super().update(self._dated(values))

    def clear(self) -> None:
        """Remove all elements."""
        self._expiry.accesses += 1
        super().clear()

    def remove_expired(self, part: NestedPart, key: Any, now: int) -> tuple[int, int]:
        """Remove the expired elements of one list; return the numbers of elements before and after."""
        ttl_ms = self._expiry.ttl_ms
        chunks: list[tuple[int, list[Any]]] = part.items(key)
        n_before = n_after = n_empty = 0
        for number, elements in chunks:
            living = [pair for pair in elements if pair[0] + ttl_ms > now]
            n_before += len(elements)
            n_after += len(living)
            n_empty += not living
            if len(living) < len(elements):
                self._open.pop(key, None)
                part.put(key, number, living)
        if chunks and n_empty == len(chunks):
            self._replace(part, key, [])
        elif n_empty > MAX_CHUNKS:
            self._replace(part, key, joined(part.items(key)))
        return n_before, n_after

    def _dated(self, values: Iterable[Any]) -> list[tuple[int, Any]]:
        self._expiry.accesses += 1
        now, form = self._expiry.now_ms(), self._form
        return [(now, value if form is None else form(value)) for value in values]
