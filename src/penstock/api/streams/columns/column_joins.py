"""Joins by columns: regular joins and interval joins whose keys and results are columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.api.functions.column_keys import column_keys, given_columns
from penstock.api.streams.columns.joined_columns import JoinedColumns, PairsInTime
from penstock.api.streams.columns.paired_columns import paired_columns
from penstock.api.streams.joined_streams import JoinedStreams
from penstock.errors import ArgumentError
from penstock.expressions.typing import record_type
from penstock.program.join import JoinKind
from penstock.types import Row, Types

if TYPE_CHECKING:
    from penstock.api.streams.data_stream import DataStream

_NAME = "join"
KINDS = {kind.name.lower(): kind for kind in JoinKind}
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
    sides = tuple(record_type(each.get_type(), _NAME) for each in (left, right))
    selectors = [column_keys(columns, side, _NAME) for side in sides]
    pairs = paired_columns(sides, columns, _NAME)
    result = Types.ROW_NAMED(list(pairs.names), list(pairs.types))
    function = JoinedColumns(
        pairs.names,
        len(sides[0].field_names),
        pairs.left_keys,
        pairs.right_keys,
        pairs.right_positions,
    )
    name = f"{how} join"
    if between is None:
        keyed = JoinedStreams(left, right).where(selectors[0]).equal_to(selectors[1])
        form = {"inner": keyed.inner, "left": keyed.left, "right": keyed.right, "full": keyed.full}
        return form[how]().apply(function, result).name(name)
    if how != "inner":
        raise ArgumentError.here(
            f"join got how={how!r} and between={between!r}",
            hint="Join within an interval of time with how='inner', or use as_of_join, which keeps rows without a match.",
        )
    lower, upper = _bounds(between)
    in_time = left.key_by(selectors[0]).interval_join(right.key_by(selectors[1]))
    return in_time.between(lower, upper).process(PairsInTime(function), result).name(name)


def _bounds(between: Any) -> tuple[Any, Any]:
    if isinstance(between, tuple) and len(between) == 2:  # noqa: PLR2004 - a pair
        return between
    raise ArgumentError.here(
        f"join got between={between!r}",
        hint="Pass the least and the greatest difference of times, right minus left: (0, Time.minutes(5)).",
    )
