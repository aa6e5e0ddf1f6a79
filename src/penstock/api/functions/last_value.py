"""The newest row of a key."""

from __future__ import annotations

from typing import Any

from penstock.api.functions.function_classes import ReduceFunction
from penstock.api.functions.row_order import RowOrder
from penstock.errors import TypeMismatchError
from penstock.types import Row, RowKind

_ADDED = frozenset({RowKind.INSERT, RowKind.UPDATE_AFTER})


class LastValueFunction(ReduceFunction[Any]):
    """The function of `KeyedStream.last_value`: the row that comes first in an order, the newest first."""

    def __init__(self, order: RowOrder) -> None:
        """Make the function.

        Args:
            order: Newest first.
        """
        self._order = order

    def reduce(self, value1: Any, value2: Any) -> Any:
        """Return the newer row."""
        for each in (value1, value2):
            if isinstance(each, Row) and each.get_row_kind() not in _ADDED:
                raise TypeMismatchError(
                    f"last_value got the change {each.get_row_kind()} {each!r:.200}, which removes a row",
                    hint="Take the last value before the stream becomes a changelog.",
                )
        return value1 if self._order.compare(value1, value2) <= 0 else value2
