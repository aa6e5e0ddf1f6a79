"""Aggregates without GROUP BY have one row, also of no rows; and ORDER BY reads what a query selects from. DuckDB judges."""

from __future__ import annotations

import pytest

from penstock.common import Row, RowKind
from penstock.errors import SqlError
from penstock.sql.queries import relation_of
from tests.sql.generated import TABLES, ChangingTable, duckdb_answer
from tests.sql.test_law import answer
from tests.sql.test_parts import CATALOGUE
from tests.sql.ways import WAYS


def changes_of(name, *rows):
    names = [column for column, _, _ in TABLES[name]]
    made = []
    for kind, values in rows:
        row = Row(**dict(zip(names, values, strict=True)))
        row.set_row_kind(kind)
        made.append(row)
    return ChangingTable(name, tuple(made))


ADDED, GONE = RowKind.INSERT, RowKind.DELETE
CHANGING = [
    changes_of(
        "t",
        (ADDED, ("p", 1, 10, 0.5, True)),
        (ADDED, ("q", 2, 20, 1.5, None)),
        (ADDED, ("x", 7, 70, 0.1, False)),
        (ADDED, ("p", 3, None, 0.2, False)),
        (GONE, ("x", 7, 70, 0.1, False)),
        (ADDED, (None, 0, 0, None, True)),
    ),
    changes_of("u", (ADDED, ("p", 5, "a")), (ADDED, ("p", 6, "b")), (ADDED, ("r", 7, "c"))),
    changes_of("v", (ADDED, (1, 1)), (GONE, (1, 1)), (ADDED, (2, 2)), (GONE, (2, 2))),
]
NEVER = [CHANGING[0], CHANGING[1], ChangingTable("v", ())]
"""Without any row of `v`; in `CHANGING` it had some."""

VALUES = (
    "SELECT a, (SELECT COUNT(*) FROM v) AS n FROM t",
    "SELECT a, (SELECT COUNT(*) + 1 FROM v WHERE g > 1) AS n FROM t",
    "SELECT a, (SELECT COUNT(*) + SUM(b) FROM v) AS n FROM t",
    "SELECT a, (SELECT COALESCE(SUM(b), 7) FROM v) AS n FROM t",
    "SELECT a, (SELECT n FROM (SELECT COUNT(*) AS n FROM v)) AS n FROM t",
    "SELECT a, (SELECT COUNT(*) FROM v LIMIT 1) AS n FROM t",
    "SELECT a, (SELECT COUNT(*) + 1 FROM v HAVING COUNT(*) = 0) AS n FROM t",
    "SELECT a, (SELECT COUNT(*) + 1 FROM v HAVING COUNT(*) = 1) AS n FROM t",
    "SELECT a, (SELECT COUNT(*) + 1 FROM u HAVING COUNT(*) = 3) AS n FROM t",
    "SELECT a FROM t WHERE a > (SELECT COUNT(DISTINCT b) FILTER (WHERE b > 5) FROM v)",
    "SELECT a FROM t WHERE (SELECT COUNT(*) FROM v) = 0",
    "SELECT k, COUNT(*) AS n FROM t GROUP BY k HAVING COUNT(*) > (SELECT COUNT(*) FROM v)",
    "SELECT a, (SELECT COUNT(*) FROM u WHERE u.k = t.k) AS n FROM t",
)
EXISTENCE = (
    "EXISTS (SELECT COUNT(*) FROM v)",
    "NOT EXISTS (SELECT COUNT(*) FROM v)",
    "EXISTS (SELECT DISTINCT COUNT(*) FROM v)",
    "EXISTS (SELECT COUNT(*) FROM v LIMIT 1)",
    "EXISTS (SELECT COUNT(*) FROM v LIMIT 0)",
    "EXISTS (SELECT COUNT(*) AS n FROM v LIMIT 3 OFFSET 1)",
    "EXISTS (SELECT COUNT(*) FROM v GROUP BY g)",
    "a IN (SELECT r FROM (SELECT n, ROW_NUMBER() OVER (ORDER BY n) AS r FROM (SELECT MAX(c) AS n FROM u)) WHERE r <= 1)",
    "EXISTS (SELECT * FROM (SELECT COUNT(*) AS n FROM v) WHERE n = 0)",
    "EXISTS (SELECT COUNT(*) FROM v HAVING COUNT(*) > 0)",
    "NOT EXISTS (SELECT COUNT(*) FROM v HAVING COUNT(*) > 0)",
    "NOT EXISTS (SELECT MAX(b) FROM v HAVING MAX(b) > 0)",
    "NOT EXISTS (SELECT COUNT(*) FROM u HAVING MAX(c) > 100)",
    "EXISTS (SELECT COUNT(*) FROM u WHERE u.k = t.k)",
    "NOT EXISTS (SELECT MAX(c) FROM u WHERE u.k = t.k)",
    "a IN (SELECT COUNT(*) + 1 FROM v)",
    "a NOT IN (SELECT COUNT(*) + 1 FROM v)",
    "a IN (SELECT MAX(b) FROM v)",
    "a NOT IN (SELECT MAX(b) FROM v)",
    "b NOT IN (SELECT COUNT(*) FROM v)",
    "b NOT IN (SELECT COUNT(*) FROM v HAVING COUNT(*) > 0)",
    "b NOT IN (SELECT COUNT(*) FROM v HAVING COUNT(*) >= 0)",
    "(a, b) IN (SELECT COUNT(*) + 1, 10 FROM v)",
    "(a, b) NOT IN (SELECT COUNT(*) + 1, 10 FROM v)",
)
ORDERS = (
    "SELECT a FROM t ORDER BY x LIMIT 2",
    "SELECT t.a FROM t ORDER BY t.a DESC LIMIT 2",
    "SELECT * FROM u ORDER BY u.c DESC LIMIT 2",
    "SELECT o.a AS n FROM t AS o WHERE o.x IS NOT NULL ORDER BY o.x DESC LIMIT 2",
    "SELECT c AS s, s AS c FROM u ORDER BY c DESC LIMIT 1",
    "SELECT c + 1 AS n FROM u ORDER BY -c LIMIT 1",
    "SELECT k FROM u GROUP BY k ORDER BY COUNT(*) DESC LIMIT 1",
    "SELECT k, COUNT(*) AS n FROM u GROUP BY k ORDER BY SUM(c), k LIMIT 1",
    "SELECT k, COUNT(*) AS n FROM u GROUP BY k ORDER BY n + 1 DESC LIMIT 1",
    "SELECT t.a FROM t JOIN u ON t.k = u.k ORDER BY u.c DESC, t.a LIMIT 1",
    "SELECT c FROM u ORDER BY (SELECT MAX(a) FROM t) - c LIMIT 1",
    "SELECT c FROM u ORDER BY ROW_NUMBER() OVER (ORDER BY s DESC) LIMIT 2",
    "SELECT c FROM u ORDER BY u.s DESC LIMIT 1 OFFSET 1",
)
QUERIES = (*VALUES, *(f"SELECT a FROM t WHERE {each}" for each in EXISTENCE), *ORDERS)


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_has_the_rows_of_duckdb_in_every_mode(query) -> None:
    of_duckdb = query.replace("ORDER BY x ", "ORDER BY x NULLS FIRST ")
    for given in (CHANGING, NEVER):
        wanted = sorted(duckdb_answer(of_duckdb, given), key=repr)
        for way in WAYS.values():
            assert sorted(answer(query, given, way), key=repr) == wanted, way


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("SELECT n FROM o WHERE n IN (SELECT COUNT(*) FROM p WHERE p.n = o.n)", "IN, or EXISTS"),
        (
            "SELECT n FROM o WHERE EXISTS (SELECT 1 FROM p WHERE p.n = o.n HAVING COUNT(*) > 1)",
            "IN, or EXISTS with HAVING",
        ),
        ("SELECT n FROM o WHERE EXISTS (SELECT COUNT(m) FROM p)", "there is no column 'm'"),
        (
            "SELECT n FROM o WHERE EXISTS (SELECT COUNT(m) FROM p WHERE p.n = o.n)",
            "there is no column 'm'",
        ),
        ("SELECT n AS m FROM o ORDER BY mm LIMIT 1", "did you mean 'm'"),
        ("SELECT DISTINCT n FROM o ORDER BY k LIMIT 1", "there is no column 'k'"),
        ("SELECT n FROM o GROUP BY n ORDER BY k LIMIT 1", "neither grouped nor aggregated"),
        ("SELECT n FROM o ORDER BY o.m LIMIT 1", "there is no column 'o.m'"),
    ],
)
def test_what_cannot_be_answered_is_refused(query, says) -> None:
    with pytest.raises(SqlError, match=says):
        relation_of(query, CATALOGUE)
