"""The contents of windows: a reduced value, an accumulator, or lists of records of one or two inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from functools import reduce
from typing import Any, Protocol

from penstock.expressions.aggregates import is_name_of_part
from penstock.expressions.keyed_aggregate import KeyedAggregate
from penstock.program.fold import Fold
from penstock.program.level import OperatorSpec
from penstock.program.window_operation import WindowSpec
from penstock.runtime.fold.loops import fold_one, result_of
from penstock.runtime.functions.state_handles import KeyedScope
from penstock.state.backends.base import ABSENT
from penstock.state.handles.list_state import TableListState
from penstock.state.schema.declared_form import Form, declared_form
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.state.schema.own_states import WINDOW_CONTENTS, WINDOW_SECOND_CONTENTS
from penstock.types import TypeInformation, Types
from penstock.types.description import has_serializers
from penstock.types.value_kinds import ATOMS


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
        records: list[Any] = []
        for key in keys:
            self._space.key = key
            records += self._state.get()
        return records or None

    def any_of(self, keys: Iterable[Any]) -> bool:
        """Return whether one of several panes has records."""
        part = self._table[self._space.group]
        return not all(map(part.is_empty, keys))


class StampedContents(ListContents):
    """Records with their timestamps, for evictors."""

    def add(self, value: Any, timestamp: int) -> None:
        """Add a record."""
        self._state.add((timestamp, value))


def stored_type(spec: OperatorSpec, declared: TypeInformation) -> TypeInformation:
    """Return the type of stored values: any object if they need no coercion, and their type is not compared."""
    is_declared = is_part_of(spec) is not None or declared.need_conversion()
    return declared if is_declared else Types.PICKLED_BYTE_ARRAY()


def stamped_type(spec: OperatorSpec) -> TypeInformation:
    """Return the type of the contents of windows with an evictor: any object, or a time and a value with a stored form."""
    assert spec.window is not None
    kept = spec.window.kept_type
    if is_part_of(spec) is None and not has_serializers(kept):
        return Types.PICKLED_BYTE_ARRAY()
    return Types.TUPLE([Types.LONG(), kept])


def is_part_of(spec: OperatorSpec) -> Callable[[str], bool] | None:
    """Return `StateSchema.is_part` of the contents of an operator's windows."""
    return is_name_of_part if isinstance(spec.function, KeyedAggregate) else None


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
        value = self._table[self._space.group].get(self._space.key, ABSENT)
        if value is ABSENT:
            return None
        result = result_of(self._fold, value)
        return [detached(result) if stays and self._fold.may_change else result]

    def clear(self) -> None:
        """Remove the contents."""
        self._table[self._space.group].remove(self._space.key)

    def merge(self, sources: Iterable[Any]) -> None:
        """Merge the accumulators of other windows into this one."""
        part, target = self._table[self._space.group], self._space.key
        own = part.get(target, ABSENT)
        for source in sources:
            value = part.get(source, ABSENT)
            if value is not ABSENT:
                part.remove(source)
                own = value if own is ABSENT else self._fold.merge(own, value)
        if own is not ABSENT:
            part.put(target, own if self._form is None else self._form(own))

    def combined(self, keys: Iterable[Any]) -> list[Any] | None:
        """Return the result of several panes as the only element; their contents stay."""
        part = self._table[self._space.group]
        values = [kept for key in keys if (kept := part.get(key, ABSENT)) is not ABSENT]
        if not values:
            return None
        if self._fold.may_change:
            values = [detached(value) for value in values]
        return [result_of(self._fold, reduce(self._fold.merge, values))]

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


class TwoListContents:
    """The records of two inputs; they are added as (input, record)."""

    def __init__(
        self, spec: OperatorSpec, scope: KeyedScope, types: tuple[TypeInformation, TypeInformation]
    ) -> None:
        self._space = scope.context
        self._lists = [
            ListContents(spec, scope, element, name)
            for element, name in zip(types, (WINDOW_CONTENTS, WINDOW_SECOND_CONTENTS), strict=True)
        ]

    def add(self, value: Any, timestamp: int) -> None:
        """Add a record."""
        self._lists[value[0]].add(value[1], timestamp)

    def add_all(self, values: Iterator[Any]) -> bool:
        """Add records; return whether there were none before."""
        is_new = not self.any_of((self._space.key,))
        for contents, records in zip(self._lists, two_lists(values), strict=True):
            if records:
                contents.add_all(iter(records))
        return is_new

    def elements(self, *, stays: bool) -> list[Any] | None:
        """Return the records, a list per input."""
        lists = [contents.elements(stays=stays) or [] for contents in self._lists]
        return lists if any(lists) else None

    def clear(self) -> None:
        """Remove the contents."""
        for contents in self._lists:
            contents.clear()

    def merge(self, sources: Iterable[Any]) -> None:
        """Move the records of other windows to this one."""
        taken = list(sources)
        for contents in self._lists:
            contents.merge(taken)

    def combined(self, keys: Iterable[Any]) -> list[Any] | None:
        """Return the records of several panes, a list per input."""
        panes = list(keys)
        lists = [contents.combined(panes) or [] for contents in self._lists]
        return lists if any(lists) else None

    def any_of(self, keys: Iterable[Any]) -> bool:
        """Return whether one of several panes has records."""
        panes = list(keys)
        return any(contents.any_of(panes) for contents in self._lists)


def two_lists(tagged: Iterable[Any]) -> list[Any]:
    """Return the records of (input, record) pairs, a list per input."""
    lists: list[Any] = [[], []]
    for number, record in tagged:
        lists[number].append(record)
    return lists
