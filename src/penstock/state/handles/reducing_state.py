"""Reducing state: one value per key, which is reduced with each added value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.state.backends.base import ABSENT, Table
from penstock.state.handles.key_context import KeyContext
from penstock.state.handles.parts import Parts
from penstock.state.schema.declared_form import Form


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
        """Reduce the current value with `value`; the first value is stored unchanged.

        Raises:
            TypeMismatchError: The value, or the reduced value, does not have the declared type.
        """
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
