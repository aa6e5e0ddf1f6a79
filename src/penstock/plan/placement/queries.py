"""Phase: gives whole queries of SQL and of columns to Spark SQL, in BATCH mode.

    orders ─ where ─ join ─ group by ─ sink          [query of orders, customers] ─ sink
    customers ────────┘                        =>

SQL and joins of columns note at an operator the relation that it computes (`WholeQuery`). Spark SQL computes it if that is legal, if it reads
only columns of sources, and if no operator behind looks at timestamps, which rows of Spark SQL do not have. Among nested queries the
outermost one that is legal counts. Everywhere else operators compute the same rows; tests force both.

Then `to_dataframe` needs no job, and what Spark may optimize does not end where Penstock begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from penstock.expressions.steps import ExpressionChain
from penstock.graph.logical import LogicalGraph, Node
from penstock.graph.query_source import QuerySource, WholeQuery
from penstock.plan.phases.bounded_region import runs_as_batch
from penstock.plan.physical import Decision, PhysicalPlan
from penstock.plan.placement.legality import is_projection, not_columns, other_rows
from penstock.program.operator_kind import TimeUse
from penstock.program.operators import (
    KEYED_AGGREGATE,
    KEYED_CHANGES,
    KEYED_REGULAR_JOIN,
    KEYED_TOP_N,
    SOURCE,
)
from penstock.program.traverse import reachable
from penstock.types.records import RowTypeInfo

_WHOLE = "Spark SQL computes the whole query"
_OPERATORS = "operators compute the query"
_SAME = "all of it means the same in Spark SQL, and it reads columns"
_Placed = tuple[Node, WholeQuery, ExpressionChain | None]
"""An operator, its query, and the expressions behind it that are evaluated with its own."""
_UNTIMED = frozenset({KEYED_CHANGES, KEYED_REGULAR_JOIN})
"""Kinds of operators that are called in order of time, and whose last rows do not depend on it."""


def place_queries(plan: PhysicalPlan) -> PhysicalPlan:
    """Put a source in the place of each query that Spark SQL computes. An early phase."""
    if not runs_as_batch(plan):
        return plan
    placed: dict[int, _Placed] = {}
    decisions: list[Decision] = []
    inside: set[int] = set()
    for node in reversed(plan.graph.nodes):
        if node.id in inside:
            continue
        refusals: list[Decision] = []
        for candidate in node.queries():
            _, whole, _ = candidate
            wrong = other_rows(whole)
            if wrong is None and is_projection(whole):
                continue
            refused = _refused(plan, node, whole, wrong)
            if refused is None:
                placed[node.id] = candidate
                inside.update(reachable([node.id], lambda key: plan.graph.node(key).inputs))
                decisions.append(Decision(repr(_name(whole)), _WHOLE, _SAME))
                break
            refusals.append(Decision(f"the query of {node.name!r}", _OPERATORS, refused))
        decisions += refusals[:1]  # those of queries in it follow from it
    new = [decision for decision in reversed(decisions) if decision not in plan.decisions]
    plan = replace(plan, decisions=(*plan.decisions, *new))
    return replace(plan, graph=_placed(plan.graph, placed)) if placed else plan


def _placed(graph: LogicalGraph, placed: Mapping[int, _Placed]) -> LogicalGraph:
    """Return a graph with sources of queries, which may have expressions behind them."""
    nodes: dict[int, Node] = {}
    sources: dict[int, int] = {}
    for node in graph.nodes:
        place = 2 * node.id + 1  # a source before it has an even number
        inputs = tuple(2 * key + 1 for key in node.inputs)
        part, whole, behind = placed.get(node.id, (node, None, None))
        if whole is None:
            nodes[place] = replace(node, id=place, inputs=inputs)
            continue
        if behind is None:
            sources[id(whole)] = place
            nodes[place] = _source(part, whole)
            continue
        source = sources.setdefault(id(whole), place - 1)
        nodes.setdefault(source, _source(part, whole))
        name = node.name.removeprefix(f"{part.name}, ")
        rest = replace(node, name=name, function=behind, query=None, continued=None)
        nodes[place] = replace(rest, id=place, inputs=(source,))
    return LogicalGraph.leading_to_sinks(nodes)


def _refused(plan: PhysicalPlan, node: Node, whole: WholeQuery, wrong: str | None) -> str | None:
    """Return why Spark SQL does not compute a query, None if it does."""
    if not plan.options.queries:
        return "execution.batch.queries is false"
    if wrong is not None:
        return wrong
    for reader in _behind(plan.graph, node):
        is_timed = reader.kind.is_operator and reader.kind.time is not TimeUse.IGNORES
        if is_timed and not _is_untimed(reader):
            return f"{reader.name!r} behind it may look at timestamps"
    reasons = (not_columns(read.source, read.type_info, read.name) for read in whole.sources)
    return next(filter(None, reasons), None)


def _is_untimed(node: Node) -> bool:
    if node.kind == KEYED_AGGREGATE:
        return node.function.exact_because is not None
    if node.kind == KEYED_TOP_N:
        return not node.function.spec.identity
    return node.kind in _UNTIMED


def _behind(graph: LogicalGraph, node: Node) -> Iterator[Node]:
    ids = {node.id}
    for other in graph.nodes:
        if not ids.isdisjoint(other.inputs):
            ids.add(other.id)
            yield other


def _name(whole: WholeQuery) -> str:
    return f"query of {', '.join(dict.fromkeys(source.name for source in whole.sources))}"


def _source(node: Node, whole: WholeQuery) -> Node:
    assert isinstance(node.type_info, RowTypeInfo), "rows of SQL have columns"
    return Node(
        id=node.id,
        kind=SOURCE,
        name=_name(whole),
        uid=None,
        inputs=(),
        type_info=node.type_info,
        origin=node.origin,
        source=QuerySource(whole, node.type_info),
    )
