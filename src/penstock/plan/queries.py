"""Phase: gives whole queries of SQL to Spark SQL, in BATCH mode.

    orders ─ where ─ join ─ group by ─ sink          [query of orders, customers] ─ sink
    customers ────────┘                        =>

The package of SQL notes at an operator what Spark SQL may compute in its place (`WholeQuery`). It does if all that is read are
columns of sources, and if no operator behind looks at timestamps, which rows of Spark SQL do not have. Of queries in one another the
outermost one that is legal counts. Everywhere else operators compute the same rows; tests force both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.expressions.queries import is_projection
from penstock.graph.logical import LogicalGraph, Node
from penstock.graph.query_source import QueryRead, QuerySource, WholeQuery
from penstock.plan.phases.bounded_region import runs_as_batch
from penstock.plan.physical import Decision, PhysicalPlan
from penstock.program.operator_kind import TimeUse
from penstock.program.operators import KEYED_CHANGES, KEYED_REGULAR_JOIN, SOURCE
from penstock.program.traverse import reachable
from penstock.types.records import RowTypeInfo

_WHOLE = "Spark SQL computes the whole query"
_OPERATORS = "operators compute the query"
_SAME = "all of it means the same in Spark SQL, and it reads columns"
_UNTIMED = frozenset({KEYED_CHANGES, KEYED_REGULAR_JOIN})
"""Kinds of operators that are called in order of time, and whose last rows do not depend on it."""


def place_queries(plan: PhysicalPlan) -> PhysicalPlan:
    """Put a source in the place of each query that Spark SQL computes. An early phase."""
    if not runs_as_batch(plan):
        return plan
    made: dict[int, Node] = {}
    decisions: list[Decision] = []
    inside: set[int] = set()
    for node in reversed(plan.graph.nodes):
        whole = node.query
        if whole is None or node.id in inside:
            continue
        if whole.query is not None and is_projection(whole.query):
            continue
        refused = _refused(plan, node, whole)
        if refused is None:
            made[node.id] = _source(node, whole)
            inside.update(reachable([node.id], lambda key: plan.graph.node(key).inputs))
        choice, why = (_WHOLE, _SAME) if refused is None else (_OPERATORS, refused)
        subject = f"{_name(whole)!r}" if refused is None else f"the query of {node.name!r}"
        decisions.append(Decision(subject, choice, why))
    new = [each for each in reversed(decisions) if each not in plan.decisions]
    plan = replace(plan, decisions=(*plan.decisions, *new))
    if not made:
        return plan
    nodes = {node.id: made.get(node.id, node) for node in plan.graph.nodes}
    return replace(plan, graph=LogicalGraph.leading_to_sinks(nodes))


def _refused(plan: PhysicalPlan, node: Node, whole: WholeQuery) -> str | None:
    """Return why Spark SQL does not compute a query, None if it does."""
    if not plan.options.queries:
        return "execution.batch.queries is false"
    if whole.query is None:
        return whole.because
    for reader in _behind(plan.graph, node):
        is_timed = reader.kind.is_operator and reader.kind.time is not TimeUse.IGNORES
        if is_timed and reader.kind not in _UNTIMED:
            return f"{reader.name!r} behind it may look at timestamps"
    return next(filter(None, map(_not_columns, whole.reads)), None)


def _behind(graph: LogicalGraph, node: Node) -> Iterator[Node]:
    found = {node.id}
    for each in graph.nodes:
        if not found.isdisjoint(each.inputs):
            found.add(each.id)
            yield each


def _not_columns(read: QueryRead) -> str | None:
    """Return why the records of a source are no columns for Spark SQL, None if they are."""
    part = read.source
    if part.unprojected_because is not None:
        return f"{part.describe()} is read, and {part.unprojected_because}"
    if part.get_produced_type() != read.type_info:
        return f"{part.describe()} has other types than {read.name!r} declares"
    return None if read.chain is None else read.chain.unprojected_because


def _name(whole: WholeQuery) -> str:
    return f"query of {', '.join(dict.fromkeys(each.name for each in whole.reads))}"


def _source(node: Node, whole: WholeQuery) -> Node:
    assert whole.query is not None, "it was asked"
    assert isinstance(node.type_info, RowTypeInfo), "rows of SQL have columns"
    source = QuerySource(
        whole.query,
        tuple(each.source for each in whole.reads),
        tuple(each.chain for each in whole.reads),
        node.type_info,
    )
    return Node(
        id=node.id,
        kind=SOURCE,
        name=_name(whole),
        uid=None,
        inputs=(),
        type_info=node.type_info,
        origin=node.origin,
        source=source,
    )
