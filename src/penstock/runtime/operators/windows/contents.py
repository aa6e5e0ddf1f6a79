"""The contents of windows: a reduced value, an accumulator, or all records.

All classes use the entry of the current key of a context, which is (key, stored window) or (key,
start of a pane).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from functools import reduce
from typing import Any, Protocol

from penstock.program.folding.fold import Fold
from penstock.program.level import OperatorSpec
from penstock.program.window_operation import WindowSpec
from penstock.runtime.fold.loops import fold_one, result_of
from penstock.runtime.functions.state_handles import KeyedScope
from penstock.runtime.operators.windows.lists import ListContents, StampedContents
from penstock.runtime.operators.windows.stored_types import is_part_of, stamped_type, stored_type
from penstock.runtime.operators.windows.two_lists import TwoListContents, two_lists
from penstock.state.backends.base import ABSENT
from penstock.state.schema.declared_form import Form, declared_form
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.state.schema.own_states import WINDOW_CONTENTS
from penstock.types.values.copying import ATOMS


class Contents(Protocol):
    """Contents of windows."""

    def add(self, value: Any, timestamp: int) -> None:
        """Add a record."""

    def add_all(self, values: Iterator[Any]) -> bool:
        """Add records, one at least; return whether there were none before."""

    def elements(self, *, stays: bool) -> list[Any] | None:
        """Return the elements for the window function, None if there are none."""

    def clear(self) -> None:
        """Remove the contents."""

    def merge(self, sources: Iterable[Any]) -> None:
        """Move the contents of other windows, given by their keys, to this one."""

    def combined(self, keys: Iterable[Any]) -> list[Any] | None:
        """Return the elements of several panes for the function, None if all are empty."""

    def any_of(self, keys: Iterable[Any]) -> bool:
        """Return whether one of several panes has contents."""


class FoldedContents:
    """One value: a reduced value or an accumulator."""

    def __init__(self, spec: OperatorSpec, scope: KeyedScope, fold: Fold) -> None:
        window = spec.window
        assert window is not None
        self._space = scope.context
        kept = stored_type(spec, window.kept_type)
        schema = StateSchema(StateKind.VALUE, kept, is_part=is_part_of(spec))
        self._table = scope.store.table(spec.uid, WINDOW_CONTENTS, schema)
        self._form = stored_form(spec)
        self._fold = fold

    def add(self, value: Any, timestamp: int) -> None:
        """Add a record."""
        self.add_all(iter((value,)))

    def add_all(self, values: Iterator[Any]) -> bool:
        """Add records; return whether there were none before."""
        part = self._table[self._space.group]
        before = part.get(self._space.key, ABSENT)
        after = fold_one(self._fold, before, values)
        part.put(self._space.key, after if self._form is None else self._form(after))
        return before is ABSENT

    def put(self, accumulator: Any) -> None:
        """Store the accumulator of records that were folded elsewhere; there were none before."""
        self._table[self._space.group].put(self._space.key, accumulator)

    def elements(self, *, stays: bool) -> list[Any] | None:
        """Return the result as the only element."""
        found = self._table[self._space.group].get(self._space.key, ABSENT)
        if found is ABSENT:
            return None
        result = result_of(self._fold, found)
        return [detached(result) if stays and self._fold.may_change else result]

    def clear(self) -> None:
        """Remove the contents."""
        self._table[self._space.group].remove(self._space.key)

    def merge(self, sources: Iterable[Any]) -> None:
        """Merge the accumulators of other windows into this one."""
        part, target = self._table[self._space.group], self._space.key
        own = part.get(target, ABSENT)
        for source in sources:
            found = part.get(source, ABSENT)
            if found is not ABSENT:
                part.remove(source)
                own = found if own is ABSENT else self._fold.merge(own, found)
        if own is not ABSENT:
            part.put(target, own if self._form is None else self._form(own))

    def combined(self, keys: Iterable[Any]) -> list[Any] | None:
        """Return the result of several panes as the only element; their contents stay."""
        part = self._table[self._space.group]
        found = [kept for key in keys if (kept := part.get(key, ABSENT)) is not ABSENT]
        if not found:
            return None
        if self._fold.may_change:
            found = [detached(value) for value in found]
        return [result_of(self._fold, reduce(self._fold.merge, found))]

    def any_of(self, keys: Iterable[Any]) -> bool:
        """Return whether one of several panes has a value."""
        part = self._table[self._space.group]
        return any(part.get(key, ABSENT) is not ABSENT for key in keys)


def detached(value: Any) -> Any:
    """Return a copy of a value if it is mutable."""
    return value if type(value) in ATOMS else deepcopy(value)


def stored_form(spec: OperatorSpec) -> Form | None:
    """Return the coercion of window contents to their declared type; None if any object is allowed."""
    assert spec.window is not None
    kept = stored_type(spec, spec.window.kept_type)
    return declared_form(kept, f"a window of operator {spec.name!r}", spec.origin)


def make_contents(spec: OperatorSpec, scope: KeyedScope, fold: Fold | None) -> Contents:
    """Return the contents of an operator's windows."""
    window: WindowSpec | None = spec.window
    assert window is not None
    if window.evictor is not None:
        return StampedContents(spec, scope, stamped_type(spec))
    if fold is not None:
        return FoldedContents(spec, scope, fold)
    kept = stored_type(spec, window.kept_type)
    if window.second_type is not None:
        return TwoListContents(spec, scope, (kept, stored_type(spec, window.second_type)))
    return ListContents(spec, scope, kept)


def seen_of(fold: Fold | None, window: WindowSpec, values: list[Any]) -> list[Any]:
    """Return the elements for the function of a window, made of all its records."""
    if fold is not None:
        return [result_of(fold, fold_one(fold, ABSENT, iter(values)))]
    return two_lists(values) if window.second_type is not None else list(values)
