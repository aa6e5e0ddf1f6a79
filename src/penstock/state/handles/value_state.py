"""Value state: one value per key."""

from __future__ import annotations

from typing import Any

from penstock.state.backends.base import Table
from penstock.state.backends.hash.parts import HashTable
from penstock.state.handles.key_context import HandleParameters, KeyContext, Parts
from penstock.state.schema.declared_form import Form


class TableValueState:
    """`ValueState` over a table; resolves the current key at every call."""

    __slots__ = ("_context", "_parts")

    def __init__(self, table: Table, context: KeyContext) -> None:
        self._parts = Parts(table)
        self._context = context

    def value(self) -> Any:
        """Return the value of the current key, None if there is none."""
        context = self._context
        return self._parts[context.group].get(context.key)

    def update(self, value: Any) -> None:
        """Set the value of the current key; None removes it (as in Flink)."""
        context = self._context
        if value is None:
            self._parts[context.group].remove(context.key)
        else:
            self._parts[context.group].put(context.key, value)

    def clear(self) -> None:
        """Remove the value of the current key."""
        context = self._context
        self._parts[context.group].remove(context.key)


class HashValueState(TableValueState):
    """Value state over state maps of the hash-map backend, which it writes without a call."""

    __slots__ = ()

    def update(self, value: Any) -> None:
        """Set the value of the current key; None removes it (as in Flink)."""
        context = self._context
        part = self._parts[context.group]
        key = context.key
        if value is None:
            part.remove(key)
        else:
            part.entries[key] = part.changed[key] = value


class TypedValueState(TableValueState):
    """Value state of a declared type."""

    __slots__ = ("_form",)

    def __init__(self, table: Table, context: KeyContext, form: Form) -> None:
        super().__init__(table, context)
        self._form = form

    def update(self, value: Any) -> None:
        """Set the value of the current key; None removes it (as in Flink)."""
        context = self._context
        if value is None:
            self._parts[context.group].remove(context.key)
        else:
            self._parts[context.group].put(context.key, self._form(value))


def value_state(parameters: HandleParameters) -> TableValueState:
    """Return the handle of a value state."""
    table = parameters.ageless_table()
    if parameters.form is None:
        is_hash = isinstance(table, HashTable)
        return (HashValueState if is_hash else TableValueState)(table, parameters.context)
    return TypedValueState(table, parameters.context, parameters.form)
