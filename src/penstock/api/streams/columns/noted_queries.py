"""The query that an operator computes, noted for the planner: relations, and how their scans read streams of the program.

    orders ── select ── join ── …        Join over Scan a, Scan b: a has the columns of orders behind `select`,
    prices ── timestamps ─┘              b those of prices, whose time is never NULL

SQL and joins of columns note queries in the same way, so one may read the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from penstock.config.options import STATE_TTL
from penstock.expressions.typing import RecordType, record_type
from penstock.graph.logical import Node
from penstock.graph.query_source import QueryRead, ScanRead, WholeQuery
from penstock.program.operators import EXPRESSIONS, UNION
from penstock.program.timestamps import ColumnTimestamps
from penstock.relation.tree import Relation, Scan, SqlColumn, relations_of, union
from penstock.types.sql_types import of_type_info


def note_query(stream: Any, relation: Relation, stream_of: Callable[[Scan], Any]) -> None:
    """Note the relation that a stream has; the planner decides whether Spark SQL computes it in the place of operators."""
    environment = stream.get_execution_environment()
    graph = environment.graph
    reads = tuple(
        read_of(graph.node, graph.node(stream_of(scan).node_id), scan)
        for scan in relations_of(relation)
        if isinstance(scan, Scan)
    )
    forgets = bool(environment.get_configuration().get(STATE_TTL))
    graph.change(stream.node_id, query=WholeQuery(relation, reads, forgets))


def table_columns(records: RecordType, time: str | None = None) -> tuple[SqlColumn, ...]:
    """Return the columns of records, of which one may be their event time."""
    return tuple(
        SqlColumn(name, of_type_info(kind), is_time=name == time)
        for name, kind in zip(records.field_names, records.field_types, strict=True)
    )


def scan_of(node: Node, stream: Any = None) -> Scan:
    """Return the scan of the records of an operator."""
    columns = table_columns(record_type(node.type_info, node.name))
    return Scan(name=node.name, table=stream, columns=columns)


def read_of(node_of: Callable[[int], Node], node: Node, scan: Scan) -> ScanRead:
    """Return the records of an operator as columns, if they are."""
    for _, whole, chain in node.queries():
        return ScanRead(scan, whole, chain)
    if node.source is not None:
        return ScanRead(scan, QueryRead(node.name, node.source, node.type_info))
    more: dict[str, Any] = {}
    if node.kind == EXPRESSIONS:
        more["chain"] = node.function
    assigner = node.watermarking and node.watermarking.assigner
    if isinstance(assigner, ColumnTimestamps):
        more["required"] = [column.name for column in scan.columns].index(assigner.name)
    before = [node_of(node_id) for node_id in node.inputs]
    are_united = node.kind == UNION and all(source.kind != UNION for source in before)
    if not more and not are_united:
        return ScanRead(scan, f"table {scan.name!r} is made by {node.name!r}")
    scans = tuple(replace(scan_of(source), name=scan.name) for source in before)
    reads = tuple(read_of(node_of, *pair) for pair in zip(before, scans, strict=True))
    if are_united:
        return ScanRead(scan, WholeQuery(union(scans), reads))
    (inner,) = reads
    if inner.required is not None or (inner.chain is not None and "chain" in more):
        inner = ScanRead(scan, WholeQuery(scans[0], reads))
    return replace(inner, scan=scan, **more)
