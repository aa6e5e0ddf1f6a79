"""The parameters of state handles: the current key of an operator, its table, and the state maps by key group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.state.backends.base import Table
from penstock.state.handles.ttl import Expiry, TtlTable
from penstock.state.schema.declared_form import Form


class KeyContext:
    """The current key of one operator.

    Attributes:
        key: The current key; valid only while a record or timer is processed.
        epoch: Number of the micro-batch, or of the key group in a batch run. Caches of
            handles are invalid when it changes.
    """

    __slots__ = ("epoch", "group", "key")

    def __init__(self) -> None:
        self.key: Any = None
        self.group = 0
        self.epoch = 0


class Parts(dict[int, Any]):
    """Key group to state map. A state map is the same object for the life of its table."""

    __slots__ = ("_table",)

    def __init__(self, table: Table) -> None:
        super().__init__()
        self._table = table

    def __missing__(self, key_group: int) -> Any:
        part = self[key_group] = self._table[key_group]
        return part


@dataclass(frozen=True, slots=True)
class HandleParameters:
    """The parameters of a handle.

    Attributes:
        form: Coerces values to their declared type; None if any object is allowed.
        key_form: Coerces the keys of a map; None if any object is allowed.
        expiry: Expires values; None if they do not expire.
    """

    table: Table
    context: KeyContext
    descriptor: Any
    form: Form | None
    key_form: Form | None
    expiry: Expiry | None

    def ageless_table(self) -> Table:
        """Return a table that hides expiry, for handles that do not support it."""
        return self.table if self.expiry is None else TtlTable(self.table, self.expiry)
