"""Parts of each construct that are read: a part that sqlglot has parsed and no code reads is refused, not ignored.

sqlglot reads many dialects, so a tree may have parts that are no Flink SQL, such as `SELECT * EXCEPT (a)`, or that are not translated, such
as `FETCH FIRST 3 ROWS WITH TIES`. `PARTS` has the parts that the translation reads. Constructs that are not in it are refused where
they are bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.sql.dialect import TableArgument
from penstock.sql.place import unsupported
from penstock.sql.sqlglot_source import exp

_BOTH = frozenset({"this", "expression"})
_ONE = frozenset({"this"})
_LIST = frozenset({"expressions"})
_NAMED = frozenset({"this", "alias"})
_QUERY = frozenset({"with_", "order", "limit", "offset"})
_SET = _QUERY | {"this", "expression", "distinct"}
_OPERATORS = (
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.DPipe, exp.And, exp.Or, exp.Dot, exp.Escape),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is),
    *(exp.Extract, exp.Filter, exp.Kwarg, exp.IntervalSpan),
)
_WRAPPERS = (exp.Paren, exp.Neg, exp.Not, exp.From, exp.Where, exp.Having, exp.HexString, exp.Var)

PARTS: Mapping[type[exp.Expr], frozenset[str]] = {
    **dict.fromkeys(_OPERATORS, _BOTH),
    **dict.fromkeys(_WRAPPERS, _ONE),
    **dict.fromkeys((exp.Array, exp.Tuple, exp.GroupingSets, exp.Rollup, exp.Cube), _LIST),
    **dict.fromkeys((exp.Union, exp.Intersect, exp.Except), _SET),
    exp.Alias: _NAMED,
    exp.Anonymous: _ONE | _LIST,
    exp.Between: frozenset({"this", "low", "high", "symmetric"}),
    exp.Boolean: _ONE,
    exp.Bracket: _ONE | _LIST,
    exp.CTE: _NAMED,
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.Cast: frozenset({"this", "to"}),
    exp.Ceil: frozenset({"this", "to"}),
    exp.Column: frozenset({"this", "table", "db", "catalog"}),
    exp.ColumnDef: frozenset({"this", "kind"}),
    exp.DataType: frozenset({"this", "expressions", "nested", "kind", "nullable"}),
    exp.DataTypeParam: _ONE,
    exp.Distinct: frozenset({"expressions", "on"}),
    exp.Exists: _ONE,
    exp.Fetch: frozenset({"count", "direction", "limit_options"}),
    exp.Floor: frozenset({"this", "to"}),
    exp.Group: _LIST,
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.If: frozenset({"this", "true", "false"}),
    exp.In: frozenset({"this", "expressions", "query"}),
    exp.Interval: frozenset({"this", "unit"}),
    exp.Join: frozenset({"this", "on", "side", "kind", "using", "method"}),
    exp.Lateral: _NAMED,
    exp.Like: _BOTH | {"negate"},
    exp.Limit: frozenset({"expression", "limit_options"}),
    exp.LimitOptions: frozenset({"rows"}),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Null: frozenset(),
    exp.Offset: frozenset({"expression"}),
    exp.Order: _LIST,
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Select: _QUERY
    | {"expressions", "hint", "distinct", "from_", "joins", "where", "group", "having", "windows"},
    exp.Star: frozenset(),
    exp.StrPosition: frozenset({"this", "substr"}),
    exp.Subquery: frozenset({"this", "alias", "order", "limit", "offset"}),
    exp.Substring: frozenset({"this", "start", "length"}),
    exp.Table: frozenset({"this", "alias", "db", "catalog", "version"}),
    exp.TableAlias: frozenset({"this", "columns"}),
    exp.Trim: frozenset({"this", "expression", "position"}),
    exp.TryCast: frozenset({"this", "to"}),
    exp.Unnest: frozenset({"expressions", "alias", "offset"}),
    exp.Values: frozenset({"expressions", "alias", "order", "limit", "offset"}),
    exp.Version: frozenset({"this", "kind", "expression"}),
    exp.Window: frozenset({"this", "partition_by", "order", "spec", "alias"}),
    exp.WindowSpec: frozenset({"kind", "start", "start_side", "end", "end_side"}),
    exp.With: frozenset({"expressions", "recursive"}),
    TableArgument: frozenset({"this", "partition_by"}),
}
"""Class of a node to the arguments of it that are translated."""

OF_DIALECT: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.Array: frozenset({"value_constructor", "bracket_notation"}),
    exp.DPipe: frozenset({"safe"}),
    exp.Div: frozenset({"typed", "safe"}),
    exp.TryCast: frozenset({"safe"}),
    exp.Window: frozenset({"over"}),
}
"""Arguments that sqlglot sets by itself: nobody has written them."""

_EXPLICIT: frozenset[tuple[type[exp.Expr], str]] = frozenset(
    {(exp.CTE, "materialized"), (exp.Group, "all")}
)
"""Arguments that are False where a word was written, and None where none was."""

_NAMES: Mapping[tuple[type[exp.Expr], str], str] = {
    (exp.CTE, "materialized"): "MATERIALIZED of WITH",
    (exp.Cast, "format"): "FORMAT of CAST",
    (exp.Ceil, "decimals"): "a second argument of CEIL",
    (exp.Floor, "decimals"): "a second argument of FLOOR",
    (exp.Group, "all"): "ALL or DISTINCT of GROUP BY",
    (exp.Group, "rollup"): "WITH ROLLUP",
    (exp.Group, "cube"): "WITH CUBE",
    (exp.Join, "pivots"): "PIVOT",
    (exp.Limit, "expressions"): "LIMIT … BY",
    (exp.Limit, "this"): "LIMIT in the arguments of a function",
    (exp.LimitOptions, "percent"): "FETCH of PERCENT",
    (exp.LimitOptions, "with_ties"): "WITH TIES",
    (exp.Order, "this"): "ORDER BY in the arguments of a function",
    (exp.Select, "cluster"): "CLUSTER BY",
    (exp.Select, "connect"): "CONNECT BY",
    (exp.Select, "distribute"): "DISTRIBUTE BY",
    (exp.Select, "into"): "SELECT INTO",
    (exp.Select, "kind"): "SELECT AS",
    (exp.Select, "laterals"): "LATERAL VIEW",
    (exp.Select, "locks"): "FOR UPDATE",
    (exp.Select, "match"): "MATCH_RECOGNIZE",
    (exp.Select, "sort"): "SORT BY",
    (exp.Star, "except_"): "EXCEPT or EXCLUDE behind *",
    (exp.Star, "rename"): "RENAME behind *",
    (exp.Star, "replace"): "REPLACE behind *",
    (exp.Subquery, "pivots"): "PIVOT",
    (exp.Subquery, "sample"): "TABLESAMPLE",
    (exp.Table, "hints"): "WITH (…) behind a table",
    (exp.Table, "joins"): "a join in a join or in parentheses",
    (exp.Table, "ordinality"): "WITH ORDINALITY behind a table",
    (exp.Table, "pivots"): "PIVOT",
    (exp.Table, "sample"): "TABLESAMPLE",
    (exp.WindowSpec, "exclude"): "EXCLUDE of a frame",
}
"""Arguments whose names in sqlglot are not those of SQL."""


def check_parts(query: exp.Expr) -> None:
    """Refuse a query that has a part which the translation does not read.

    Args:
        query: The tree.

    Raises:
        SqlError: It has one; the error names it and its place.
    """
    for node in query.walk():
        kind = type(node)
        parts = PARTS.get(kind)
        if parts is None:
            continue  # refused where it is bound
        for name, value in node.args.items():
            if name not in parts and _is_written(kind, name, value) and not _is_joined(node, name):
                raise unsupported(construct_of(kind, name), _first_node(value) or node)


def construct_of(kind: type[exp.Expr], name: str) -> str:
    """Return what a part of a construct is called in SQL."""
    words = name.strip("_").upper().replace("_", " ")
    return _NAMES.get((kind, name), f"{words} of {kind.__name__.upper()}")


def _is_written(kind: type[exp.Expr], name: str, value: Any) -> bool:
    if (kind, name) in _EXPLICIT:
        return value is not None
    return bool(value) and name not in OF_DIALECT.get(kind, ())


def _is_joined(node: exp.Expr, name: str) -> bool:
    """Return whether it is the joins of the first table of FROM, which `FromClause` reads."""
    return name == "joins" and isinstance(node, exp.Table) and isinstance(node.parent, exp.From)


def _first_node(value: Any) -> exp.Expr | None:
    found = value[0] if isinstance(value, list) else value
    return found if isinstance(found, exp.Expr) else None
