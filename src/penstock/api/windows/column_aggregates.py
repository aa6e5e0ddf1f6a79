"""Aggregates of columns per key and window.

row ──select──▶ key and parts ──window, merge──▶ key and parts (and the window) ──select──▶ key and results

The operator is that of `reduce` on windows, whose function merges two rows of parts; it makes results of what a window
has when that fires. So late records, allowed lateness and triggers mean what they mean there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from penstock.api.windows.time_assigners import TimedAssigner
from penstock.api.windows.window_functions import AllWindowFunction, WindowFunction
from penstock.errors import ArgumentError
from penstock.expressions.aggregates import AggregateExpression
from penstock.expressions.column import ColumnExpression
from penstock.expressions.keyed_aggregate import WINDOW_BOUNDS
from penstock.expressions.tree import Field
from penstock.program.selected_field import field_positions
from penstock.program.windows import TimeWindow, moments_of, zone_of_bounds
from penstock.types.row import Row, row_factory

if TYPE_CHECKING:
    from penstock.expressions.keyed_aggregate import KeyedAggregate


def key_columns(selector: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the columns of a key."""
    positions = field_positions(selector, names)
    if not positions:
        raise ArgumentError.here(
            "aggregate was called on a stream whose key is no column",
            hint="Write key_by(col.name). Compute a key before, with with_columns.",
        )
    return tuple(names[position] for position in positions)


def checked_aggregates(
    aggregates: dict[str, Any], keys: tuple[str, ...]
) -> dict[str, AggregateExpression]:
    """Return named aggregates."""
    if not aggregates:
        raise ArgumentError.here("aggregate got no aggregates", hint="Write n=col.count().")
    for name, aggregate in aggregates.items():
        if not isinstance(aggregate, AggregateExpression):
            raise ArgumentError.here(
                f"aggregate got {name}={aggregate!r}, which is not an aggregate",
                hint="Call count, sum, mean, min or max of a column or an expression.",
            )
        if name in keys:
            raise ArgumentError.here(
                f"aggregate got {name}={aggregate}, but {name} is a column of the key",
                hint="Give the result another name.",
            )
    return aggregates


def split_bounds(
    columns: Iterable[Any], named: dict[str, Any]
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return names of results to `window_start` or `window_end`, and the other arguments."""
    given: dict[str, Any] = {}
    for column in columns:
        name = _bound(column)
        if name is None:
            raise ArgumentError.here(
                f"aggregate of windows got {column!r} without a name",
                hint="Name aggregates, such as n=col.count(); only col.window_start and col.window_end "
                "have a name.",
            )
        given[name] = column
    given |= named
    bounds = {name: bound for name, value in given.items() if (bound := _bound(value)) is not None}
    return bounds, {name: value for name, value in given.items() if name not in bounds}


def check_bounds(bounds: dict[str, str], assigner: Any, keys: tuple[str, ...]) -> None:
    """Check that windows have the bounds that results contain."""
    if bounds and not isinstance(assigner, TimedAssigner):
        raise ArgumentError.here(
            f"aggregate has {', '.join(bounds.values())}, but windows of "
            f"{type(assigner).__name__} have no begin and end",
            hint="Use windows of time, or leave it out.",
        )
    for name in bounds.keys() & set(keys):
        raise ArgumentError.here(
            f"aggregate got {name}, but {name} is a column of the key",
            hint="Give the bound of the window another name.",
        )


def _bound(column: Any) -> str | None:
    if not isinstance(column, ColumnExpression) or not isinstance(column.tree, Field):
        return None
    return column.tree.name if column.tree.name in WINDOW_BOUNDS else None


def bounds_function(aggregate: KeyedAggregate, *, is_of_all: bool) -> Any:
    """Return the window function that adds begin and end of a window of no fixed length to its row of parts."""
    records = aggregate.results.records
    function_class = _AddBoundsToAll if is_of_all else _AddBounds
    return function_class(tuple(records.field_names), zone_of_bounds(records.field_types[-1]))


class _AddBounds(WindowFunction[Row, Row, Any, TimeWindow]):
    def __init__(self, names: tuple[str, ...], zone: tzinfo | None) -> None:
        self._names = names
        self._zone = zone

    def apply(self, key: Any, window: TimeWindow, inputs: Iterable[Row]) -> Iterator[Row]:
        """Yield the row of parts with the bounds of the window."""
        del key
        return _with_bounds(self._names, self._zone, window, inputs)


class _AddBoundsToAll(AllWindowFunction[Row, Row, TimeWindow]):
    def __init__(self, names: tuple[str, ...], zone: tzinfo | None) -> None:
        self._names = names
        self._zone = zone

    def apply(self, window: TimeWindow, inputs: Iterable[Row]) -> Iterator[Row]:
        """Yield the row of parts with the bounds of the window."""
        return _with_bounds(self._names, self._zone, window, inputs)


def _with_bounds(
    names: tuple[str, ...], zone: tzinfo | None, window: TimeWindow, inputs: Iterable[Row]
) -> Iterator[Row]:
    bounds = moments_of(window.start, window.end, zone)
    yield from row_factory(names)([*row, *bounds] for row in inputs)
