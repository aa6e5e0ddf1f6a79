"""Queries as DuckDB writes them, as far as they mean the same there.

Functions that the tables below lack are refused by name: a wrong accusation is worse than a query that is not compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.sql.place import place_of
from penstock.sql.sqlglot_source import exp
from penstock.types.sql_types import SqlType

_SAME = frozenset(
    {
        *(
            "Select",
            "From",
            "Join",
            "Where",
            "Group",
            "Having",
            "Subquery",
            "With",
            "CTE",
            "Distinct",
        ),
        *(
            "Union",
            "Intersect",
            "Except",
            "Table",
            "TableAlias",
            "Alias",
            "Column",
            "Identifier",
            "Star",
        ),
        *(
            "Literal",
            "Null",
            "Boolean",
            "Paren",
            "And",
            "Or",
            "Not",
            "EQ",
            "NEQ",
            "GT",
            "GTE",
            "LT",
            "LTE",
        ),
        *(
            "Is",
            "In",
            "Between",
            "Like",
            "Exists",
            "Tuple",
            "Add",
            "Sub",
            "Mul",
            "Neg",
            "Case",
            "If",
        ),
        *("Coalesce", "Abs", "Upper", "Lower", "DPipe", "Count", "Sum", "Min", "Max", "Filter"),
    }
)
"""Names of nodes with one meaning in both."""

_FUNCTIONS = frozenset(
    {"SUM", "COUNT", "MIN", "MAX", "COALESCE", "NULLIF", "ABS", "UPPER", "LOWER"}
)
"""Names of functions with one meaning in both."""

_FLOATS = frozenset({"DOUBLE"})
_WHOLE = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT"})

_TYPES = _FLOATS | _WHOLE | {"BOOLEAN", "DECIMAL", "STRING", "BYTES", "DATE", "TIMESTAMP"}
"""Names of types of columns. Sums of FLOAT have another width, and instants are shown in another zone."""

Kinds = Mapping[str, frozenset[SqlType]]
"""Name of a column to its types in all tables and views that a query reads."""


class NotInDuckDbError(Exception):
    """A part of a query that DuckDB cannot express, or has with another meaning; its text is the part."""


def duckdb_text(query: exp.Query, kinds: Kinds, views: Sequence[ViewText] = ()) -> str:
    """Return the text of a query for DuckDB; of the views, each reads those before it only."""
    statement = _checked(query, kinds)
    if views:
        statement = exp.select("*").from_(statement.subquery("query"))
        for view in views:
            statement = statement.with_(view.alias, as_=_checked(view.query, kinds), copy=False)
    return statement.sql(dialect="duckdb")


def all_rows(name: str) -> exp.Query:
    """Return the query of all rows of a table."""
    return exp.select("*").from_(exp.to_table(name, quoted=True))


@dataclass(frozen=True, slots=True)
class ViewText:
    """A view below a query.

    Attributes:
        columns: Names of its columns; empty takes those of the query.
    """

    name: str
    columns: tuple[str, ...]
    query: exp.Query

    @property
    def alias(self) -> exp.TableAlias:
        """The name and the columns, quoted."""
        columns = [exp.to_identifier(column, quoted=True) for column in self.columns]
        return exp.TableAlias(this=exp.to_identifier(self.name, quoted=True), columns=columns)


def _checked(query: exp.Query, kinds: Kinds) -> exp.Query:
    """Return a query with what DuckDB writes in another way, refused if it is not all that."""
    tree = query.copy()
    # Below a query a name may be that of another value than the column's.
    renamed = {
        alias.alias
        for alias in tree.find_all(exp.Alias)
        if alias.find_ancestor(exp.Subquery, exp.CTE) is not None
    }
    kinds = {name: types for name, types in kinds.items() if name not in renamed}
    for node in list(tree.walk()):
        if isinstance(node, exp.Anonymous):
            _check_function(node, kinds)
        elif isinstance(node, exp.Div | exp.Mul):
            _check_product(node, kinds)
        elif isinstance(node, exp.Column | exp.Star):
            _check_columns(node, kinds)
        elif isinstance(node, exp.Table) and (node.args.get("db") or node.args.get("catalog")):
            raise _refusal(node, "the name of a database")
        elif type(node).__name__ not in _SAME:
            raise _refusal(node, type(node).key.upper())
    return tree


def tables_in(query: exp.Query) -> Iterator[str]:
    """Yield the names of the tables and views that a query reads, each once."""
    own = {cte.alias for cte in query.find_all(exp.CTE)}
    yield from dict.fromkeys(
        table.name for table in query.find_all(exp.Table) if table.name not in own
    )


def _check_function(node: exp.Anonymous, kinds: Kinds) -> None:
    """Refuse a call with another meaning, and write an average of whole numbers as Flink has it: without its fraction."""
    name = node.name.upper()
    if name in _FUNCTIONS:
        return
    arguments = node.expressions
    type_names = _types(arguments[0], kinds) if len(arguments) == 1 else frozenset()
    if name != "AVG" or not type_names or not (type_names <= _WHOLE or type_names <= _FLOATS):
        raise _refusal(node, name)
    if type_names <= _WHOLE:
        total, count = (
            exp.Anonymous(this=call, expressions=[arguments[0].copy()]) for call in ("SUM", "COUNT")
        )
        node.replace(exp.Paren(this=exp.IntDiv(this=total, expression=count)))


def _check_product(node: exp.Binary, kinds: Kinds) -> None:
    """Refuse what has another number of digits: divisions but of DOUBLE, and products of DECIMAL."""
    type_names = _types(node.this, kinds) | _types(node.expression, kinds)
    if isinstance(node, exp.Div) and not type_names & _FLOATS:
        raise _refusal(node, "a division that is not of a DOUBLE column")
    if isinstance(node, exp.Mul) and "DECIMAL" in type_names:
        raise _refusal(node, "a product of DECIMAL")


def _check_columns(node: exp.Expr, kinds: Kinds) -> None:
    """Refuse columns of types that are compared in another way."""
    is_count = isinstance(node.parent, exp.Anonymous)
    names = [node.name] if isinstance(node, exp.Column) and node.name != "*" else list(kinds)
    for name in () if is_count and isinstance(node, exp.Star) else names:
        for kind in kinds.get(name, ()):
            if kind.name not in _TYPES:
                raise _refusal(node, f"the column {name} of {kind}")


def _types(node: exp.Expr, kinds: Kinds) -> frozenset[str]:
    """Return the names of the types that a column may have; none of another expression."""
    if not isinstance(node, exp.Column):
        return frozenset()
    return frozenset(kind.name for kind in kinds.get(node.name, ()))


def _refusal(node: exp.Expr, part: str) -> NotInDuckDbError:
    place = place_of(node)
    return NotInDuckDbError(part if place is None else f"{part} ({place})")
