"""The mode in which the job of some relations will run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.config.options import RUNTIME_MODE, RuntimeExecutionMode
from penstock.program.operators import SOURCE
from penstock.program.traverse import reachable
from penstock.relation.tree import Relation
from penstock.sql.lowering.lower import Lowering


def runs_as_batch(environment: Any, relations: Sequence[Relation]) -> bool:
    """Return whether the job of some relations emits final rows: the mode is BATCH, or AUTOMATIC and all tables end."""
    asked = environment.get_configuration().get(RUNTIME_MODE)
    if asked is not RuntimeExecutionMode.AUTOMATIC:
        return asked is RuntimeExecutionMode.BATCH
    graph = environment.graph
    with graph.draft():
        lowering = Lowering(environment)
        made = [lowering.stream(each).node_id for each in relations]
        read = map(graph.node, reachable(made, lambda key: graph.node(key).inputs))
        return all(node.source.is_bounded for node in read if node.kind == SOURCE)
