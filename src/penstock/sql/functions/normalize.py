"""An upsert changelog with the rows that it replaces.

State of a key: its last row. `-D` needs no more than the key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.api.functions.context import RuntimeContext
from penstock.api.state.descriptors import ValueStateDescriptor, expiring
from penstock.sql.functions.changes import RowMaker
from penstock.types import TypeInformation
from penstock.types.row import Row, RowKind


@dataclass(frozen=True, slots=True)
class NormalizeSpec:
    """Rows to complete.

    Attributes:
        ttl_ms: Time after which a row is forgotten; None is never.
    """

    names: tuple[str, ...]
    row_type: TypeInformation
    ttl_ms: int | None = None


class NormalizeFunction:
    """Returns the change of the row of a key."""

    def __init__(self, spec: NormalizeSpec) -> None:
        """Make the function."""
        self._spec = spec

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get hold of the state."""
        self._maker = RowMaker(self._spec.names)
        row = ValueStateDescriptor("row", self._spec.row_type)
        self._row = runtime_context.get_state(expiring(row, self._spec.ttl_ms))

    def process_changes(self, key: Any, rows: list[Row]) -> list[Row]:
        """Return the change that the last row makes."""
        stored = self._row.value()
        before = None if stored is None else list(stored)
        kept = [row for row in rows if row.get_row_kind() is not RowKind.UPDATE_BEFORE]
        if not kept:
            return []
        last = kept[-1]
        now = None if last.get_row_kind() is RowKind.DELETE else list(last)
        if now is None:
            self._row.clear()
        else:
            (newest,) = self._maker.rows([list(now)])
            self._row.update(newest)
        return self._maker.difference(before, now)
