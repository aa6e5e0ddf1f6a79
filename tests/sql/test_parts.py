"""Nothing that is written in a query is ignored: a part that sqlglot reads is translated, or refused with its name and place.

The first tests go through all classes and arguments of sqlglot; they find a part that a newer version reads. The next one takes
each part out of queries that work: a part without which the relation is the same would be one that is ignored.
"""

from __future__ import annotations

import re

import pytest

from penstock.common import Configuration, Row, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import SqlError
from penstock.sql.grammar import parse_query
from penstock.sql.queries import relation_of
from penstock.sql.query_binding.aggregates import _OTHER_NAMES, _RESULTS, UNORDERED
from penstock.sql.query_binding.select import QueryTranslator
from penstock.sql.scalar_binding.calls import AGGREGATES
from penstock.sql.scalar_binding.operators import BUILDERS
from penstock.sql.sqlglot_source import exp
from penstock.sql.streams import StreamCatalogue, StreamTable
from penstock.sql.text_parser import OF_DIALECT, PARTS, check_parts
from penstock.testing import collect
from tests.sql.generated import materialized

ROW = Types.ROW_NAMED(
    ["n", "k", "ts", "many"],
    [Types.INT(), Types.STRING(), Types.SQL_TIMESTAMP(), Types.LIST(Types.INT())],
)
PLACE = re.compile(r"\(line \d+, column \d+\)")


def catalogue():
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([], ROW)
    versions = StreamTable(stream, primary_key=("n",), time="ts")
    plain = env.from_collection([], Types.ROW_NAMED(["n", "k"], [Types.INT(), Types.STRING()]))
    tables = {"o": StreamTable(stream, time="ts"), "p": StreamTable(stream), "v": versions}
    tables["q"] = StreamTable(plain)
    return StreamCatalogue(tables, {})


def unread():
    for kind, parts in PARTS.items():
        for name in sorted(set(kind.arg_types) - parts - OF_DIALECT.get(kind, frozenset())):
            yield kind, name


def test_a_part_that_is_not_read_is_refused_with_its_place():
    given = parse_query("SELECT n FROM o")
    refused = list(unread())
    assert len(refused) > 150
    for kind, name in refused:
        query = given.copy()
        query.set("expressions", [kind(**{name: exp.Paren(this=query.expressions[0].copy())})])
        with pytest.raises(SqlError, match="is not supported") as error:
            check_parts(query)
        assert PLACE.search(error.value.problem), (kind, name)


def test_every_construct_that_is_bound_has_its_parts():
    refused = {each for each, build in BUILDERS.items() if build.__name__ == "_unpredictable"}
    assert set(BUILDERS) - refused <= set(PARTS)
    for kind, parts in PARTS.items():
        assert parts <= set(kind.arg_types), kind
        assert not parts & OF_DIALECT.get(kind, frozenset()), kind


WHOLE = [
    "SELECT n FROM o AS t WHERE NOT (t.n = 1 AND n <> 2 OR n IS NULL) AND n IS DISTINCT FROM 3",
    "SELECT n + 1 AS a, -n, n * 2 - n / 2, n % 2, k || 'x', `n` FROM o",
    "SELECT n < 1, n <= 1, n > 1, n >= 1, n IS NOT DISTINCT FROM 1, TRUE, NULL IS NULL FROM o",
    "SELECT n BETWEEN SYMMETRIC 1 AND 2, n NOT BETWEEN 1 AND 2, n IN (1, 2) FROM o",
    "SELECT k NOT LIKE 'a', k LIKE 'b' ESCAPE '!', k NOT LIKE 'c' ESCAPE '!' FROM o",
    "SELECT CASE n WHEN 1 THEN 'a' ELSE 'b' END, CASE WHEN n = 1 THEN 2 END, IF(n = 1, 2, 3) FROM o",
    "SELECT CAST(n AS DECIMAL(9, 2)), TRY_CAST(k AS INT), CAST(k AS VARCHAR(3)), X'41' FROM o",
    "SELECT EXTRACT(DAY FROM ts), FLOOR(ts TO DAY), CEIL(1.5), ts + INTERVAL '2' DAY FROM o",
    "SELECT SUBSTRING(k FROM 2 FOR 3), POSITION('x' IN k), TRIM(LEADING 'x' FROM k) FROM o",
    "SELECT many[1], ARRAY[n], MAP['a', n]['a'], UPPER(k) FROM o",
    "SELECT COUNT(*), SUM(DISTINCT n) FILTER (WHERE n > 1) FROM o GROUP BY k HAVING MAX(n) > 1",
    "SELECT k, n FROM o GROUP BY GROUPING SETS ((k), (n)), ROLLUP (n, k), CUBE (k)",
    "SELECT DISTINCT n FROM o UNION SELECT n FROM p",
    "SELECT n FROM o INTERSECT ALL SELECT n FROM p EXCEPT SELECT n FROM p",
    "WITH p AS (SELECT * FROM v) SELECT n FROM o INTERSECT SELECT n FROM p ORDER BY n LIMIT 2 OFFSET 1",
    "WITH p AS (SELECT * FROM v) SELECT n FROM o EXCEPT SELECT n FROM p ORDER BY n LIMIT 2 OFFSET 1",
    "WITH p AS (SELECT * FROM v) SELECT n FROM o UNION SELECT n FROM p ORDER BY n LIMIT 2 OFFSET 1",
    "SELECT CAST(NULL AS ROW<a INT, b ARRAY<STRING>>) FROM o",
    "WITH w(a, b, c, d) AS (SELECT * FROM o) SELECT a FROM w",
    "SELECT n FROM o ORDER BY n DESC NULLS FIRST LIMIT 3 OFFSET 1",
    "SELECT n FROM o ORDER BY n NULLS LAST FETCH FIRST 3 ROWS ONLY",
    "(SELECT n FROM o) ORDER BY n LIMIT 2 OFFSET 1",
    "SELECT n FROM o UNION ALL SELECT n FROM p ORDER BY n LIMIT 2 OFFSET 1",
    "VALUES (1, 2), (3, 4) ORDER BY 1 LIMIT 1 OFFSET 1",
    "SELECT t.n FROM (SELECT n FROM o) AS t (n) LEFT JOIN p AS s ON t.n = s.n",
    "SELECT o.n FROM o FULL JOIN p USING (n) CROSS JOIN v",
    "SELECT o.k FROM o NATURAL JOIN p RIGHT JOIN v ON v.n = o.n",
    "SELECT n FROM o WHERE EXISTS (SELECT 1 FROM p WHERE p.n = o.n) AND n IN (SELECT n FROM p)",
    "SELECT o.n, (SELECT MAX(n) FROM p) FROM o, UNNEST(many) WITH ORDINALITY AS u (a, b)",
    "SELECT a FROM o CROSS JOIN UNNEST(many) AS u (a)",
    "SELECT o.n FROM o LEFT JOIN v FOR SYSTEM_TIME AS OF o.ts ON o.n = v.n",
    "SELECT n FROM TABLE(HOP(TABLE o, DESCRIPTOR(ts), SLIDE => INTERVAL '1' HOUR, SIZE => INTERVAL '2' HOUR))",
    "SELECT n FROM TABLE(SESSION(TABLE o PARTITION BY k, DESCRIPTOR(ts), INTERVAL '1' HOUR))",
    "SELECT SUM(n) OVER (PARTITION BY k ORDER BY n ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM (SELECT n, k FROM p)",
    "SELECT MAX(n) OVER (w ORDER BY n) FROM (SELECT n, k FROM o) WINDOW w AS (PARTITION BY k)",
    "SELECT /*+ STATE_TTL('o' = '1d') */ o.n FROM o JOIN p ON o.n = p.n",
]
"""Queries that have every part of every construct."""

WITHOUT_MEANING = frozenset(
    {
        (exp.DataType, "nested"),  # what sqlglot derives
        (exp.DataType, "kind"),  # names a type that sqlglot does not know
        (exp.DataType, "nullable"),  # of a CAST: no value becomes NULL by it
        (exp.Fetch, "direction"),  # FIRST and NEXT are the same
        (exp.Fetch, "limit_options"),  # ROW and ROWS are the same
        (exp.LimitOptions, "rows"),
        (exp.Identifier, "quoted"),
        (exp.Join, "kind"),  # INNER, OUTER and CROSS are told by what else there is
        (exp.Limit, "limit_options"),
        (exp.Version, "kind"),  # Flink has AS OF only
        (exp.Column, "db"),  # parts of names
        (exp.Column, "catalog"),
        (exp.Table, "db"),
        (exp.Table, "catalog"),
        (exp.CTE, "alias"),
        (exp.Ceil, "to"),  # refused by name
        (exp.Lateral, "alias"),  # of functions of the user
        (exp.WindowSpec, "end"),  # frames end at the current row, or are refused
        (exp.WindowSpec, "end_side"),
        (exp.WindowSpec, "start_side"),
        (exp.Literal, "is_string"),
        (exp.With, "recursive"),  # refused by name
        (exp.Distinct, "on"),
        (exp.DataTypeParam, "this"),
        (exp.Subquery, "offset"),  # goes with its limit
        (exp.Values, "alias"),
        (exp.Values, "order"),  # moved to the SELECT around
        (exp.Values, "limit"),
        (exp.Values, "offset"),
        (exp.Select, "hint"),  # its words are in `meta`
    }
)


def meaning(query):
    """Return what a query is translated to; the text of the error if it is wrong."""
    try:
        found = relation_of_tree(query)
    except (SqlError, AttributeError, TypeError, ValueError, LookupError, AssertionError) as error:
        return repr(error)
    return found


def relation_of_tree(query):
    return QueryTranslator(CATALOGUE).relation(query)


CATALOGUE = catalogue()


def test_no_part_that_is_read_is_without_meaning():
    told = set()
    for text in WHOLE:
        whole = parse_query(text)
        assert relation_of(text, CATALOGUE).columns
        before = meaning(whole.copy())
        for number, node in enumerate(list(whole.walk())):
            for name in PARTS.get(type(node), ()):
                if not node.args.get(name) or (type(node), name) in told:
                    continue
                changed = whole.copy()
                same = list(changed.walk())[number]
                same.args.pop(name)
                if meaning(changed) != before:
                    told.add((type(node), name))
    untold = {
        (kind, name)
        for kind, parts in PARTS.items()
        for name in parts
        if not kind.arg_types[name] and (kind, name) not in told
    }
    assert untold <= WITHOUT_MEANING, sorted(
        f"{kind.__name__}.{name}" for kind, name in untold - WITHOUT_MEANING
    )


REFUSED = {
    "SELECT n FROM o FETCH FIRST 3 ROWS WITH TIES": "WITH TIES",
    "SELECT n FROM o ORDER BY n FETCH FIRST 3 PERCENT ROWS ONLY": "FETCH of PERCENT",
    "SELECT n FROM o LIMIT 3 BY n": "LIMIT … BY",
    "SELECT n FROM o LIMIT ALL": "a limit that is no constant number",
    "SELECT n FROM o OFFSET 3": "OFFSET without LIMIT",
    "SELECT n FROM o ORDER BY n": "ORDER BY without LIMIT",
    "SELECT n FROM o ORDER BY k COLLATE de LIMIT 3": "COLLATE",
    "SELECT * EXCEPT (n) FROM o": "EXCEPT or EXCLUDE behind *",
    "SELECT * REPLACE (n + 1 AS n) FROM o": "REPLACE behind *",
    "SELECT n FROM (SELECT n FROM o) TABLESAMPLE (10 PERCENT)": "TABLESAMPLE",
    "SELECT n FROM (SELECT n FROM o) PIVOT (SUM(n) FOR k IN ('a'))": "PIVOT",
    "SELECT n FROM o WITH (NOLOCK)": "WITH (…) behind a table",
    "SELECT n FROM o LIMIT 3 FOR UPDATE": "FOR UPDATE",
    "SELECT n FROM o GROUP BY ALL": "ALL or DISTINCT of GROUP BY",
    "SELECT k FROM o GROUP BY DISTINCT k": "ALL or DISTINCT of GROUP BY",
    "SELECT k FROM o GROUP BY k WITH ROLLUP": "WITH ROLLUP",
    "SELECT n FROM o UNION ALL BY NAME SELECT n FROM p": "BY NAME of UNION",
    "WITH a AS NOT MATERIALIZED (SELECT n FROM o) SELECT n FROM a": "MATERIALIZED of WITH",
    "WITH RECURSIVE r AS (SELECT 1) SELECT * FROM r": "WITH RECURSIVE",
    "SELECT * FROM o MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS TRUE)": "MATCH_RECOGNIZE",
    "SELECT n FROM o QUALIFY ROW_NUMBER() OVER (ORDER BY n) = 1": "QUALIFY",
    "SELECT TOP 3 n FROM o": "TOP",
    "SELECT n FROM o MINUS SELECT n FROM p": "MINUS",
    "SELECT a.n FROM o a JOIN p b JOIN v c ON b.n = c.n ON a.n = b.n": "a join in a join",
    "SELECT n FROM (o JOIN p ON o.n = p.n)": "a join in a join or in parentheses",
    "SELECT ROW(n, k) FROM o": "ROW(…)",
    "SELECT (n, k) FROM o": "a row (a, b) elsewhere",
    "SELECT n IN (SELECT n FROM p) FROM o": "IN with a subquery elsewhere",
    "SELECT EXISTS (SELECT 1 FROM p) FROM o": "EXISTS elsewhere",
    "SELECT CAST(n AS INT FORMAT 'x') FROM o": "FORMAT of CAST",
    "SELECT CAST(k AS TIMESTAMP(1)) FROM o": "CAST to TIMESTAMP(1)",
    "SELECT CAST(k AS BINARY(3)) FROM o": "CAST to",
    "SELECT CEIL(n, 2) FROM o": "a second argument of CEIL",
    "SELECT n FROM o WHERE SUM(n) > 1": "the aggregate SUM here",
    "SELECT SUM(SUM(n)) FROM o": "the aggregate SUM here",
    "SELECT ABS(n) FILTER (WHERE n > 1) FROM o": "FILTER of ABS",
    "SELECT ARRAY_AGG(n ORDER BY k) FROM o": "ORDER BY in the arguments of a function",
    "SELECT LISTAGG(k) WITHIN GROUP (ORDER BY n) FROM o": "WITHIN GROUP",
    "SELECT n FROM o WHERE ROW_NUMBER() OVER (ORDER BY n) = 1": "OVER elsewhere than in SELECT",
    "SELECT ROW_NUMBER() FILTER (WHERE n > 1) OVER (ORDER BY k) FROM q": "FILTER of ROW_NUMBER",
    "SELECT RANK() OVER (ORDER BY n ROWS 1 PRECEDING) FROM q": "a frame of RANK",
    "SELECT ROW_NUMBER() OVER (ORDER BY n ROWS 1 PRECEDING) FROM q": "a frame of ROW_NUMBER",
    "SELECT SUM(n) OVER (ORDER BY n GROUPS 2 PRECEDING) FROM q": "a frame of GROUPS",
    "SELECT SUM(n) OVER (ORDER BY n ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE TIES) FROM q": (
        "EXCLUDE of a frame"
    ),
    "SELECT SUM(n) OVER (w ORDER BY n) FROM q WINDOW w AS (ORDER BY k)": "OVER that changes the window",
    "SELECT /*+ BROADCAST(o) */ n FROM o": "the hint BROADCAST",
    "SELECT /*+ STATE_TTL('o' = '1d') */ n FROM o": "the hint STATE_TTL of 'o'",
    "SELECT n FROM o /*+ FOO('a' = 'b') */": "the hint FOO of a table",
}
"""Queries with the construct that the error names."""

WRONG = {
    "SELECT o.n FROM o CROSS JOIN p ON o.n = p.n": "CROSS JOIN with ON",
    "SELECT o.n FROM o NATURAL JOIN p ON o.n = p.n": "a join with ON AND NATURAL",
    "SELECT o.n FROM o LEFT JOIN p": "Left join without ON",
    "SELECT a.n FROM o a, p a": "FROM has two tables 'a'",
    "WITH a AS (SELECT n FROM o), a AS (SELECT k FROM o) SELECT * FROM a": "WITH has the name 'a' twice",
    "SELECT n FROM o, p": "the column 'n' is in several tables",
    "SELECT ROW_NUMBER(5) OVER (ORDER BY n) FROM q": "ROW_NUMBER got 1 arguments",
    "SELECT LAG(n, 1, 2, 3) OVER (ORDER BY n) FROM q": "LAG got 4 arguments",
    "SELECT FIRST_VALUE(n, 3) OVER (ORDER BY n) FROM q": "FIRST_VALUE got 2 arguments",
    "SELECT DATE '2020-13-01' FROM o": "'2020-13-01' is no DATE",
    "SELECT a FROM o AS t (a, b)": "2 names for 4 columns",
}
"""Queries that would have an answer that nobody has asked for."""


@pytest.mark.parametrize(("text", "says"), [*REFUSED.items(), *WRONG.items()])
def test_what_is_not_computed_is_refused_with_its_place(text, says):
    with pytest.raises(SqlError) as refused:
        relation_of(text, CATALOGUE)
    problem = refused.value.problem
    assert says in problem
    assert PLACE.search(problem)
    assert text in WRONG or "is not supported" in problem


ANSWERS = {
    "SELECT n FROM q WHERE k NOT LIKE 'a%'": [(2,), (3,)],
    "SELECT n FROM q WHERE k NOT LIKE 'b!_%' ESCAPE '!'": [(1,), (3,)],
    "SELECT n FROM q WHERE n BETWEEN SYMMETRIC 2 AND 1": [(1,), (2,)],
    "SELECT n FROM q WHERE n NOT BETWEEN SYMMETRIC 2 AND 1": [(3,)],
    "SELECT CAST(k AS VARCHAR(2)), CAST(k AS CHAR(4)), CAST(n AS CHAR) FROM q WHERE n = 1": [
        ("ab", "ab  ", "1")
    ],
    "SELECT CAST(TIMESTAMP '2020-01-02 03:04:05.678901' AS TIMESTAMP(3)) = "
    "TIMESTAMP '2020-01-02 03:04:05.678', CAST(k AS CHAR(1)) FROM q WHERE n = 1": [(True, "a")],
    "VALUES (1, 2), (3, 4) ORDER BY 1 DESC LIMIT 1": [(3, 4)],
    "SELECT n, SUM(n) OVER (w ORDER BY n) FROM q WINDOW w AS (PARTITION BY g)": [
        (1, 1),
        (2, 2),
        (3, 4),
    ],
    "SELECT n, SUM(n) FILTER (WHERE n > 1) OVER (PARTITION BY g ORDER BY n) FROM q": [
        (1, None),
        (2, 2),
        (3, 3),
    ],
    "SELECT n, a, b FROM q CROSS JOIN UNNEST(ARRAY[n]) WITH ORDINALITY AS u (a, b)": [
        (1, 1, 1),
        (2, 2, 1),
        (3, 3, 1),
    ],
}


@pytest.mark.parametrize("mode", ["BATCH", "STREAMING"])
def test_answers(mode):
    """Each of them was another one: a part of the query was ignored."""
    for text, wanted in ANSWERS.items():
        env = StreamExecutionEnvironment.get_execution_environment(
            Configuration.from_dict({"execution.runtime-mode": mode})
        )
        rows = [Row(1, "ab", 1), Row(2, "b_x", 2), Row(3, "c", 1)]
        kind = Types.ROW_NAMED(["n", "k", "g"], [Types.INT(), Types.STRING(), Types.INT()])
        found = collect(env.sql(text, {"q": env.from_collection(rows, kind)}))
        assert sorted(materialized(found), key=repr) == wanted, text


def test_aggregates_have_one_list_of_names():
    assert {*_RESULTS, *_OTHER_NAMES, *UNORDERED} == AGGREGATES
