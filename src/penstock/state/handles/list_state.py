"""List state: a list per key, stored in chunks, so that an addition writes only the added elements.

    micro-batch     1: add a, b      2: add c      3: add d, e
    entries         0: [a, b]        1: [c]        2: [d, e]

The subkey of an entry is the number of its chunk. A micro-batch that adds elements writes one chunk at
the end. Numbers start at 0 without gaps, so the end is found by checking the chunks 1, 2, 4, 8, …; the
cost does not depend on the length of the list. If a list with more than `MAX_CHUNKS` chunks is read, it
is written again as one chunk.

With a time-to-live every element expires separately: a chunk contains `(last access in ms, element)` pairs.
Expired elements are removed from their chunk when the list is read or swept. A chunk without elements stays until
the list is written again, because the numbers of chunks have no gaps. A list without elements is removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from operator import itemgetter
from typing import Any

from penstock.state.backends.base import ABSENT, NestedPart, Table
from penstock.state.handles.key_context import HandleParameters, KeyContext, Parts
from penstock.state.handles.ttl import Expiry
from penstock.state.schema.declared_form import Form

MAX_CHUNKS = 8
"""Greatest number of chunks; a list with more is joined when it is read."""

_number = itemgetter(0)
_elements = itemgetter(1)


class TableListState:
    """`ListState` over a table; resolves the current key at every call."""

    __slots__ = ("_context", "_epoch", "_open", "_parts")

    def __init__(self, table: Table, context: KeyContext) -> None:
        self._parts = Parts(table)
        self._context = context
        self._epoch = context.epoch
        # Key to the chunk that this micro-batch has opened: (number, elements).
        self._open: dict[Any, tuple[int, list[Any]]] = {}

    def get(self) -> list[Any]:
        """Return all elements in order of addition, in a new list."""
        context = self._context
        part, key = self._parts[context.group], context.key
        chunks = part.items(key)
        if len(chunks) > MAX_CHUNKS:
            self._replace(part, key, joined(chunks))
            chunks = part.items(key)
        return joined(chunks)

    def add(self, value: Any) -> None:
        """Append `value`."""
        context = self._context
        part, key = self._parts[context.group], context.key
        number, elements = self._end(part, key)
        elements.append(value)
        part.put(key, number, elements)

    def add_all(self, values: Iterable[Any]) -> None:
        """Append `values`."""
        added = list(values)
        if added:
            context = self._context
            part, key = self._parts[context.group], context.key
            number, elements = self._end(part, key)
            elements += added
            part.put(key, number, elements)

    def update(self, values: Iterable[Any]) -> None:
        """Replace all elements by `values`."""
        context = self._context
        self._replace(self._parts[context.group], context.key, list(values))

    def clear(self) -> None:
        """Remove all elements."""
        context = self._context
        self._replace(self._parts[context.group], context.key, [])

    def __iter__(self) -> Iterator[Any]:
        return iter(self.get())

    def _end(self, part: NestedPart, key: Any) -> tuple[int, list[Any]]:
        if self._epoch != self._context.epoch:
            self._epoch = self._context.epoch
            self._open.clear()
        chunk = self._open.get(key)
        if chunk is None:
            chunk = self._open[key] = (_next_number(part, key), [])
        return chunk

    def _replace(self, part: NestedPart, key: Any, elements: list[Any]) -> None:
        part.clear(key)
        self._open.pop(key, None)
        if elements:
            part.put(key, 0, elements)


class TypedListState(TableListState):
    """List state of a declared type.

    Every method with elements raises `TypeMismatchError`, and changes nothing, if an element does not
    have the type.
    """

    __slots__ = ("_form",)

    def __init__(self, table: Table, context: KeyContext, form: Form) -> None:
        super().__init__(table, context)
        self._form = form

    def add(self, value: Any) -> None:
        """Append `value`."""
        super().add(self._form(value))

    def add_all(self, values: Iterable[Any]) -> None:
        """Append `values`."""
        super().add_all(map(self._form, values))

    def update(self, values: Iterable[Any]) -> None:
        """Replace all elements by `values`."""
        super().update(map(self._form, values))


def joined(chunks: list[tuple[int, list[Any]]]) -> list[Any]:
    """Return the elements of all chunks in order, in a new list; it sorts `chunks`."""
    chunks.sort(key=_number)
    return list(chain.from_iterable(map(_elements, chunks)))


def _next_number(part: NestedPart, key: Any) -> int:
    """Return the number after the last chunk; only the first chunk may be large."""
    if part.is_empty(key):
        return 0
    last, free = 0, 1  # `last` exists; `free` is checked next
    while part.get(key, free, ABSENT) is not ABSENT:
        last, free = free, 2 * free
    while free - last > 1:
        middle = (last + free) // 2
        if part.get(key, middle, ABSENT) is ABSENT:
            free = middle
        else:
            last = middle
    return free


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


def list_state(parameters: HandleParameters) -> TableListState:
    """Return the handle of a list state."""
    table, context, form = parameters.table, parameters.context, parameters.form
    if parameters.expiry is not None:
        return TtlListState(table, context, parameters.expiry, form)
    return TableListState(table, context) if form is None else TypedListState(table, context, form)
