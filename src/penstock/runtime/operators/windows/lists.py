"""Contents of windows that store all records; see `contents`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.program.level import OperatorSpec
from penstock.runtime.functions.state_handles import KeyedScope
from penstock.runtime.operators.windows.stored_types import is_part_of
from penstock.state.handles.list_state import TableListState
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.state.schema.own_states import WINDOW_CONTENTS
from penstock.types import TypeInformation


class ListContents:
    """All records, or with an evictor (timestamp, record) pairs."""

    def __init__(
        self,
        spec: OperatorSpec,
        scope: KeyedScope,
        element: TypeInformation,
        name: str = WINDOW_CONTENTS,
    ) -> None:
        schema = StateSchema(StateKind.LIST, element, is_part=is_part_of(spec))
        self._space = scope.context
        self._table = scope.store.table(spec.uid, name, schema)
        self._state = TableListState(self._table, scope.context)

    def add(self, value: Any, timestamp: int) -> None:
        """Add a record."""
        self._state.add(value)

    def add_all(self, values: Iterator[Any]) -> bool:
        """Add records; return whether there were none before."""
        is_new: bool = self._table[self._space.group].is_empty(self._space.key)
        self._state.add_all(values)
        return is_new

    def elements(self, *, stays: bool) -> list[Any] | None:
        """Return the records."""
        return self._state.get() or None

    def replace(self, elements: list[Any]) -> None:
        """Replace the contents by `elements`."""
        self._state.update(elements)

    def clear(self) -> None:
        """Remove the contents."""
        self._state.clear()

    def merge(self, sources: Iterable[Any]) -> None:
        """Move the records of other windows to this one."""
        target = self._space.key
        for source in sources:
            self._space.key = source
            taken = self._state.get()
            self._state.clear()
            self._space.key = target
            self._state.add_all(taken)

    def combined(self, keys: Iterable[Any]) -> list[Any] | None:
        """Return the records of several panes."""
        found: list[Any] = []
        for key in keys:
            self._space.key = key
            found += self._state.get()
        return found or None

    def any_of(self, keys: Iterable[Any]) -> bool:
        """Return whether one of several panes has records."""
        part = self._table[self._space.group]
        return not all(map(part.is_empty, keys))


class StampedContents(ListContents):
    """Records with their timestamps, for evictors."""

    def add(self, value: Any, timestamp: int) -> None:
        """Add a record."""
        self._state.add((timestamp, value))
