"""The queries of Nexmark: the final table is that of DuckDB over the same events, in every mode."""

from __future__ import annotations

import pyarrow as pa
import pytest

from benchmarks.nexmark.events import nexmark_events
from benchmarks.nexmark.queries import QUERIES, NexmarkQuery
from penstock.common import Configuration, Duration, Row, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import CollectionSource
from penstock.expressions.python.times import millis_of
from penstock.sql.streams import StreamTable
from penstock.testing import Schedule, collect
from penstock.testing.law.sql_script import duckdb_rows
from tests.sql.generated import comparable, materialized

EVENTS = nexmark_events(750)
MODES = {
    "batch": ("BATCH", Schedule()),
    "streaming": ("STREAMING", Schedule(batch_sizes=(40, 7))),
    "restart": ("STREAMING", Schedule(batch_sizes=(100,), restart_every=3)),
}
KINDS = {
    pa.int64(): Types.LONG(),
    pa.string(): Types.STRING(),
    pa.timestamp("us"): Types.SQL_TIMESTAMP(),
}


def table(env: StreamExecutionEnvironment, name: str, rows: pa.Table) -> StreamTable:
    """Return rows as a table with event time, if they have it."""
    row_type = Types.ROW_NAMED(rows.column_names, [KINDS[field.type] for field in rows.schema])
    source = CollectionSource.of([Row(**row) for row in rows.to_pylist()], row_type)
    if "dateTime" not in rows.column_names:
        return StreamTable(env.from_source(source, WatermarkStrategy.no_watermarks(), name))
    in_order = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(4))
    strategy = in_order.with_timestamp_assigner(lambda row, _: millis_of(row.dateTime))
    return StreamTable(env.from_source(source, strategy, name), time="dateTime")


def answer(query: NexmarkQuery, mode: str) -> list[tuple[object, ...]]:
    runtime, schedule = MODES[mode]
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"execution.runtime-mode": runtime, "parallelism.default": 2})
    )
    tables = {
        name: table(env, name, rows)
        for name, rows in EVENTS.tables().items()
        if name in query.tables
    }
    return sorted(materialized(collect(env.sql(query.text, tables), schedule)), key=repr)


def wanted(query: NexmarkQuery) -> list[tuple[object, ...]]:
    found = duckdb_rows(query.duckdb_text, EVENTS.tables())
    return sorted((tuple(map(comparable, row)) for row in found), key=repr)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", QUERIES)
def test_a_query_has_the_answer_of_duckdb(name: str, mode: str) -> None:
    query = QUERIES[name]
    expected = wanted(query)
    assert expected
    assert answer(query, mode) == expected
