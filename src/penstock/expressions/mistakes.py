"""Mistakes in place of an expression, and their corrections."""

from __future__ import annotations

from typing import Any, NoReturn

from penstock.errors import ArgumentError, did_you_mean
from penstock.expressions.aggregates import AggregateExpression
from penstock.expressions.tree import Expression, Literal

OTHER_NAMES = {
    "astype": "cast",
    "avg": "mean",
    "dayofyear": "day_of_year",
    "endswith": "ends_with",
    "fillna": "fill_null",
    "isNotNull": "is_not_null",
    "isNull": "is_null",
    "is_in": "isin",
    "isna": "is_null",
    "isnull": "is_null",
    "len": "length",
    "len_chars": "length",
    "lower": "ascii_lower",
    "lstrip": "strip_start",
    "n_unique": "count_distinct",
    "notna": "is_not_null",
    "notnull": "is_not_null",
    "nunique": "count_distinct",
    "quantile": "approx_quantile",
    "rstrip": "strip_end",
    "size": "length",
    "startswith": "starts_with",
    "std": "stddev",
    "substr": "slice",
    "trim": "strip",
    "upper": "ascii_upper",
    "var": "variance",
}
"""Names of Python, pandas, Polars and PySpark to ours."""


class Mistaken:
    """Base of `ColumnExpression`: its errors suggest the right code.

    Attributes:
        tree: The expression, without types.
    """

    __slots__ = ()

    tree: Expression

    def __bool__(self) -> NoReturn:
        raise ArgumentError.here(
            f"the expression {self.tree} was used as a truth value, but its value depends on the record",
            hint="Write & for and, | for or, ~ for not, and between or isin for chains and `in`.",
        )

    def __iter__(self) -> NoReturn:
        raise ArgumentError.here(
            f"the expression {self.tree} cannot be iterated",
            hint="Use get for an element of a list, and field for a field of a row.",
        )

    def __getattr__(self, name: str) -> NoReturn:
        known = tuple(attribute for attribute in dir(type(self)) if not attribute.startswith("_"))
        meant = OTHER_NAMES.get(name)
        advice = f"; write {meant}" if meant else did_you_mean(name, known)
        # as everywhere in Python: `copy`, `inspect` and others look up missing names
        raise AttributeError(f"columns have no method {name!r}{advice}")


def constant_of(value: Any) -> Literal:
    """Return a constant."""
    if isinstance(value, AggregateExpression):
        raise ArgumentError.here(
            f"the aggregate {value} was used as a value of single records",
            hint="Write key_by(…).aggregate(name=…), and compute with its results in a later select.",
        )
    if callable(value):
        raise ArgumentError.here(
            f"the function {getattr(value, '__name__', value)!r} was used in place of an expression",
            hint="Write an expression, such as col.amount > 5, or call filter or map.",
        )
    return Literal(value)


def not_none(value: Any, instead: str) -> Any:
    """Return what a column is compared with."""
    if value is None:
        raise ArgumentError.here(
            "a column was compared with None, which equals nothing",
            hint=f"Write {instead}().",
        )
    return value
