"""Collects the nodes of a program as its methods are called."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.errors import GraphError
from penstock.graph.logical import LogicalGraph, Node, NodeKind


class GraphBuilder:
    """The nodes of one environment. Streams are handles into it."""

    def __init__(self) -> None:
        self._nodes: dict[int, Node] = {}
        self._next = 0

    def add(self, kind: NodeKind, name: str, inputs: tuple[int, ...], **fields: Any) -> int:
        """Add a node and return its id."""
        node_id = self._next
        self._next += 1
        self._nodes[node_id] = Node(
            id=node_id, kind=kind, name=name, uid=None, inputs=inputs, **fields
        )
        return node_id

    def change(self, node_id: int, **fields: Any) -> None:
        """Replace fields of a node.

        Raises:
            GraphError: The node belongs to a job that was executed already.
        """
        self._nodes[node_id] = replace(self.node(node_id), **fields)

    def node(self, node_id: int) -> Node:
        """Return a node.

        Raises:
            GraphError: The node belongs to a job that was executed already.
        """
        found = self._nodes.get(node_id)
        if found is None:
            raise GraphError(
                "this stream belongs to a job that was executed already",
                hint="execute() forgets the streams it ran; build them again.",
            )
        return found

    def logical_graph(self) -> LogicalGraph:
        """Return everything that leads to a sink."""
        return LogicalGraph.leading_to_sinks(self._nodes)

    def clear(self) -> None:
        """Forget all nodes; ids are not used again."""
        self._nodes.clear()
