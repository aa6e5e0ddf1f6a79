"""Random queries on Spark, with each place forced that the planner may choose: one answer, which DuckDB gives.

The tables are Parquet files. In the ways with history they are cut in two: the first half is a batch run, the second one is live.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DiscardingSink, FileSource, HybridSource
from penstock.graph.endpoints import Source
from penstock.plan.physical import PhysicalPlan
from penstock.relation.groups import GroupBy
from penstock.relation.joins import Join
from penstock.relation.ordered import Rank
from penstock.relation.tree import Scan
from penstock.sql.streams import StreamTable
from penstock.types.arrow import arrow_schema
from tests.sql.generated import (
    TABLES,
    ChangingTable,
    QueryMaker,
    changing_table,
    duckdb_answer,
    for_penstock,
    materialized,
)

BATCH = {"execution.runtime-mode": "BATCH"}
HISTORY = {"execution.checkpointing.interval-during-backlog": "0"}
LIVE = {"execution.runtime-mode": "STREAMING"}
NO_QUERIES = {"execution.batch.queries": "false"}
NO_EXPRESSIONS = {"execution.batch.expressions": "false"}
WAYS = {
    "batch, Catalyst": BATCH,
    "batch, projections": BATCH | NO_QUERIES,
    "batch, workers": BATCH | NO_QUERIES | NO_EXPRESSIONS,
    "history, Catalyst": HISTORY,
    "history, workers": HISTORY | NO_EXPRESSIONS,
    "live, workers": LIVE,
}
"""Name to settings: who computes what is legal there."""

SEEDS = (1, 9, 11, 12, 13, 22, 30, 41)
"""Seeds of queries with rows: groups, joins, unions, first rows, subqueries of a row."""


def written(table: ChangingTable, directory: Path) -> tuple[Path, Path, Path]:
    """Write the rows of a table as a whole and as two halves; return the directories."""
    rows = [tuple(row) for row in table.changes]
    half = len(rows) // 2
    made = []
    for name, part in (("all", rows), ("past", rows[:half]), ("new", rows[half:])):
        path = directory / f"{table.name}-{name}"
        path.mkdir()
        schema = arrow_schema(table.type_info)
        values = [[row[at] for row in part] for at in range(len(schema))]
        pq.write_table(
            pa.table([*map(pa.array, values, schema.types)], schema=schema), path / "rows.parquet"
        )
        made.append(path)
    return made[0], made[1], made[2]


def source_of(table: ChangingTable, paths: tuple[Path, Path, Path], *, is_cut: bool) -> Source:
    """Return the source of a table, whose history ends in the middle if it is cut."""
    every, past, new = (FileSource.parquet(str(path), table.type_info) for path in paths)
    return HybridSource.builder(past).add_source(new).build() if is_cut else every


def in_catalyst(plan: PhysicalPlan) -> int:
    """Return how many parts of a plan Spark SQL computes."""
    return len(plan.projections) + sum(source.is_query for source in plan.sources)


@pytest.mark.usefixtures("session")
def test_one_answer_wherever_a_query_is_computed(tmp_path: Path) -> None:
    kinds: Counter[type] = Counter()
    placed: Counter[str] = Counter()
    for seed in SEEDS:
        rng = random.Random(seed)  # noqa: S311 - examples, not secrets
        tables = [changing_table(rng, name, is_changing=False) for name in TABLES]
        query = QueryMaker(rng).query()
        wanted = Counter(duckdb_answer(query, tables))
        assert wanted
        (root := tmp_path / str(seed)).mkdir()
        paths = {each.name: written(each, root) for each in tables}
        for number, (way, settings) in enumerate(WAYS.items()):
            directory = {"execution.checkpointing.dir": str(root / f"job-{number}")}
            conf = Configuration.from_dict({"parallelism.default": "2"} | settings | directory)
            env = StreamExecutionEnvironment.get_execution_environment(conf)
            given = {}
            for each in tables:
                source = source_of(
                    each, paths[each.name], is_cut=settings.items() >= HISTORY.items()
                )
                rows = env.from_source(source, WatermarkStrategy.no_watermarks(), each.name)
                given[each.name] = StreamTable(rows)
            made = env.sql(for_penstock(query), given)
            sink = made.sink_to(DiscardingSink()).node_id
            placed[way] += in_catalyst(env.plan())
            env.graph.remove(sink)
            if not number:
                notes = filter(None, (node.query for node in env.graph.nodes()))
                kinds.update({type(part) for whole in notes for part, _ in whole.relations()})
            with made.execute_and_collect() as found:
                assert Counter(materialized(found)) == wanted, (seed, way, query)
    assert min(placed[way] for way in WAYS if "workers" not in way) > 0, placed
    assert max(placed[way] for way in WAYS if "workers" in way) == 0, placed
    assert min(kinds[each] for each in (Scan, Join, GroupBy, Rank)) > 0, kinds
