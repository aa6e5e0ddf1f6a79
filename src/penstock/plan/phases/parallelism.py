"""Phase: chooses the number of subtasks of levels, and whether results depend on it."""

from __future__ import annotations

from dataclasses import replace

from penstock.errors import GraphError
from penstock.graph.logical import Node
from penstock.plan.physical import PhysicalPlan
from penstock.program.operators import PARTITION, SINK


def choose_parallelism(plan: PhysicalPlan) -> PhysicalPlan:
    """Give every level the number of subtasks of its most parallel operator.

    Operators with fewer use the first ones. `window_all` does not count: its records have one key,
    so it uses one subtask of any level.

    Raises:
        GraphError: An operator has more subtasks than there are key groups.
    """
    options = plan.options
    asked = [n for n in plan.graph.nodes if n.parallelism is not None and not _has_one_key(n)]
    for node in asked:
        assert node.parallelism is not None
        if node.parallelism > options.max_parallelism:
            raise GraphError(
                f"{node.name!r} has parallelism {node.parallelism}, more than "
                f"pipeline.max-parallelism, {options.max_parallelism}",
                hint="Lower the one or raise the other.",
                origin=node.origin,
            )
    most = max((node.parallelism or 0 for node in asked if node.kind != SINK), default=0)
    return replace(
        plan,
        options=replace(options, parallelism=max(options.default_parallelism, most)),
        exact_subtasks=any(node.kind == PARTITION for node in plan.graph.nodes)
        or bool(most)
        or options.parallelism_is_asked,
    )


def _has_one_key(node: Node) -> bool:
    return node.window is not None and node.window.is_of_all and node.parallelism == 1
