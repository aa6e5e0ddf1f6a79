"""`JoinedRows`: the changelog of a join over unbounded state."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from penstock.api.functions.function_classes import MapFunction
from penstock.api.functions.join_functions import JoinFunction, WrappedJoin
from penstock.api.functions.result_types import result_type
from penstock.api.streams.data_stream import DataStream
from penstock.api.user_code import method_of, name_of
from penstock.errors import TypeMismatchError
from penstock.program.operators import MAP
from penstock.types import Row, TypeInformation


class JoinedRows(DataStream[Row]):
    """A joined changelog: rows with the fields `left` and `right`, of kind INSERT or DELETE.

    Applying all changes so far gives the join of both sides at the end of every micro-batch. A
    row without a match has None for the other side; it is deleted when the first match arrives
    and inserted again when the last match is deleted. Changes that cancel out within a
    micro-batch do not appear, and a batch run only inserts. The rows have no timestamps.

    Example:
        >>> pairs = orders.join(numbers).where(lambda o: o[1]).equal_to(lambda n: n)
        >>> [(row.left[0], row.right) for row in collect(pairs.inner())]
        [('bob', 3)]
    """

    def apply(
        self, func: Callable[[Any, Any], Row] | Any, output_type: TypeInformation | None = None
    ) -> DataStream[Row]:
        """Make a row of each pair; it gets the row kind of the pair.

        The function is called for a deletion as it was for the insertion, and has to return an
        equal row. It must not change the records it is given.

        Args:
            func: A callable or `JoinFunction`. Takes the left and the right record, of which one
                may be None in outer joins, and returns a `Row`.
            output_type: Type of the rows; None leaves them as they are.

        Returns:
            The rows, without timestamps.

        Raises:
            ArgumentError: `func` is neither, or `output_type` is no type.

        Example:
            >>> pairs = orders.join(numbers).where(lambda o: o[1]).equal_to(lambda n: n).inner()
            >>> collect(pairs.apply(lambda order, n: Row(order[0], n)))
            [<Row('bob', 3)>]
        """
        method = method_of(func, JoinFunction, "join", "apply")
        return self._derive(
            MAP,
            name_of(func, "apply"),
            result_type(func, method, "map", output_type),
            function=PairFunction(func, method),
            method="map",
        )


class PairFunction(WrappedJoin, MapFunction[Row, Row]):
    """Calls the user's function with both sides of a pair and keeps the kind of the change."""

    def map(self, value: Row) -> Row:
        """Return the user's row for one pair.

        Raises:
            TypeMismatchError: It is no row.
        """
        call = self._function if self._method is None else self._function.join
        row = call(value[0], value[1])
        if not isinstance(row, Row):
            raise TypeMismatchError(
                f"the function applied to a join returned {row!r:.200}, which is no Row",
                hint="Return a Row: it has to carry whether it is inserted or deleted.",
            )
        kind = value.get_row_kind()
        if row.get_row_kind() is not kind:
            row = copy(row)  # it may be one of the two records
            row.set_row_kind(kind)
        return row
