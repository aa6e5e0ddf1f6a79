"""Phase: refuses `forward` between operators with different numbers of subtasks."""

from __future__ import annotations

from penstock.errors import GraphError
from penstock.graph.logical import Node
from penstock.plan.phases.edges import physical_inputs
from penstock.plan.physical import PhysicalPlan
from penstock.program.channel import StreamPartitioner


def check_forwarding(plan: PhysicalPlan) -> PhysicalPlan:
    """Return the plan unchanged.

    Raises:
        GraphError: A stream is forwarded to an operator of another parallelism.
    """
    for node in plan.graph.nodes:
        for edge in physical_inputs(plan.graph, node):
            asked = edge.partitioning
            if asked is None or asked.partitioner is not StreamPartitioner.FORWARD:
                continue
            n_senders, n_receivers = (_subtasks(plan, end) for end in (edge.producer, node))
            if n_senders != n_receivers:
                raise GraphError(
                    f"forward() does not change the parallelism, but {edge.producer.name!r} has "
                    f"{n_senders} and {node.name!r} has {n_receivers}",
                    hint="Use rebalance() or rescale(), or set one parallelism for both.",
                    origin=node.origin,
                )
    return plan


def _subtasks(plan: PhysicalPlan, node: Node) -> int:
    if node.source is not None and node.source.kind == "collection":
        return 1
    return node.parallelism or plan.options.default_parallelism
