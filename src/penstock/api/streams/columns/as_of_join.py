"""The two sides of an as-of join: their keys, and the columns of the result."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from penstock.api.environment.durations import length_of, milliseconds_of
from penstock.api.functions.as_of_join import AsOf, AsOfJoinFunction, Direction
from penstock.api.functions.column_keys import column_keys, given_columns
from penstock.api.streams.columns.paired_columns import paired_columns
from penstock.errors import ArgumentError
from penstock.expressions.column import ColumnExpression
from penstock.expressions.typing import RecordType, record_type
from penstock.types import Row, Types

if TYPE_CHECKING:
    from penstock.api.environment.durations import Length
    from penstock.api.streams.data_stream import DataStream

_NAME = "as_of_join"


def as_of_joined(
    left: DataStream[Any],
    right: DataStream[Any],
    by: ColumnExpression | Sequence[ColumnExpression],
    *,
    tolerance: Length | None,
    direction: str,
    allow_exact_matches: bool,
) -> DataStream[Row]:
    """Return the stream of `ColumnOperations.as_of_join`, which has the arguments."""
    columns = given_columns(by, _NAME)
    if not columns:
        raise ArgumentError.here(f"{_NAME} got no columns", hint="Pass by=col.name.")
    sides = tuple(record_type(each.get_type(), _NAME) for each in (left, right))
    keyed = [
        stream.key_by(column_keys(columns, side, _NAME))
        for stream, side in zip((left, right), sides, strict=True)
    ]
    spec = _spec(sides, columns, tolerance, direction, equal_times=allow_exact_matches)
    kinds = [*sides[0].field_types, *(sides[1].field_types[at] for at in spec.right_positions)]
    joined = (
        keyed[0]
        .connect(keyed[1])
        .process(AsOfJoinFunction(spec), Types.ROW_NAMED(list(spec.names), kinds))
    )
    return joined.name(_NAME)


def _spec(
    sides: tuple[RecordType, ...],
    columns: tuple[ColumnExpression, ...],
    tolerance: Length | None,
    direction: str,
    *,
    equal_times: bool,
) -> AsOf:
    left, right = sides
    pairs = paired_columns(sides, columns, _NAME)
    if not isinstance(direction, str) or direction not in {each.value for each in Direction}:
        raise ArgumentError.here(
            f"{_NAME} got the direction {direction!r}",
            hint=f"Pass one of {', '.join(each.value for each in Direction)}.",
        )
    reach: timedelta | None = None if tolerance is None else length_of(tolerance, _NAME)
    return AsOf(
        direction=Direction(direction),
        tolerance_ms=None if reach is None else milliseconds_of(reach),
        equal_times=equal_times,
        left=left,
        right=right,
        right_positions=pairs.right_positions,
        names=pairs.names,
    )
