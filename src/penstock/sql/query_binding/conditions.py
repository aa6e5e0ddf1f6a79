"""Conditions and selections of relations, put where they cost least.

A condition moves below a selection of columns and into an inner join: equalities of both sides become its keys. On the number of a row it
bounds a ranking. A selection of a selection is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from penstock.expressions.tree import (
    Call,
    Expression,
    Field,
    Literal,
    columns_of,
    conjuncts,
    parts_of,
    shifted,
    with_fields,
)
from penstock.program.join import JoinKind
from penstock.relation.joins import SWAPPED, Join, joined
from penstock.relation.ordered import Rank, RowNumber
from penstock.relation.tree import Changelog, Delayed, Filter, Project, Relation, SqlColumn
from penstock.types.sql_types import BOOLEAN

_LEFT_MOVES = {JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI}
_RIGHT_MOVES = {JoinKind.INNER, JoinKind.RIGHT}


def all_of(conditions: Sequence[Expression]) -> Expression | None:
    """Return whether all of some conditions are true; None if there are none."""
    conjunction: Expression | None = None
    for condition in conditions:
        conjunction = (
            condition
            if conjunction is None
            else Call("and", (conjunction, condition), kind=BOOLEAN)
        )
    return conjunction


def where(relation: Relation, conditions: Iterable[Expression]) -> Relation:
    """Return the rows for which all conditions are true."""
    parts = [part for condition in conditions for part in conjuncts(condition)]
    parts = [part for part in parts if not _is_true(part)]
    if not parts:
        return relation
    if isinstance(relation, Filter):
        return where(relation.input, [relation.condition, *parts])
    if isinstance(relation, RowNumber):
        return _bounded(relation, parts)
    if isinstance(relation, Project):
        return _below_projection(relation, parts)
    if isinstance(relation, Join):
        return _into_join(relation, parts)
    return _filter(relation, parts)


def _is_true(condition: Expression) -> bool:
    return isinstance(condition, Literal) and condition.value is True


def _filter(relation: Relation, conditions: Sequence[Expression]) -> Relation:
    condition = all_of(conditions)
    if condition is None:
        return relation
    return Filter(
        input=relation,
        condition=condition,
        columns=relation.columns,
        keys=relation.keys,
        changelog=relation.changelog,
    )


def _below_projection(relation: Project, conditions: Sequence[Expression]) -> Relation:
    moved: list[Expression] = []
    stay: list[Expression] = []
    for condition in conditions:
        read = [relation.outputs[position] for position in columns_of(condition)]
        is_plain = all(isinstance(output, Field) for output in read)
        (moved if is_plain else stay).append(condition)
    lowered = [
        with_fields(condition, lambda c: relation.outputs[c.position]) for condition in moved
    ]
    inside = where(relation.input, lowered)
    if inside is relation.input:
        return _filter(relation, stay)
    projection = projected(inside, relation.columns, relation.outputs)
    return _filter(projection, stay)


def _into_join(join: Join, conditions: Sequence[Expression]) -> Relation:
    width = len(join.left.columns)
    lefts, rights, rest = [], [], []
    for part in conditions:
        read = columns_of(part)
        if join.type in _LEFT_MOVES and all(position < width for position in read):
            lefts.append(part)
        elif join.type in _RIGHT_MOVES and all(position >= width for position in read):
            rights.append(shifted(part, -width))
        else:
            rest.append(part)
    left, right = where(join.left, lefts), where(join.right, rights)
    pairs = list(zip(join.left_keys, join.right_keys, strict=True))
    condition = join.condition
    if join.type is JoinKind.INNER:
        more, others = equalities(rest, width)
        inside = [*([] if condition is None else [condition]), *others]
        return joined(left, right, join.type, [*pairs, *more], all_of(inside), join.ttls_ms)
    moved = joined(left, right, join.type, pairs, condition, join.ttls_ms)
    return _filter(moved, rest)


def equalities(
    conditions: Sequence[Expression], width: int
) -> tuple[list[tuple[Expression, Expression]], list[Expression]]:
    """Return pairs of expressions of both sides that must be equal, and the other conditions."""
    pairs, others = [], []
    for condition in conditions:
        pair = _pair(condition, width)
        if pair is None:
            others.append(condition)
        else:
            pairs.append(pair)
    return pairs, others


_NO_KEYS = frozenset({"ARRAY", "MAP", "ROW", "ANY", "FLOAT", "DOUBLE"})


def _pair(condition: Expression, width: int) -> tuple[Expression, Expression] | None:
    if not isinstance(condition, Call) or condition.function != "equal":
        return None
    first, second = condition.arguments
    if first.type.name in _NO_KEYS:
        return None
    reads = (columns_of(first), columns_of(second))
    if not all(reads):
        return None
    if all(position < width for position in reads[0]) and all(
        position >= width for position in reads[1]
    ):
        return first, shifted(second, -width)
    if all(position < width for position in reads[1]) and all(
        position >= width for position in reads[0]
    ):
        return second, shifted(first, -width)
    return None


def _bounded(numbered: RowNumber, conditions: Sequence[Expression]) -> Relation:
    """Return the first rows, if a condition bounds their number."""
    number = len(numbered.columns) - 1
    start, end, rest = 0, None, []
    for condition in conditions:
        bound = _bound(condition, number)
        if bound is None:
            rest.append(condition)
            continue
        start = max(start, bound[0])
        end = bound[1] if end is None else end if bound[1] is None else min(end, bound[1])
    if end is None:
        return _filter(numbered, conditions)
    partition = frozenset(numbered.partition)
    window_end = _window_end(numbered)
    # The first row in order of time comes when no earlier one can: it is never taken back.
    time = numbered.time if window_end is None and (start, end) == (0, 1) else None
    columns = numbered.columns
    source = numbered.input
    if time is None:
        columns = tuple(replace(column, is_time=False) for column in columns)
        # First rows of rows that change come at once: they wait for no watermark.
        source = source.input if isinstance(source, Delayed) else source
    if window_end is not None:
        inside = (replace(column, is_time=column.window == "time") for column in source.columns)
        columns = (*inside, columns[number])
    ranked = Rank(
        input=source,
        partition=numbered.partition,
        order=numbered.order,
        start=start,
        end=max(end, start),
        has_number=True,
        window_end=window_end,
        time=time,
        columns=columns,
        keys=frozenset({partition | {number}, *([partition] if end - start <= 1 else [])}),
        changelog=Changelog.RETRACT
        if window_end is None and time is None
        else Changelog.INSERT_ONLY,
    )
    return _filter(ranked, rest)


def _window_end(numbered: RowNumber) -> int | None:
    """Return the end of the window that a partition is of, None if it is of none that ends."""
    marks = {numbered.input.columns[position].window: position for position in numbered.partition}
    is_window = numbered.input.is_insert_only and {"start", "end"} <= marks.keys()
    return marks["end"] if is_window else None


def _bound(condition: Expression, number: int) -> tuple[int, int | None] | None:
    """Return (rows left out, position behind the last row) of a condition on the number of a row."""
    if not isinstance(condition, Call) or condition.function not in SWAPPED:
        return None
    left, right = condition.arguments
    name = condition.function
    if isinstance(left, Literal):
        left, right, name = right, left, SWAPPED[name]
    is_number = isinstance(left, Field) and left.position == number
    if not is_number or not isinstance(right, Literal) or not isinstance(right.value, int):
        return None
    value = right.value
    bounds: dict[str, tuple[int, int | None]] = {
        "less": (0, max(value - 1, 0)),
        "less_equal": (0, max(value, 0)),
        "greater": (max(value, 0), None),
        "greater_equal": (max(value - 1, 0), None),
        "equal": (max(value - 1, 0), max(value, 0)),
    }
    return bounds[name]


def projected(
    relation: Relation, columns: tuple[SqlColumn, ...], outputs: tuple[Expression, ...]
) -> Relation:
    """Return rows of expressions; a key stays one if all its columns are among them."""
    if isinstance(relation, Project) and _is_composable(relation, outputs):
        inner = relation.outputs
        inside = tuple(with_fields(output, lambda c: inner[c.position]) for output in outputs)
        return projected(relation.input, columns, inside)
    if isinstance(relation, Rank) and relation.has_number:
        relation = _without_number(relation, outputs)
    places: dict[int, int] = {}
    for position, output in enumerate(outputs):
        if isinstance(output, Field):
            places.setdefault(output.position, position)
    keys = frozenset(
        frozenset(places[position] for position in key)
        for key in relation.keys
        if key <= places.keys()
    )
    return Project(
        input=relation, outputs=outputs, columns=columns, keys=keys, changelog=relation.changelog
    )


def _is_composable(inside: Project, outputs: tuple[Expression, ...]) -> bool:
    uses = Counter(
        part.position for output in outputs for part in parts_of(output) if isinstance(part, Field)
    )
    return all(
        count == 1 or not isinstance(inside.outputs[position], Call)
        for position, count in uses.items()
    )


def _without_number(rank: Rank, outputs: tuple[Expression, ...]) -> Relation:
    number = len(rank.columns) - 1
    if any(number in columns_of(output) for output in outputs):
        return rank
    keys = frozenset(key for key in rank.keys if number not in key)
    return replace(rank, has_number=False, columns=rank.columns[:-1], keys=keys)
