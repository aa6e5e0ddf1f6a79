"""Reads the rows of queries: Spark SQL computes them of the columns of their sources."""

from __future__ import annotations

from pyspark.sql import DataFrame

from penstock.errors import CallSite
from penstock.expressions.queries import Query
from penstock.expressions.steps import ExpressionChain
from penstock.graph.query_source import QuerySource
from penstock.spark.expressions.projection import check_session, projected
from penstock.spark.expressions.queries import computed
from penstock.spark.sources.read_context import ReadContext
from penstock.spark.sources.table import row_of


def query_rows(context: ReadContext, source: int) -> DataFrame:
    """Return the rows of a query that is a source of a batch run.

    Raises:
        ConfigError: The session does not raise errors of arithmetic.
    """
    node = context.plan.graph.node(source)
    query = node.source
    assert isinstance(query, QuerySource), "the plan says so"
    frames = []
    for part, described in enumerate(context.plan.source(source).parts):
        rows = row_of(described).batch
        assert rows is not None, "the plan has seen that it is columns"
        frames.append(rows(context, source, part, described))
    return rows_of_query(query.query, frames, query.chains, node.origin).toDF(
        *query.row_type.get_field_names()  # type: ignore[attr-defined]
    )


def rows_of_query(
    query: Query,
    frames: list[DataFrame],
    chains: tuple[ExpressionChain | None, ...],
    origin: CallSite | None,
) -> DataFrame:
    """Return the rows of a query of DataFrames, of which chains select columns first.

    Raises:
        ConfigError: The session does not raise errors of arithmetic.
    """
    check_session(frames[0].sparkSession, origin)
    pairs = zip(frames, chains, strict=True)
    read = [rows if chain is None else projected(rows, chain, origin) for rows, chain in pairs]
    return computed(query, read)
