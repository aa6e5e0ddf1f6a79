"""Constant rows: VALUES, and the one row of a SELECT without FROM."""

from __future__ import annotations

from penstock.sql.binding.binder import Binder
from penstock.sql.binding.conversions import together
from penstock.sql.catalogue import SqlColumn
from penstock.sql.column_types import BOOLEAN, NULL
from penstock.sql.place import unsupported, wrong
from penstock.sql.relations.tree import SqlRelation, Values
from penstock.sql.scalars.tree import Constant
from penstock.sql.sqlglot_source import exp


def constant_rows(node: exp.Values, binder: Binder) -> SqlRelation:
    """Return the rows of VALUES.

    Raises:
        SqlError: They differ in their numbers of columns, or a value is no constant.
    """
    rows = [
        [binder.scalar(each) for each in (row.expressions if isinstance(row, exp.Tuple) else [row])]
        for row in node.expressions
    ]
    if len({len(row) for row in rows}) != 1:
        raise wrong(
            "VALUES has rows of different lengths", node, hint="Write as many values in each."
        )
    made, columns = [], []
    for at, values in enumerate(zip(*rows, strict=True)):
        found, kind = together(values, node, "VALUES")
        if kind == NULL:
            raise wrong("a column of VALUES is NULL in every row", node, hint="CAST one.")
        for each in found:
            if not isinstance(each, Constant):
                raise unsupported("a value of VALUES that is no constant", node)
        columns.append(SqlColumn(f"EXPR${at}", kind))
        made.append([each.value for each in found if isinstance(each, Constant)])
    return Values(rows=tuple(zip(*made, strict=True)), columns=tuple(columns))


def one_row() -> SqlRelation:
    """Return one row, for SELECT without FROM."""
    return Values(rows=((True,),), columns=(SqlColumn("$one", BOOLEAN),))
