"""Every construct that sqlglot knows is either computed, or an error that names it and its place."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from penstock.common import Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import SqlError
from penstock.expressions.functions import FUNCTIONS as COMPUTED
from penstock.expressions.functions import LOGIC
from penstock.expressions.row_values import _SPECIAL
from penstock.relation.tree import Relation, SqlColumn
from penstock.sql.grammar import parse_query
from penstock.sql.lowering.lower import LOWER
from penstock.sql.query_binding.aggregates import _RESULTS
from penstock.sql.query_binding.select import _CLAUSES, QueryTranslator
from penstock.sql.scalar_binding.binder import Binder
from penstock.sql.scalar_binding.calls import rules
from penstock.sql.scalar_binding.operators import BUILDERS
from penstock.sql.scalar_binding.scope import Scope
from penstock.sql.sqlglot_source import exp
from penstock.sql.streams import StreamCatalogue, StreamTable
from penstock.types.sql_types import INT

NODES = sorted(
    {
        each
        for each in vars(exp).values()
        if inspect.isclass(each) and issubclass(each, exp.Expression) and each is not exp.Expression
    },
    key=lambda each: each.__name__,
)
ROW = Types.ROW_NAMED(["n", "k"], [Types.INT(), Types.STRING()])


def catalogue():
    env = StreamExecutionEnvironment.get_execution_environment()
    return StreamCatalogue({"o": StreamTable(env.from_collection([], ROW))}, {})


def placed():
    """Return a node whose place is line 1, column 8."""
    return parse_query("SELECT n FROM o").expressions[0].copy()


def test_sqlglot_has_many_nodes():
    assert len(NODES) > 700


def test_a_node_that_is_not_bound_is_an_error_with_its_place():
    binder = Binder(Scope.of("o", [SqlColumn("n", INT)]), catalogue(), BUILDERS)
    for node in NODES:
        if node in BUILDERS:
            continue
        with pytest.raises(SqlError) as refused:
            binder.scalar(node(this=placed()))
        assert "is not supported" in refused.value.problem, node
        assert "line 1, column 8" in refused.value.problem, node


def test_every_bound_node_is_one_of_sqlglot():
    assert set(BUILDERS) <= set(NODES)


@pytest.mark.parametrize("clause", sorted(set(exp.Select.arg_types) - _CLAUSES))
def test_a_clause_that_is_not_translated_is_an_error_with_its_place(clause):
    query = parse_query("SELECT n FROM o").copy()
    query.set(clause, [exp.Paren(this=placed())])
    with pytest.raises(SqlError) as refused:
        QueryTranslator(catalogue()).relation(query)
    assert f"the clause {clause.rstrip('_').upper()} is not supported" in refused.value.problem
    assert "line 1, column 8" in refused.value.problem


def test_what_from_does_not_read_is_an_error():
    translator = QueryTranslator(catalogue())
    for node in NODES:
        if node in {exp.Table, exp.Subquery, exp.Values}:
            continue
        query = parse_query("SELECT 1 FROM o").copy()
        query.set("from_", exp.From(this=node(this=placed())))
        with pytest.raises(SqlError) as refused:
            translator.relation(query)
        assert "in FROM is not supported" in refused.value.problem, node
        assert "line 1, column 8" in refused.value.problem, node


def test_every_relation_has_an_operator():
    found, todo = set(), [Relation]
    while todo:
        for each in todo.pop().__subclasses__():
            found.add(each.__name__)  # a class with slots is made twice
            todo.append(each)
    assert found - {"OneInput", "TwoInputs"} == {each.__name__ for each in LOWER}


def test_every_function_of_the_table_is_computed():
    signatures = {each.function for each in rules().values() if hasattr(each, "function")}
    assert signatures <= set(COMPUTED)
    assert all(COMPUTED[name].python or name in LOGIC for name in signatures)
    assert set(_SPECIAL) == LOGIC


@pytest.mark.parametrize(
    ("query", "construct"),
    [
        ("SELECT n FROM o ORDER BY n", "ORDER BY without LIMIT"),
        ("SELECT n FROM o TABLESAMPLE (10 PERCENT)", "SAMPLE"),
        ("SELECT SUM(n) FROM o GROUP BY n, ROLLUP (k)", ""),
        ("SELECT n FROM o INTERSECT ALL SELECT n FROM o", ""),
        ("SELECT MAP['a', n, k, 2] FROM o", ""),
        ("SELECT MAP[o.n, NULL] FROM o", "MAP of INT to NULL"),
        ("SELECT (SELECT MAX(n) FROM o WHERE o.k = p.k) FROM o p", ""),
        (
            "SELECT (SELECT MAX(n) + p.n FROM o WHERE o.k = p.k) FROM o p",
            "a column of the query around elsewhere than in WHERE",
        ),
        (
            "SELECT (SELECT n FROM o WHERE o.k = p.k) FROM o p",
            "a correlated subquery of one value that is no expression of aggregates",
        ),
        (
            "SELECT (SELECT MAX(n) FROM o WHERE o.n < p.n) FROM o p",
            "a correlated subquery of one value with another condition than an equality",
        ),
        ("SELECT a.n FROM o a NATURAL LEFT JOIN o b", ""),
        ("WITH RECURSIVE r AS (SELECT 1) SELECT * FROM r", "WITH RECURSIVE"),
        ("SELECT FIRST_VALUE(n) FROM o", "FIRST_VALUE of a group"),
        (
            "SELECT SUM(n) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM o",
            "a frame",
        ),
        (
            "SELECT * FROM o WHERE n = (SELECT n FROM o)",
            "a subquery of one value that may have several rows",
        ),
        ("SELECT n IN (SELECT n FROM o) FROM o", "IN with a subquery elsewhere"),
        ("SELECT RAND() FROM o", "RAND"),
        ("SELECT CURRENT_TIMESTAMP FROM o", "whose value depends on when it is computed"),
        ("SELECT n FROM o LIMIT n", "a limit that is no constant"),
        ("SELECT LISTAGG(k, k) FROM o", "a separator of LISTAGG"),
    ],
)
def test_constructs_that_are_not_supported_say_so(query, construct):
    translator = QueryTranslator(catalogue())
    if not construct:
        assert translator.relation(parse_query(query)).columns
        return
    with pytest.raises(SqlError) as refused:
        translator.relation(parse_query(query))
    assert construct in refused.value.problem
    assert "not supported" in refused.value.problem


def test_the_page_names_every_function():
    page = (Path(__file__).parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")
    words = set(re.findall(r"[A-Z][A-Z0-9_]+", page))
    other = {"CEILING", "CHARACTER_LENGTH", "SUBSTR", "BTRIM"}  # other names of the same
    assert set(rules()) - other <= words
    assert set(_RESULTS) <= words
