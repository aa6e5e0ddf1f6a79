"""Calls of every function of the table over columns of every type, and rows of values, for the law of executors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from penstock.errors import PenstockError
from penstock.expressions.facts import nowhere
from penstock.expressions.functions import FUNCTIONS, LOGIC, ScalarExecutor, because
from penstock.expressions.row_values import RowValues
from penstock.expressions.tree import Call, Expression, parts_of
from penstock.plan.placement.legality import narrowed
from penstock.relation.tree import SqlColumn
from penstock.sql.scalar_binding.scope import Scope
from penstock.types import sql_types as sql
from tests.expressions.generated import VALUES
from tests.sql.flink_answers.penstock_answers import bound

ROWS = 40
DECIMAL = sql.decimal(10, 2)
BASIC = {
    name: kind
    for name, kind in vars(sql).items()
    if isinstance(kind, sql.SqlType) and getattr(kind.type_info, "name", "") in VALUES
}
"""Name to type, of all types that columns compute with, DECIMAL excepted."""
KINDS = {**BASIC, "DECIMAL": DECIMAL}
COLUMNS = tuple(
    SqlColumn(f"{name.lower()}_{n}", kind) for name, kind in KINDS.items() for n in (1, 2)
)
_VALUES = {name: VALUES[kind.type_info.name] for name, kind in BASIC.items()} | {  # type: ignore[attr-defined]
    "DECIMAL": st.decimals(-(10**8) + 1, 10**8 - 1, places=2)
}

_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOY", "HOUR", "MINUTE", "SECOND")
TEXTS: dict[str, tuple[str, ...]] = {
    "add": ("{0} + {1}",),
    "subtract": ("{0} - {1}",),
    "multiply": ("{0} * {1}",),
    "negate": ("- {0}",),
    "abs": ("ABS({0})",),
    "equal": ("{0} = {1}",),
    "not_equal": ("{0} <> {1}",),
    "less": ("{0} < {1}",),
    "less_equal": ("{0} <= {1}",),
    "greater": ("{0} > {1}",),
    "greater_equal": ("{0} >= {1}",),
    "and": ("{0} AND {1}", "{0} = {1} AND {0} + {1} > 0"),
    "or": ("{0} OR {1}", "{0} = {1} OR {0} + {1} > 0"),
    "not": ("NOT {0}",),
    "is_null": ("{0} IS NULL",),
    "is_distinct": ("{0} IS DISTINCT FROM {1}",),
    "coalesce": ("COALESCE({0}, {1})", "COALESCE({0}, {1} + {1})"),
    "case": ("CASE WHEN {0} = {1} THEN {0} ELSE {1} END",),
    "isin": ("{0} IN ('12', 'Z', '')", "{0} IN (1, 2, -3)"),
    "floor": ("FLOOR({0})",),
    "ceil": ("CEIL({0})",),
    "sql_divide": ("{0} / {1}", "{0} / 7"),
    "sql_modulo": ("MOD({0}, {1})", "MOD({0}, -7)"),
    "sql_cast": tuple(f"CAST({{0}} AS {kind})" for kind in KINDS.values()),
    "length": ("CHAR_LENGTH({0})",),
    "reverse": ("REVERSE({0})",),
    "concat": ("{0} || {1}",),
    "lower_ascii": ("LOWER({0}) = 'az'", "LOWER({0}) IN ('z', 'az')"),
    "substring": ("SUBSTRING({0}, 2, 3)", "SUBSTRING({0}, 1, 0)"),
    "left": ("LEFT({0}, 2)", "LEFT({0}, -1)"),
    "sql_replace": ("REPLACE({0}, 'Z', '')", "REPLACE({0}, '-', 'é😀')"),
    "sql_starts_with": ("STARTSWITH({0}, 'a')", "STARTSWITH({0}, '20')"),
    "sql_ends_with": ("ENDSWITH({0}, '9')", "ENDSWITH({0}, '😀')"),
    "like": ("{0} LIKE '%a_%'", "{0} LIKE '20__-%'"),
    "regexp_extract": ("REGEXP_EXTRACT({0}, '(a|Z)([^,]*)', 2)", "REGEXP_EXTRACT({0}, '[0-9]+')"),
    "regexp_misses": ("REGEXP_EXTRACT({0}, 'a') IS NULL",),
    "split_index": ("SPLIT_INDEX({0}, '-', 1)", "SPLIT_INDEX({0}, 'a', 0)"),
    "extract": tuple(f"EXTRACT({unit} FROM {{0}})" for unit in _UNITS),
    "floor_to": ("FLOOR({0} TO SECOND)", "FLOOR({0} TO HOUR)", "FLOOR({0} TO DAY)"),
    "sql_shift": ("{0} + INTERVAL '3' HOUR", "{0} - INTERVAL '2' DAY"),
    "date_format": ("DATE_FORMAT({0}, 'yyyy-MM-dd')", "DATE_FORMAT({0}, 'HH:mm')"),
}
"""Function to calls of it, over two columns; a call that does not take the types of the columns is left out."""

NESTED = {"field", "cardinality"}
"""Functions of nested values: the recorded answers of Flink are compared (`test_flink_answers`)."""


def claimed(executor: ScalarExecutor) -> set[str]:
    """Return the functions of SQL that an executor may compute for some types."""
    is_spark = executor is ScalarExecutor.SPARK_SQL
    return {
        name
        for name, row in FUNCTIONS.items()
        if (row.python or name in LOGIC) and (row.spark if is_spark else row.arrow) is not nowhere
    } - NESTED


def calls(executor: ScalarExecutor) -> Iterator[Expression]:
    """Yield typed calls that an executor may compute."""
    scope = Scope.of("edge", COLUMNS)
    pairs = [(f"{name}_1", f"{name}_2") for name in map(str.lower, KINDS)]
    pairs += [("int_1", "decimal_1"), ("decimal_2", "bigint_1")]
    for texts, names in product(TEXTS.values(), pairs):
        for text in texts:
            try:
                made = bound(text.format(*names), scope)
            except PenstockError:
                continue
            found = narrowed(made) if executor is ScalarExecutor.SPARK_SQL else made
            if because(found, executor) is None:
                yield found


def functions_of(expressions: Sequence[Expression]) -> set[str]:
    """Return the functions that expressions call."""
    parts = (part for each in expressions for part in parts_of(each))
    return {part.function for part in parts if isinstance(part, Call)}


@cache
def rows() -> tuple[tuple[Any, ...], ...]:
    """Return rows of values of the columns, the same in every run."""
    found: list[tuple[Any, ...]] = []
    values = [st.none() | _VALUES[name] for name in KINDS for _ in (1, 2)]

    @settings(
        max_examples=ROWS,
        database=None,
        derandomize=True,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.tuples(*values))
    def draw(each: tuple[Any, ...]) -> None:
        found.append(each)

    draw()
    return tuple(found[:ROWS])


def values_in_python(expression: Expression) -> dict[int, Any]:
    """Return the number of every row that has a value, with the value."""
    of, found = RowValues((expression,)).of, {}
    for at, row in enumerate(rows()):
        try:
            found[at] = of(row)[0]
        except PenstockError:
            continue
    return found
