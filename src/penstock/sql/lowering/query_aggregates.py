"""Aggregates and window functions in queries of Spark SQL: the table of those that have the same result there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.expressions.facts import spark_type
from penstock.expressions.queries import FrameOf, QueryAggregate
from penstock.sql.catalogue import SqlColumn
from penstock.sql.functions.aggregate_call import AggregateCall
from penstock.sql.functions.over import OverCall
from penstock.types.sql_types import MOST_DIGITS, WHOLE, SqlType

_EXACT = frozenset({*WHOLE, "STRING", "DATE", "TIMESTAMP", "TIMESTAMP_LTZ"})
KEYS = _EXACT | {"BOOLEAN"}
"""Names of the types by which rows are grouped in one way everywhere."""
ORDERED = KEYS | {"DECIMAL"}
"""Names of the types that have one order everywhere."""

_AGGREGATES: Mapping[str, frozenset[str]] = {
    "COUNT": KEYS,
    "SUM": frozenset({*WHOLE, "DECIMAL"}),
    "AVG": frozenset(WHOLE),
    "MIN": _EXACT | {"DECIMAL"},
    "MAX": _EXACT | {"DECIMAL"},
}
"""Aggregate to the types of values for which Spark SQL has the same result."""

_WITH_DISTINCT = frozenset({"COUNT", "MIN", "MAX"})
_POSITIONAL = frozenset({"ROW_NUMBER", "RANK", "DENSE_RANK"})
_SUM_DIGITS = 10
"""Digits that Spark SQL adds to those of decimals whose sum it computes."""


def aggregate_of(call: AggregateCall, inside: Sequence[SqlColumn]) -> QueryAggregate | str:
    """Return an aggregate of a query, or why there is none."""
    result = spark_type(call.result)
    source = None if not call.arguments else inside[call.arguments[0]].type
    if result is None or not _is_same(call, source):
        of = "" if source is None else f" of {source}"
        return f"{call.function}{of} may be something else in Spark SQL"
    return QueryAggregate(
        call.function.lower(),
        call.arguments[0] if call.arguments else None,
        result,
        call.is_distinct,
        call.filter,
    )


def _is_same(call: AggregateCall, source: SqlType | None) -> bool:
    kinds = _AGGREGATES.get(call.function)
    if kinds is None or call.user is not None or len(call.arguments) > 1:
        return False
    if call.is_distinct and call.function not in _WITH_DISTINCT:
        return False
    if source is None:
        return True
    if call.function == "SUM" and source.name == "DECIMAL":
        return source.precision + _SUM_DIGITS <= MOST_DIGITS
    return source.name in kinds


def over_call_of(
    over: OverCall, inside: Sequence[SqlColumn]
) -> tuple[QueryAggregate, FrameOf] | str:
    """Return a window function of a query and its frame, or why there is none."""
    call, frame = over.call, over.frame
    result = spark_type(call.result)
    if call.function in _POSITIONAL and result is not None:
        return QueryAggregate(call.function.lower(), None, result), FrameOf()
    if call.is_distinct or call.filter is not None:
        return f"{over} has DISTINCT or FILTER"
    if not frame.counts_rows and not frame.is_whole and frame.preceding is not None:
        return "a frame of RANGE has a distance"
    made = aggregate_of(call, inside)
    if isinstance(made, str):
        return made
    preceding = frame.preceding if frame.counts_rows else None
    return made, FrameOf(preceding, not frame.counts_rows, frame.is_whole)
