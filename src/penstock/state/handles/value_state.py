"""States of one value per key: a value, and values to which a function adds (aggregating and reducing state)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from penstock.state.backends.base import ABSENT, Table
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


class TableReducingState:
    """`ReducingState` over a table; resolves the current key at every call."""

    __slots__ = ("_context", "_form", "_parts", "_reduce")

    def __init__(
        self,
        table: Table,
        context: KeyContext,
        reduce: Callable[[Any, Any], Any],
        form: Form | None = None,
    ) -> None:
        """Make the handle."""
        self._parts = Parts(table)
        self._context = context
        self._reduce = reduce
        self._form = form

    def get(self) -> Any:
        """Return the reduced value of all added values, None if there are none."""
        context = self._context
        return self._parts[context.group].get(context.key)

    def add(self, value: Any) -> None:
        """Reduce the current value with `value`; the first value is stored unchanged."""
        context, form = self._context, self._form
        part = self._parts[context.group]
        before = part.get(context.key, ABSENT)
        after = value if form is None else form(value)
        if before is not ABSENT:
            after = self._reduce(before, after)
            if form is not None:
                after = form(after)
        part.put(context.key, after)

    def clear(self) -> None:
        """Remove the value of the current key."""
        context = self._context
        self._parts[context.group].remove(context.key)


class AccumulatorFunction(Protocol):
    """The methods of the user's aggregate function that the state calls."""

    def create_accumulator(self) -> Any:
        """Return a new accumulator without other references."""

    def add(self, value: Any, accumulator: Any) -> Any:
        """Return the accumulator with `value` added; it may be the same object."""

    def get_result(self, accumulator: Any) -> Any:
        """Return the result of an accumulator, which is not changed."""


class TableAggregatingState:
    """`AggregatingState` over a table; resolves the current key at every call."""

    __slots__ = ("_aggregation", "_context", "_form", "_parts")

    def __init__(
        self,
        table: Table,
        context: KeyContext,
        aggregation: AccumulatorFunction,
        form: Form | None = None,
    ) -> None:
        """Make the handle."""
        self._parts = Parts(table)
        self._context = context
        self._aggregation = aggregation
        self._form = form

    def get(self) -> Any:
        """Return the result of all added values, None if there are none."""
        context = self._context
        accumulator = self._parts[context.group].get(context.key, ABSENT)
        return None if accumulator is ABSENT else self._aggregation.get_result(accumulator)

    def add(self, value: Any) -> None:
        """Add `value` to the accumulator of the current key."""
        context, aggregation = self._context, self._aggregation
        part = self._parts[context.group]
        accumulator = part.get(context.key, ABSENT)
        if accumulator is ABSENT:
            accumulator = aggregation.create_accumulator()
        accumulator = aggregation.add(value, accumulator)
        part.put(context.key, accumulator if self._form is None else self._form(accumulator))

    def clear(self) -> None:
        """Remove the accumulator of the current key."""
        context = self._context
        self._parts[context.group].remove(context.key)


def reducing_state(parameters: HandleParameters) -> TableReducingState:
    """Return the handle of a reducing state."""
    reduce = parameters.descriptor.get_reduce_function().reduce
    return TableReducingState(
        parameters.ageless_table(), parameters.context, reduce, parameters.form
    )


def aggregating_state(parameters: HandleParameters) -> TableAggregatingState:
    """Return the handle of an aggregating state."""
    function = parameters.descriptor.get_agg_function()
    return TableAggregatingState(
        parameters.ageless_table(), parameters.context, function, parameters.form
    )
