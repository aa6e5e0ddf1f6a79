"""Queries of a program: from a text and tables to a stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.api.streams.data_stream import DataStream
from penstock.errors import ArgumentError
from penstock.relation.tree import Relation
from penstock.sql.catalogue import SqlCatalogue
from penstock.sql.grammar import parse_query
from penstock.sql.lowering.lower import Lowering, runs_as_batch
from penstock.sql.query_binding.select import QueryTranslator, final_rows
from penstock.sql.scalar_binding.zone import in_zone_of
from penstock.sql.streams import StreamCatalogue, StreamTable
from penstock.types.row import Row


def query_streams(environment: Any, text: str, tables: Mapping[str, Any]) -> DataStream[Row]:
    """Return the rows of a query over streams; see `StreamExecutionEnvironment.sql`."""
    stream_tables = {}
    for name, table in tables.items():
        if not isinstance(table, DataStream | StreamTable):
            raise ArgumentError.here(
                f"sql got the table {name!r}, which is {type(table).__name__}",
                hint="Pass streams of declared rows or tuples.",
            )
        stream_tables[name] = table if isinstance(table, StreamTable) else StreamTable(table)
    with in_zone_of(environment):
        relation = relation_of(text, StreamCatalogue(stream_tables, {}, environment.sql_session))
        is_batch = runs_as_batch(environment, [relation])
        return Lowering(environment).stream(final_rows(relation) if is_batch else relation)


def relation_of(text: str, catalogue: SqlCatalogue) -> Relation:
    """Return the relation of a query."""
    return QueryTranslator(catalogue).relation(parse_query(text))
