"""The logical graph as JSON, in the shape of Flink's `getExecutionPlan`."""

from __future__ import annotations

import json
from typing import Any

from penstock.graph.logical import Node, NodeKind
from penstock.plan.physical import PhysicalPlan

_VIRTUAL = {NodeKind.UNION, NodeKind.KEY_BY}
_PACT = {NodeKind.SOURCE: "Data Source", NodeKind.SINK: "Data Sink"}


def execution_plan_json(plan: PhysicalPlan) -> str:
    """Return `{"nodes": [{id, type, pact, contents, parallelism, predecessors}]}`."""
    nodes = [_node(plan, node) for node in plan.graph.nodes if node.kind not in _VIRTUAL]
    return json.dumps({"nodes": nodes}, indent=2)


def _node(plan: PhysicalPlan, node: Node) -> dict[str, Any]:
    label = f"Source: {node.name}" if node.kind is NodeKind.SOURCE else node.name
    described: dict[str, Any] = {
        "id": node.id,
        "type": label,
        "pact": _PACT.get(node.kind, "Operator"),
        "contents": label,
        "parallelism": plan.options.parallelism,
    }
    predecessors = [
        {"id": producer, "ship_strategy": "HASH" if keyed else "FORWARD", "side": "second"}
        for source in node.inputs
        for producer, keyed in _producers(plan, source, keyed=False)
    ]
    if predecessors:
        described["predecessors"] = predecessors
    return described


def _producers(plan: PhysicalPlan, node_id: int, *, keyed: bool) -> list[tuple[int, bool]]:
    node = plan.graph.node(node_id)
    if node.kind not in _VIRTUAL:
        return [(node_id, keyed)]
    keyed = keyed or node.kind is NodeKind.KEY_BY
    return [found for source in node.inputs for found in _producers(plan, source, keyed=keyed)]
