"""The table of functions: name to typing rule, and whether a value can make it fail.

`penstock.expressions.arrow.kernels` and the Spark package have a table each with an evaluation for every
name; a test compares the three. A new function needs a row here, one there, and its reference in the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.expressions import nested_signatures
from penstock.expressions import signatures as rules
from penstock.expressions.kinds import (
    BOOLEAN,
    COMPUTED,
    DOUBLE,
    FLOATS,
    INT,
    LONG,
    NUMBERS,
    ORDERED,
    TIMESTAMPS,
    WHOLE,
    name_of,
)
from penstock.expressions.tree import Call, Expression, arguments_of


@dataclass(frozen=True, slots=True)
class ColumnFunction:
    """One function of expressions.

    Attributes:
        rule: Types a call.
        fails: Whether a typed call can fail for some values of its arguments.
        in_sql: Whether Spark SQL can compute it.
    """

    rule: rules.Rule
    fails: Callable[[Call], bool] = lambda _: False
    in_sql: bool = True


def _exact(call: Call) -> bool:
    """Return whether it computes with whole numbers or decimals, which can overflow."""
    return name_of(call.arguments[0]) not in FLOATS


def _always(_: Call) -> bool:
    return True


def _narrowing(call: Call) -> bool:
    source, target = name_of(call.arguments[0]), name_of(call)
    if source in WHOLE and target in WHOLE:
        return WHOLE.index(target) < WHOLE.index(source)
    return (source in FLOATS and target in WHOLE) or (source == "String" and target != "String")


_WHOLE_OR_FLOAT = frozenset({*WHOLE, *FLOATS})
_DATES = TIMESTAMPS | {"SqlDate"}

FUNCTIONS: dict[str, ColumnFunction] = {
    "add": ColumnFunction(rules.plus, _exact),
    "concat": ColumnFunction(rules.plus),
    "subtract": ColumnFunction(rules.arithmetic(NUMBERS), _exact),
    "multiply": ColumnFunction(rules.arithmetic(_WHOLE_OR_FLOAT), _exact),
    "divide": ColumnFunction(rules.division, _always),
    "modulo": ColumnFunction(rules.arithmetic(_WHOLE_OR_FLOAT), _always),
    "negate": ColumnFunction(rules.unary(NUMBERS), _exact),
    "abs": ColumnFunction(rules.unary(NUMBERS), _exact),
    "equal": ColumnFunction(rules.comparison(COMPUTED)),
    "not_equal": ColumnFunction(rules.comparison(COMPUTED)),
    "less": ColumnFunction(rules.comparison(ORDERED)),
    "less_equal": ColumnFunction(rules.comparison(ORDERED)),
    "greater": ColumnFunction(rules.comparison(ORDERED)),
    "greater_equal": ColumnFunction(rules.comparison(ORDERED)),
    "and": ColumnFunction(rules.logic),
    "or": ColumnFunction(rules.logic),
    "not": ColumnFunction(rules.logic),
    "is_null": ColumnFunction(rules.null_test),
    "is_nan": ColumnFunction(rules.unary(FLOATS, BOOLEAN)),
    "coalesce": ColumnFunction(rules.first_known),
    "case": ColumnFunction(rules.choice),
    "isin": ColumnFunction(rules.membership),
    "greatest": ColumnFunction(rules.extreme),
    "least": ColumnFunction(rules.extreme),
    "cast": ColumnFunction(rules.cast, _narrowing),
    "floor": ColumnFunction(rules.of_float),
    "ceil": ColumnFunction(rules.of_float),
    "round": ColumnFunction(rules.of_float),
    "sqrt": ColumnFunction(rules.of_float),
    "length": ColumnFunction(rules.count),
    "ascii_lower": ColumnFunction(rules.text()),
    "ascii_upper": ColumnFunction(rules.text()),
    "strip": ColumnFunction(rules.text(str)),
    "strip_start": ColumnFunction(rules.text(str)),
    "strip_end": ColumnFunction(rules.text(str)),
    "pad_start": ColumnFunction(rules.padded),
    "pad_end": ColumnFunction(rules.padded),
    "reverse": ColumnFunction(rules.text()),
    "repeat": ColumnFunction(rules.text(int)),
    "find": ColumnFunction(rules.text(str, result=INT, filled=True)),
    "slice": ColumnFunction(rules.text(int, int)),
    "starts_with": ColumnFunction(rules.text(str, result=BOOLEAN)),
    "ends_with": ColumnFunction(rules.text(str, result=BOOLEAN)),
    "contains": ColumnFunction(rules.text(str, result=BOOLEAN)),
    "replace": ColumnFunction(rules.text(str, str, filled=True)),
    "split": ColumnFunction(rules.text(str, result=rules.LIST_OF_TEXTS, filled=True)),
    "year": ColumnFunction(rules.unary(_DATES, INT)),
    "month": ColumnFunction(rules.unary(_DATES, INT)),
    "day": ColumnFunction(rules.unary(_DATES, INT)),
    "weekday": ColumnFunction(rules.unary(_DATES, INT)),
    "quarter": ColumnFunction(rules.unary(_DATES, INT)),
    "week": ColumnFunction(rules.unary(_DATES, INT)),
    "day_of_year": ColumnFunction(rules.unary(_DATES, INT)),
    "hour": ColumnFunction(rules.unary(TIMESTAMPS, INT)),
    "minute": ColumnFunction(rules.unary(TIMESTAMPS, INT)),
    "second": ColumnFunction(rules.unary(TIMESTAMPS, INT)),
    "epoch_millis": ColumnFunction(rules.unary(TIMESTAMPS, LONG)),
    "truncate": ColumnFunction(rules.truncated),
    "shift": ColumnFunction(rules.shifted),
    "days_since": ColumnFunction(rules.difference_of_dates),
    "list_length": ColumnFunction(rules.count),
    "list_contains": ColumnFunction(nested_signatures.contained),
    "get": ColumnFunction(rules.element),
    "field": ColumnFunction(rules.member),
    "struct": ColumnFunction(nested_signatures.made_row),
    "bucket": ColumnFunction(rules.bucketed),
    "bits": ColumnFunction(rules.unary({"Long"}, LONG)),
    "tally": ColumnFunction(rules.tallied),
    "weight": ColumnFunction(rules.of_sums, in_sql=False),
    "joined": ColumnFunction(rules.of_sums, lambda _: True, in_sql=False),
    "quotient": ColumnFunction(rules.of_sums, in_sql=False),
    "tally_size": ColumnFunction(rules.of_tally(LONG), in_sql=False),
    "quantile": ColumnFunction(rules.of_tally(DOUBLE), in_sql=False),
    "variance": ColumnFunction(rules.of_moments, in_sql=False),
    "limbs": ColumnFunction(rules.limbs, _always, in_sql=False),
    "times": ColumnFunction(rules.first_argument, in_sql=False),
    "limb_quotient": ColumnFunction(rules.of_tally(DOUBLE), in_sql=False),
    "limb_variance": ColumnFunction(rules.of_moments, in_sql=False),
    "ordinal": ColumnFunction(rules.unary({"Double"}, LONG), in_sql=False),
    "of_ordinal": ColumnFunction(rules.unary({"Long"}, DOUBLE), in_sql=False),
}
"""Name to function. The order is that of the page on columns; the last ones are of aggregates only."""


def can_fail(expression: Expression) -> bool:
    """Return whether some values of the fields make a typed expression fail.

    Such an expression is evaluated only for the records that need it: behind a condition that chooses it.
    """
    if isinstance(expression, Call) and FUNCTIONS[expression.function].fails(expression):
        return True
    return any(can_fail(each) for each in arguments_of(expression))
