"""Legality: the table of relations, aggregates and types that have the same rows in Spark SQL as in operators.

Operators compute everything that may differ there: floats in sums, keys and orders, because of NaN, of two zeros and of the order
of additions; functions of the user; state that is forgotten; changes of a table. A condition that may fail is legal only directly
behind a source: Spark SQL may compute it before a join, for rows that the join drops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from penstock.expressions.facts import spark_type
from penstock.expressions.functions import ScalarExecutor, because, can_fail
from penstock.expressions.steps import ExpressionChain
from penstock.expressions.tree import (
    Call,
    Expression,
    Literal,
    columns_of,
    conjuncts,
    shifted,
)
from penstock.graph.query_source import WholeQuery
from penstock.graph.source import Source
from penstock.relation.groups import GroupBy, WindowGroupBy, WindowTable, read_through
from penstock.relation.joins import Join
from penstock.relation.ordered import RANKS, Over, OverCall, Rank, RowNumber
from penstock.relation.parts import AggregateCall
from penstock.relation.tree import (
    Delayed,
    Filter,
    Project,
    Relation,
    Scan,
    SqlColumn,
    Union,
    relations_of,
)
from penstock.types import TypeInformation
from penstock.types.sql_types import BOOLEAN, MOST_DIGITS, WHOLE

_EXACT = frozenset({*WHOLE, "STRING", "DATE", "TIMESTAMP", "TIMESTAMP_LTZ"})
KEYS = _EXACT | {"BOOLEAN"}
"""Names of the types by which rows are grouped in one way everywhere."""
_ORDERED = KEYS | {"DECIMAL"}
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
_SUM_DIGITS = 10
"""Digits that Spark SQL adds to those of decimals whose sum it computes."""


def other_rows(query: WholeQuery) -> str | None:
    """Return why Spark SQL may have other rows than operators, None if it has the same."""
    for relation, of_query in query.relations():
        legal = _OTHER_ROWS.get(type(relation))
        if of_query.forgets and relation.state is not None:
            return "state is forgotten after table.exec.state.ttl"
        if legal is None:
            return f"{relation} has no counterpart in Spark SQL"
        why: str | None = legal(relation, of_query)
        if why is not None:
            return why
    return None


def other_values(chain: ExpressionChain, behind: WholeQuery | None) -> str | None:
    """Return why Spark SQL may have other results of a chain, which may be behind a query; None if it has the same."""
    if behind is not None:
        decimal = (
            column.name for column in behind.relation.columns if column.type.name == "DECIMAL"
        )
        computed = (
            expression
            for relation, _ in behind.relations()
            for expression in _expressions(relation)
        )
        failing = filter(can_fail, [*chain.expressions, *computed] if chain.has_conditions else ())
        of_query = _first(f"the column {name!r} of a query is a decimal" for name in decimal)
        if of_query is None and not _is_of_one_source(behind):
            of_query = _first(f"{expression} may fail" for expression in failing)
        if of_query is not None:
            return of_query
    return chain.unprojected_because


def not_columns(part: Source, declared: TypeInformation, name: str) -> str | None:
    """Return why the records of a part of a source are no columns for Spark SQL, None if they are."""
    if part.unprojected_because is not None:
        return f"{part.describe()} is its source, and {part.unprojected_because}"
    if part.get_produced_type() != declared:
        return f"{part.describe()} has other types than {name!r} declares"
    return None


def is_projection(query: WholeQuery) -> bool:
    """Return whether a query is conditions and selections of one source, or of another query, that Arrow computes, too.

    Then they are operators of columns, which `place_expressions` places.
    """
    for relation in relations_of(query.relation):
        if isinstance(relation, Scan):
            if query.read(relation).required is not None:
                return False
        elif not isinstance(relation, _OF_ONE_SOURCE) or any(
            because(narrowed(expression), ScalarExecutor.ARROW)
            for expression in _expressions(relation)
        ):
            return False
    return True


def narrowed(scalar: Expression) -> Expression:
    """Return an expression with `lower_ascii` for LOWER that is compared with constants of ASCII, and `regexp_misses` for a test of REGEXP_EXTRACT."""
    if not isinstance(scalar, Call):
        return scalar
    arguments = tuple(map(narrowed, scalar.arguments))
    inside = {argument.function: argument for argument in arguments if isinstance(argument, Call)}
    if scalar.function == "is_null" and "regexp_extract" in inside:
        return replace(inside["regexp_extract"], function="regexp_misses", kind=BOOLEAN)
    texts = [argument.value for argument in arguments if isinstance(argument, Literal)]
    texts += scalar.parameters if scalar.function == "isin" else ()
    is_ascii = bool(texts) and all(type(text) is str and text.isascii() for text in texts)
    if is_ascii and "lower" in inside and scalar.function in {"equal", "not_equal", "isin"}:
        lower = replace(inside["lower"], function="lower_ascii")
        arguments = tuple(
            lower if argument is inside["lower"] else argument for argument in arguments
        )
    return replace(scalar, arguments=arguments)


_OF_ONE_SOURCE = (Scan, Filter, Project, Delayed)


def _is_of_one_source(query: WholeQuery, top: Relation | None = None) -> bool:
    return all(isinstance(relation, _OF_ONE_SOURCE) for relation, _ in query.relations(top))


def _expressions(relation: Relation) -> tuple[Expression, ...]:
    if isinstance(relation, Filter):
        return (relation.condition,)
    return relation.outputs if isinstance(relation, Project) else ()


def _first(reasons: Iterable[str | None]) -> str | None:
    return next((reason for reason in reasons if reason is not None), None)


def _wrong_types(columns: Sequence[SqlColumn]) -> str | None:
    """Return the first column of whose type Spark SQL has not the same values."""
    wrong = (column for column in columns if spark_type(column.type) is None)
    return _first(f"the column {column.name!r} is {column.type}" for column in wrong)


def _others_than(kinds: frozenset[str], columns: Iterable[SqlColumn], what: str) -> str | None:
    """Return the first column whose type is not among some types."""
    wrong = (column for column in columns if column.type.name not in kinds)
    return _first(f"{what} {column.name!r} is {column.type}" for column in wrong)


def _wrong_scalars(scalars: Iterable[Expression]) -> str | None:
    reason = _first(because(narrowed(scalar), ScalarExecutor.SPARK_SQL) for scalar in scalars)
    return None if reason is None else f"{reason} may be something else in Spark SQL"


def _scan(relation: Scan, query: WholeQuery) -> str | None:
    read = query.read(relation)
    rows = read.rows
    if isinstance(rows, str):
        return rows
    behind = rows if isinstance(rows, WholeQuery) else None
    wrong = None if read.chain is None else other_values(read.chain, behind)
    if wrong is not None or behind is not None:
        return wrong
    if not relation.is_insert_only:
        return f"table {relation.name!r} has changes"
    if any(column.type.name == "DECIMAL" for column in relation.columns):
        return f"table {relation.name!r} has a column of DECIMAL"
    return _wrong_types(relation.columns)


def _filter(relation: Filter, query: WholeQuery) -> str | None:
    wrong = _wrong_scalars([relation.condition])
    if wrong is None and any(
        _fails_early(condition, relation.input, query)
        for condition in conjuncts(relation.condition)
    ):
        return f"the condition {relation.condition} may fail"
    return wrong


def _fails_early(condition: Expression, rows: Relation, query: WholeQuery) -> bool:
    """Return whether a condition on some rows may fail for rows that operators drop before, as deep as Spark SQL may compute it."""
    if isinstance(rows, Project):
        return _fails_early(read_through(condition, rows.outputs), rows.input, query)
    if isinstance(rows, Filter | Delayed):
        return _fails_early(condition, rows.input, query)
    if _is_of_one_source(query, rows):
        return False
    if can_fail(narrowed(condition)):
        return True
    return any(_fails_early(*below) for below in _below(condition, rows, query))


def _below(
    condition: Expression, rows: Relation, query: WholeQuery
) -> Iterator[tuple[Expression, Relation, WholeQuery]]:
    """Yield the inputs of a relation on whose rows Spark SQL may compute a condition, as it is there."""
    columns = columns_of(condition)
    if isinstance(rows, Union):
        yield from ((condition, part, query) for part in rows.parts)
    elif isinstance(rows, Join):
        width = len(rows.left.columns)
        if all(position < width for position in columns):
            yield condition, rows.left, query
        elif all(position >= width for position in columns):
            yield shifted(condition, -width), rows.right, query
    elif isinstance(rows, GroupBy) and all(position < rows.group for position in columns):
        yield condition, rows.input, query
    elif isinstance(rows, Scan):
        read = query.read(rows)
        if isinstance(read.rows, WholeQuery) and read.chain is None:
            yield condition, read.rows.relation, read.rows


def _project(relation: Project, _: WholeQuery) -> str | None:
    return _wrong_types(relation.columns) or _wrong_scalars(relation.outputs)


def _group(relation: GroupBy, _: WholeQuery) -> str | None:
    if relation.ttl_ms is not None:
        return "a hint limits the time that groups are kept"
    return (
        _others_than(KEYS, relation.input.columns[: relation.group], "the group")
        or _first(map(_aggregate, relation.calls))
        or _wrong_types(relation.columns)
    )


def _aggregate(call: AggregateCall) -> str | None:
    if spark_type(call.result) is not None and _is_same(call):
        return None
    of = f" of {call.source}" if call.arguments else ""
    return f"{call.function}{of} may be something else in Spark SQL"


def _is_same(call: AggregateCall) -> bool:
    kinds, source = _AGGREGATES.get(call.function), call.source
    if kinds is None or call.user is not None or len(call.arguments) > 1:
        return False
    if call.is_distinct and call.function not in _WITH_DISTINCT:
        return False
    if not call.arguments:
        return True
    if call.function == "SUM" and source.name == "DECIMAL":
        return source.precision + _SUM_DIGITS <= MOST_DIGITS
    return source.name in kinds


def _join(relation: Join, _: WholeQuery) -> str | None:
    if relation.ttls_ms != (None, None):
        return "a hint limits the time that rows are kept"
    keys = (*relation.left_keys, *relation.right_keys)
    failing = filter(can_fail, map(narrowed, relation.conditions))
    return (
        _first(f"the key {e} is {e.type}" for e in keys if e.type.name not in _ORDERED)
        or _wrong_scalars(relation.conditions)
        or _wrong_types(relation.columns)
        or _first(f"the condition {condition} may fail" for condition in failing)
    )


def _in_order(relation: Rank | RowNumber | Over, _: WholeQuery) -> str | None:
    return _others_than(_ORDERED, relation.input.columns, "in an order") or _wrong_types(
        relation.columns
    )


def _over(relation: Over, query: WholeQuery) -> str | None:
    return _first(map(_over_call, relation.calls)) or _in_order(relation, query)


def _over_call(over: OverCall) -> str | None:
    call, frame = over.call, over.frame
    if call.function in RANKS:
        return None
    if call.is_distinct or call.filter is not None:
        return f"{over} has DISTINCT or FILTER"
    if not frame.counts_rows and not frame.is_whole and frame.preceding is not None:
        return "a frame of RANGE has a distance"
    return _aggregate(call)


def _windows(relation: WindowTable, _: WholeQuery) -> str | None:
    spec = relation.spec
    if spec.function == "CUMULATE" or spec.is_instant or spec.step_ms > spec.size_ms:
        return f"the windows {spec}"
    partition = (relation.input.columns[position] for position in relation.partition)
    return _wrong_types(relation.columns) or _others_than(KEYS, partition, "the partition")


def _same(_: Relation, __: WholeQuery) -> None:
    return None


_OTHER_ROWS: Mapping[type[Relation], Callable[[Any, WholeQuery], str | None]] = {
    Scan: _scan,
    Filter: _filter,
    Project: _project,
    Union: _same,
    GroupBy: _group,
    WindowGroupBy: _group,
    Join: _join,
    Rank: _in_order,
    RowNumber: _in_order,
    Over: _over,
    WindowTable: _windows,
    Delayed: _same,
}
"""Class of a relation to why Spark SQL has other rows than its operators, given the rows of its inputs. Others have no counterpart."""
