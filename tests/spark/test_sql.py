"""A query of SQL on Spark: its final table is that of DuckDB as a batch, and as history and then live."""

from __future__ import annotations

import random

import pytest

from penstock.common import WatermarkStrategy
from penstock.datastream.connectors import CollectionSource, HybridSource
from penstock.graph.endpoints import Source
from penstock.relation.tree import Changelog
from penstock.sql.streams import StreamTable
from tests.sql.generated import TABLES, changing_table, duckdb_answer, for_penstock, materialized

QUERY = """
SELECT u.k AS k, COUNT(*) AS n, SUM(t.b) AS b, MIN(t.x) AS least, COUNT(DISTINCT u.c) AS c, MAX(UPPER(u.s)) AS s
FROM t AS t LEFT JOIN u AS u ON t.k = u.k AND (t.a > 0 OR u.c IS NULL)
WHERE t.b NOT IN (SELECT b FROM v AS v WHERE g = 7 AND b IS NOT NULL) GROUP BY u.k HAVING COUNT(*) > 1
"""


@pytest.mark.parametrize("mode", ["batch", "mixed"])  # a mixed job is live, too
def test_the_final_table_is_that_of_duckdb(mode, environment):
    rng = random.Random(2)  # noqa: S311 - examples, not secrets
    tables = [changing_table(rng, name, is_changing=True) for name in TABLES]
    env = environment(mode)
    given = {}
    for table in tables:
        changes, kind = list(table.changes), table.type_info
        source: Source = CollectionSource.of(changes, kind)
        if mode == "mixed":
            half = len(changes) // 2
            past, live = (CollectionSource.of(p, kind) for p in (changes[:half], changes[half:]))
            source = HybridSource.builder(past).add_source(live).build()
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), table.name)
        given[table.name] = StreamTable(stream, Changelog.RETRACT)
    with env.sql(for_penstock(QUERY), given).execute_and_collect() as rows:
        found = materialized(rows)
    wanted = duckdb_answer(QUERY, tables)
    assert len(wanted) > 2
    assert sorted(found, key=repr) == sorted(wanted, key=repr)
