"""The logical graph as JSON, in the shape of Flink's `getExecutionPlan`."""

from __future__ import annotations

import json
from typing import Any

from penstock.graph.logical import LogicalGraph, Node
from penstock.plan.phases.edges import Edge, physical_inputs
from penstock.plan.physical import PhysicalPlan
from penstock.program.operators import PASSING, SINK, SOURCE

_PACT = {SOURCE: "Data Source", SINK: "Data Sink"}
_LABEL = {SOURCE: "Source: ", SINK: "Sink: "}


def execution_plan_json(plan: PhysicalPlan) -> str:
    """Return the plan of a job as `graph_json` does."""
    return graph_json(plan.graph, plan.options.default_parallelism)


def graph_json(graph: LogicalGraph, default_parallelism: int) -> str:
    """Return `{"nodes": [{id, type, pact, contents, parallelism, predecessors}]}`.

    Ids begin at 1. Empty sinks, which only end a stream, are left out. A predecessor is
    `{id, ship_strategy, side}`: HASH where a key decides, the strategy that the program sets, else FORWARD, or
    REBALANCE where the number of subtasks changes.
    """
    nodes = [
        _described(graph, node, default_parallelism)
        for node in graph.nodes
        if node.kind not in PASSING and (node.kind != SINK or node.sink is not None)
    ]
    return json.dumps({"nodes": nodes}, indent=2)


def _described(graph: LogicalGraph, node: Node, default_parallelism: int) -> dict[str, Any]:
    label = _LABEL.get(node.kind, "") + node.name
    parallelism = _parallelism(node, default_parallelism)
    described: dict[str, Any] = {
        "id": node.id + 1,
        "type": label,
        "pact": _PACT.get(node.kind, "Operator"),
        "contents": node.description or label,
        "parallelism": parallelism,
    }
    predecessors = [
        {
            "id": edge.producer.id + 1,
            "ship_strategy": _strategy(edge, parallelism, default_parallelism),
            # Flink calls the side of a single input the second, too.
            "side": "first" if len(node.inputs) > 1 and edge.target_input == 0 else "second",
        }
        for edge in physical_inputs(graph, node)
    ]
    if predecessors:
        described["predecessors"] = predecessors
    return described


def _strategy(edge: Edge, parallelism: int, default_parallelism: int) -> str:
    if edge.key_selector is not None:
        return "HASH"
    if edge.partitioning is not None:
        return edge.partitioning.partitioner.name
    same = _parallelism(edge.producer, default_parallelism) == parallelism
    return "FORWARD" if same else "REBALANCE"


def _parallelism(node: Node, default_parallelism: int) -> int:
    if node.source is not None and node.source.kind == "collection":
        return 1
    return node.parallelism or default_parallelism
