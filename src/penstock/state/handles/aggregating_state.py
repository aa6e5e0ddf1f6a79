"""Aggregating state: one accumulator per key, and a function from it to the result."""

from __future__ import annotations

from typing import Any, Protocol

from penstock.state.backends.base import ABSENT, Table
from penstock.state.handles.key_context import KeyContext
from penstock.state.handles.parts import Parts
from penstock.state.schema.declared_form import Form


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
        """Add `value` to the accumulator of the current key.

        Raises:
            TypeMismatchError: The accumulator is not of the declared type.
        """
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
