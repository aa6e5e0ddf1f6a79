"""Tables of constructs in docs/sql.md; `python -m tools.support.sql_support` writes them.

Each construct is a query that is translated here. The page has the result: its changelog mode and its state, or the error. So the page
promises only what exists.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from penstock.api.environment.environment import StreamExecutionEnvironment
from penstock.errors import SqlError
from penstock.sql.functions.accumulators import ACCUMULATORS
from penstock.sql.functions.over import POSITIONAL
from penstock.sql.grammar import parse_query
from penstock.sql.insertions import SqlJob
from penstock.sql.query_binding.aggregates import _OTHER_NAMES, _RESULTS
from penstock.sql.query_binding.explain import with_state
from penstock.sql.scalar_binding.calls import UNPREDICTABLE

PAGE = Path(__file__).parents[2] / "docs" / "sql.md"
_BLOCK = re.compile(r"(<!-- support -->\n).*?(<!-- /support -->)", re.DOTALL)

_MISSING = "**no**"

_TABLES = """
CREATE TABLE a (id INT, k STRING, n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen');
CREATE TABLE b (id INT, k STRING, n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen');
CREATE TABLE c (n INT, k STRING, tags ARRAY<STRING>, made ROW<x INT, y STRING>) WITH ('connector' = 'datagen');
CREATE TABLE v (k STRING, rate INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, PRIMARY KEY (k) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'x:1', 'key.format' = 'json', 'value.format' = 'json');
"""

_WINDOWED = "SELECT window_end, SUM(n) FROM TABLE({}) GROUP BY window_start, window_end"
_NEAR = "b.ts BETWEEN a.ts AND a.ts + INTERVAL '5' SECOND"
_NUMBERED = "SELECT * FROM (SELECT id, k, n, ROW_NUMBER() OVER (PARTITION BY k ORDER BY n) AS r FROM a) WHERE {}"

CONSTRUCTS: Mapping[str, str] = {
    "SELECT, WHERE": "SELECT id, CASE WHEN n > 1 THEN k END FROM a WHERE n BETWEEN 1 AND 7",
    "VALUES": "VALUES (1, 'a'), (2, 'b')",
    "WITH, subqueries in FROM": "WITH w AS (SELECT n FROM a) SELECT n FROM (SELECT n FROM w) AS d",
    "DISTINCT": "SELECT DISTINCT k FROM a",
    "GROUP BY, HAVING": "SELECT k, SUM(n) FROM a GROUP BY k HAVING COUNT(*) > 1",
    "aggregates with DISTINCT, FILTER": "SELECT COUNT(DISTINCT n) FILTER (WHERE n > 1) FROM a",
    "GROUPING SETS, ROLLUP, CUBE": "SELECT GROUPING(k), SUM(n) FROM a GROUP BY ROLLUP (k), CUBE (n)",
    "UNION ALL": "SELECT n FROM a UNION ALL SELECT n FROM b",
    "UNION": "SELECT n FROM a UNION SELECT n FROM b",
    "INTERSECT, EXCEPT": "SELECT n FROM a INTERSECT SELECT n FROM b EXCEPT SELECT 1",
    "INTERSECT ALL, EXCEPT ALL": "SELECT n FROM a INTERSECT ALL SELECT n FROM b EXCEPT ALL SELECT 1",
    "ORDER BY … LIMIT … OFFSET": "SELECT n FROM a ORDER BY n DESC LIMIT 3 OFFSET 1",
    "INNER JOIN, CROSS JOIN": "SELECT a.n FROM a JOIN b ON a.id = b.id AND a.n < b.n",
    "LEFT, RIGHT, FULL JOIN": "SELECT a.n FROM a FULL JOIN b ON a.id = b.id",
    "USING, NATURAL": "SELECT n FROM (SELECT id, n FROM a) AS l NATURAL JOIN (SELECT id FROM b) AS r",
    "IN, EXISTS": "SELECT n FROM a WHERE EXISTS (SELECT 1 FROM b WHERE a.id = b.id)",
    "NOT IN, NOT EXISTS": "SELECT n FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE a.id = b.id)",
    "a subquery as a value": "SELECT n > (SELECT MAX(n) FROM b) FROM a",
    "a subquery as a value, correlated by equalities": "SELECT (SELECT MAX(n) FROM b WHERE a.id = b.id) FROM a",
    "interval joins": f"SELECT a.n FROM a LEFT JOIN b ON a.id = b.id AND {_NEAR}",  # noqa: S608
    "windows of an interval join": (
        f"WITH j AS (SELECT a.n AS n, b.ts AS ts FROM a JOIN b ON a.id = b.id AND {_NEAR})"  # noqa: S608
        + _WINDOWED.format("TUMBLE(TABLE j, DESCRIPTOR(ts), INTERVAL '5' SECOND)")
    ),
    "FOR SYSTEM_TIME AS OF": "SELECT n, rate FROM a JOIN v FOR SYSTEM_TIME AS OF a.ts ON a.k = v.k",
    "TUMBLE": _WINDOWED.format("TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '5' SECOND)"),
    "HOP": _WINDOWED.format(
        "HOP(TABLE a, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)"
    ),
    "CUMULATE": _WINDOWED.format(
        "CUMULATE(TABLE a, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)"
    ),
    "SESSION": (
        "SELECT k, window_end, SUM(n) FROM TABLE(SESSION(TABLE a PARTITION BY k, DESCRIPTOR(ts), INTERVAL '5' SECOND))"
        " GROUP BY k, window_start, window_end"
    ),
    "first rows: ROW_NUMBER with a bound": _NUMBERED.format("r <= 3"),
    "first rows of windows": (
        "SELECT * FROM (SELECT n, window_end, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY n) AS r"
        " FROM TABLE(TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '5' SECOND))) WHERE r <= 3"
    ),
    "deduplication": _NUMBERED.format("r = 1"),
    "deduplication that keeps the first row": (
        "SELECT n FROM (SELECT n, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) AS r FROM a) WHERE r = 1"
    ),
    "OVER, WINDOW": "SELECT SUM(n) OVER w FROM a WINDOW w AS (PARTITION BY k ORDER BY n)",
    "OVER by event time": "SELECT SUM(n) OVER (PARTITION BY k ORDER BY ts) FROM a",
    "OVER by event time, of the last rows": (
        "SELECT SUM(n) OVER (ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW), LAG(n) OVER (ORDER BY ts) FROM a"
    ),
    "OVER by event time, of the last seconds": (
        "SELECT SUM(n) OVER (ORDER BY ts RANGE BETWEEN INTERVAL '9' SECOND PRECEDING AND CURRENT ROW) FROM a"
    ),
    "UNNEST": "SELECT tag FROM c CROSS JOIN UNNEST(tags) AS t (tag)",
    "elements, fields, ARRAY[…], MAP[…]": "SELECT tags[1], made.x, ARRAY[n], MAP[k, n]['x'] FROM c",
    "STATE_TTL": "SELECT /*+ STATE_TTL('a' = '1 d') */ COUNT(*) FROM a",
    "ROW(…)": "SELECT ROW(n, k) FROM a",
    "ORDER BY without LIMIT": "SELECT n FROM a ORDER BY n",
    "WITH RECURSIVE": "WITH RECURSIVE w AS (SELECT 1 AS n) SELECT n FROM w",
    "MATCH_RECOGNIZE": (
        "SELECT * FROM a MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES x.n AS n PATTERN (x) DEFINE x AS x.n > 1)"
    ),
    "PIVOT": "SELECT * FROM a PIVOT (SUM(n) FOR k IN ('x', 'y'))",
    "TABLESAMPLE": "SELECT n FROM a TABLESAMPLE (10 PERCENT)",
    "FIRST_VALUE, LAST_VALUE of a group": "SELECT FIRST_VALUE(n) FROM a",
    "frames that end after the current row": (
        "SELECT SUM(n) OVER (ORDER BY ts ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM a"
    ),
    "a correlated subquery with other conditions as a value": "SELECT (SELECT MAX(n) FROM b WHERE b.n < a.n) FROM a",
    "IN with a subquery in SELECT": "SELECT n IN (SELECT n FROM b) FROM a",
    "IN with a correlated subquery that aggregates": (
        "SELECT n FROM a WHERE n IN (SELECT COUNT(*) FROM b WHERE b.n = a.n)"
    ),
    "SESSION of rows that change": (
        "SELECT * FROM TABLE(SESSION(TABLE v, DESCRIPTOR(ts), INTERVAL '5' SECOND))"
    ),
    "PROCTIME() and the like": "SELECT PROCTIME() FROM a",
}
"""Name on the page to a query that uses it."""


def support_of(query: str) -> str:
    """Return the changelog mode of a query and its state, or the error, as two cells."""
    environment = StreamExecutionEnvironment.get_execution_environment()
    session = environment.sql_session
    session.execute(_TABLES)
    try:
        relation = SqlJob(environment, session).relation(parse_query(query))
    except SqlError as error:
        return f"{_MISSING} | {_first_line(error.problem)}"
    kept = dict.fromkeys(str(each.state) for each in with_state(relation))
    return f"{relation.changelog.value} | {'; '.join(kept) or 'nothing'}"


def _first_line(problem: str) -> str:
    return problem.split(": ", 1)[0].replace("|", "\\|")


def render_tables() -> str:
    """Return the tables as markdown."""
    names_by_support: dict[str, list[str]] = {}
    for name, query in CONSTRUCTS.items():
        names_by_support.setdefault(support_of(query), []).append(name)
    missing = [
        name
        for support, names in names_by_support.items()
        if support.startswith(_MISSING)
        for name in names
    ]
    rows = [
        f"| {'; '.join(names)} | {support} |"
        for support, names in names_by_support.items()
        if not support.startswith(_MISSING)
    ]
    names_by_kind = {
        "Aggregates": sorted({*_RESULTS, *_OTHER_NAMES}),
        "Functions of OVER": sorted({*POSITIONAL, *ACCUMULATORS, "MIN", "MAX"}),
        "Refused, because they depend on the time of computation": sorted(UNPREDICTABLE),
    }
    return "\n".join(
        [
            "| Construct | Changelog mode | State |",
            "|---|---|---|",
            *rows,
            "",
            f"These constructs are not supported: {'; '.join(missing)}.",
            "",
            *(f"* {kind}: {_listed(found)}" for kind, found in names_by_kind.items()),
            "",
        ]
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def with_tables(page: str) -> str:
    """Return the page with the tables as they are now."""
    found, count = _BLOCK.subn(lambda block: block[1] + render_tables() + block[2], page)
    assert count == 1, "the page has one place for the tables"
    return found


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
