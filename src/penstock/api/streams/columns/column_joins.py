"""Joins by columns: their results as rows of both sides' columns."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from penstock.api.functions.key_selectors import column_keys, given_columns
from penstock.api.functions.two_input_functions import JoinFunction, ProcessJoinFunction
from penstock.api.streams.columns.noted_queries import note_query, scan_of
from penstock.api.streams.interval_join import bounds_of
from penstock.api.streams.joined_streams import joined
from penstock.errors import ArgumentError
from penstock.expressions.column import ColumnExpression
from penstock.expressions.typing import RecordType, record_type
from penstock.program.join import IntervalSpec, JoinKind
from penstock.program.operators import KEYED_INTERVAL_JOIN
from penstock.relation.joins import joined_by_names
from penstock.types import Row, TypeInformation, Types
from penstock.types.infer import enforced
from penstock.types.records import RowTypeInfo
from penstock.types.row import row_factory

if TYPE_CHECKING:
    from penstock.api.streams.data_stream import DataStream
    from penstock.api.streams.keyed_stream import KeyedStream


def united_columns(
    sides: tuple[RecordType, ...], columns: Sequence[ColumnExpression], operation: str
) -> tuple[RowTypeInfo, tuple[int, ...]]:
    """Return the type of all columns of two sides, of which some are equal, and the positions of the others on the right.

    Raises:
        ArgumentError: A column has two types, or another one is on both sides.
    """
    left, right = sides
    keys = [str(column.tree) for column in columns]
    for key in keys:
        first, second = (side.field_types[side.field_names.index(key)] for side in sides)
        if first != second:
            raise ArgumentError.here(
                f"{operation} got the column {key!r}, which is {first!r} on the left and {second!r} on the right",
                hint="Cast one of them before, with with_columns.",
            )
    positions = tuple(
        position for position, name in enumerate(right.field_names) if name not in keys
    )
    names = [*left.field_names, *(right.field_names[position] for position in positions)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ArgumentError.here(
            f"{operation} got the column {twice[0]!r} on both sides",
            hint="Rename one before, with select; only the compared columns may have one name.",
        )
    types = [*left.field_types, *(right.field_types[position] for position in positions)]
    return Types.ROW_NAMED(names, types), positions


class JoinedColumns(JoinFunction):
    """The columns of the left record, then some of the right one; NULL of a record that is missing.

    The compared columns are those of the record that is there.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        left_width: int,
        left_keys: tuple[int, ...],
        right_keys: tuple[int, ...],
        right_positions: tuple[int, ...],
    ) -> None:
        """For `join`."""
        self._names = names
        self._left_width = left_width
        self._keys = tuple(zip(left_keys, right_keys, strict=True))
        self._right_positions = right_positions

    def join(self, first: Any, second: Any) -> Row:
        """Return the row of a pair."""
        if first is None:
            values = [None] * self._left_width
            for left, right in self._keys:
                values[left] = second[right]
        else:
            values = list(first)
        if second is None:
            values += [None] * len(self._right_positions)
        else:
            values += [second[position] for position in self._right_positions]
        return row_factory(self._names)([values])[0]


class PairsInTime(ProcessJoinFunction):
    """The rows of pairs of an interval join."""

    def __init__(self, joined: JoinedColumns) -> None:
        """For a join of columns or of SQL."""
        self._joined = joined

    def process_element(self, left: Any, right: Any, ctx: Any) -> list[Row]:
        """Return the row of a pair."""
        return [self._joined.join(left, right)]


_NAME = "join"
KINDS = {kind.name.lower(): kind for kind in JoinKind if not kind.is_existence}
"""Values of `how`."""


def joined_by_columns(
    left: DataStream[Any], right: DataStream[Any], on: Any, how: Any, between: Any
) -> DataStream[Row]:
    """Return the stream of `DataStream.join` by columns, which has the arguments."""
    columns = given_columns(on, _NAME)
    if not columns:
        raise ArgumentError.here("join got no columns", hint="Pass on=col.name.")
    if not isinstance(how, str) or how not in KINDS:
        raise ArgumentError.here(f"join got how={how!r}", hint=f"Pass one of {', '.join(KINDS)}.")
    sides = tuple(record_type(stream.get_type(), _NAME) for stream in (left, right))
    selectors = [column_keys(columns, side, _NAME) for side in sides]
    result, rest = united_columns(sides, columns, _NAME)
    names = [str(column.tree) for column in columns]
    left_keys, right_keys = (tuple(map(side.field_names.index, names)) for side in sides)
    width = len(sides[0].field_names)
    function = JoinedColumns(tuple(result.field_names), width, left_keys, right_keys, rest)
    name = f"{how} join"
    by_key = left.key_by(selectors[0]), right.key_by(selectors[1])
    if between is None:
        rows = joined(*by_key, KINDS[how]).apply(function, result).name(name)
        node = left.get_execution_environment().graph.node
        read, other = (scan_of(node(stream.node_id), stream) for stream in (left, right))
        note_query(rows, joined_by_names(read, other, KINDS[how], names), attrgetter("table"))
        return rows
    lower, upper = bounds_of(*_bounds(between))
    types = (enforced(left.get_type()), enforced(right.get_type()))
    interval = IntervalSpec(lower, upper, types, kind=KINDS[how], is_relational=True)
    return joined_in_time(*by_key, function, interval, result, name)


def joined_in_time(
    left: KeyedStream[Any, Any],
    right: KeyedStream[Any, Any],
    function: JoinedColumns,
    interval: IntervalSpec,
    result: TypeInformation,
    name: str,
) -> DataStream[Row]:
    """Return the rows of an interval join."""
    pairs = PairsInTime(function)
    return left.join_with(
        right,
        KEYED_INTERVAL_JOIN,
        name,
        result,
        function=pairs,
        method="process_element",
        interval=interval,
    )


def _bounds(between: Any) -> tuple[Any, Any]:
    if isinstance(between, tuple) and len(between) == 2:  # noqa: PLR2004 - a pair
        return between
    raise ArgumentError.here(
        f"join got between={between!r}",
        hint="Pass the least and the greatest difference of times, right minus left: (0, Time.minutes(5)).",
    )
