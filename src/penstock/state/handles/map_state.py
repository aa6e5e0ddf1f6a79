"""Map state: any number of pairs per key, each an entry; and broadcast state, the pairs of an operator.

The cost of reading, writing or removing one pair does not depend on the number of pairs. The cost of
methods on all pairs (`items`, `keys`, `values`, `clear`) is proportional to it.

Broadcast state is map state whose current key is always None and whose key group is `BROADCAST_GROUP`, which
no record has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from operator import itemgetter
from typing import Any, Protocol

from penstock.state.backends.base import ABSENT, Table
from penstock.state.handles.key_context import HandleParameters, KeyContext, Parts
from penstock.state.schema.declared_form import Form
from penstock.state.schema.entry_schema import BROADCAST_GROUP
from penstock.wire.canonical.key_encodings import stable_hash

_second = itemgetter(1)
_STABLE = frozenset({int, str, bytes, bool, type(None)})


class TableMapState:
    """`MapState` over a table; resolves the current key at every call."""

    __slots__ = ("_context", "_parts")

    def __init__(self, table: Table, context: KeyContext) -> None:
        self._parts = Parts(table)
        self._context = context

    def get(self, key: Any) -> Any:
        """Return the value at `key`, None if there is none."""
        context = self._context
        return self._parts[context.group].get(context.key, key)

    def put(self, key: Any, value: Any) -> None:
        """Set the value at `key`; None is a value."""
        if type(key) not in _STABLE:
            stable_hash(key)  # map keys obey the rules for keys of streams
        context = self._context
        self._parts[context.group].put(context.key, key, value)

    def put_all(self, dict_value: Mapping[Any, Any]) -> None:
        """Set many pairs."""
        for key, value in dict_value.items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        """Remove the pair at `key`, if there is one."""
        context = self._context
        self._parts[context.group].remove(context.key, key)

    def contains(self, key: Any) -> bool:
        """Return whether there is a pair at `key`."""
        context = self._context
        return self._parts[context.group].get(context.key, key, ABSENT) is not ABSENT

    def items(self) -> list[tuple[Any, Any]]:
        """Return a copy of all pairs, in no defined order."""
        context = self._context
        items: list[tuple[Any, Any]] = self._parts[context.group].items(context.key)
        return items

    def keys(self) -> list[Any]:
        """Return the keys of all pairs."""
        context = self._context
        subkeys: list[Any] = self._parts[context.group].subkeys(context.key)
        return subkeys

    def values(self) -> list[Any]:
        """Return the values of all pairs."""
        return list(map(_second, self.items()))

    def is_empty(self) -> bool:
        """Return whether there is no pair."""
        context = self._context
        return bool(self._parts[context.group].is_empty(context.key))

    def clear(self) -> None:
        """Remove all pairs."""
        context = self._context
        self._parts[context.group].clear(context.key)

    def __getitem__(self, key: Any) -> Any:
        return self.get(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.put(key, value)

    def __delitem__(self, key: Any) -> None:
        self.remove(key)

    def __contains__(self, key: Any) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())


class TypedMapState(TableMapState):
    """Map state of declared types.

    Every method with a key or value raises `TypeMismatchError` if it does not have the type. Values may
    be None, keys only if their type is pickled.
    """

    __slots__ = ("_key_form", "_value_form")

    def __init__(
        self, table: Table, context: KeyContext, key_form: Form | None, value_form: Form | None
    ) -> None:
        super().__init__(table, context)
        self._key_form = key_form or _itself
        self._value_form = value_form or _itself

    def get(self, key: Any) -> Any:
        """Return the value at `key`, None if there is none."""
        return super().get(self._key_form(key))

    def put(self, key: Any, value: Any) -> None:
        """Set the value at `key`; None is a value."""
        formed = None if value is None else self._value_form(value)
        super().put(self._key_form(key), formed)

    def put_all(self, dict_value: Mapping[Any, Any]) -> None:
        """Set many pairs, or none if one of them is refused."""
        key_form, value_form = self._key_form, self._value_form
        formed = {
            key_form(key): None if value is None else value_form(value)
            for key, value in dict_value.items()
        }
        for key, value in formed.items():
            super().put(key, value)

    def remove(self, key: Any) -> None:
        """Remove the pair at `key`, if there is one."""
        super().remove(self._key_form(key))

    def contains(self, key: Any) -> bool:
        """Return whether there is a pair at `key`."""
        return super().contains(self._key_form(key))


def _itself(value: Any) -> Any:
    return value


def map_state(parameters: HandleParameters) -> TableMapState:
    """Return the handle of a map state."""
    table, context = parameters.ageless_table(), parameters.context
    if parameters.form is None and parameters.key_form is None:
        return TableMapState(table, context)
    return TypedMapState(table, context, parameters.key_form, parameters.form)


class Pairs(Protocol):
    """The methods of map state that a read-only view uses."""

    def get(self, key: Any) -> Any:
        """Return the value at `key`, None if there is none."""

    def contains(self, key: Any) -> bool:
        """Return whether there is a pair at `key`."""

    def items(self) -> list[tuple[Any, Any]]:
        """Return a copy of all pairs."""

    def keys(self) -> list[Any]:
        """Return the keys of all pairs."""

    def values(self) -> list[Any]:
        """Return the values of all pairs."""

    def is_empty(self) -> bool:
        """Return whether there is no pair."""


def broadcast_state(parameters: HandleParameters) -> TableMapState:
    """Return the handle of a broadcast state."""
    nowhere = KeyContext()
    nowhere.group = BROADCAST_GROUP
    return map_state(replace(parameters, context=nowhere))


class ReadOnlyPairs:
    """`ReadOnlyBroadcastState`: a view without methods that write."""

    __slots__ = ("_pairs",)

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs

    def get(self, key: Any) -> Any:
        """Return the value at `key`, None if there is none."""
        return self._pairs.get(key)

    def contains(self, key: Any) -> bool:
        """Return whether there is a pair at `key`."""
        return self._pairs.contains(key)

    def items(self) -> list[tuple[Any, Any]]:
        """Return a copy of all pairs, in no defined order."""
        return self._pairs.items()

    def keys(self) -> list[Any]:
        """Return the keys of all pairs."""
        return self._pairs.keys()

    def values(self) -> list[Any]:
        """Return the values of all pairs."""
        return self._pairs.values()

    def is_empty(self) -> bool:
        """Return whether there is no pair."""
        return self._pairs.is_empty()

    def __getitem__(self, key: Any) -> Any:
        return self.get(key)

    def __contains__(self, key: Any) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())
