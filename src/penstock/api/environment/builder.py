"""The graph of a program, to which the methods of its streams add nodes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from penstock.errors import GraphError
from penstock.graph.endpoints import Source
from penstock.graph.logical import LogicalGraph, Node
from penstock.program.operator_kind import OperatorKind
from penstock.program.operators import SINK, SOURCE
from penstock.program.traverse import reachable


class ProgramKey:
    """Stands for the nodes of a program, or of a draft of it."""


class GraphBuilder:
    """The nodes of one environment. Streams are handles to them.

    Attributes:
        program: Key of what remembers streams; while there is a draft it is another one.
    """

    def __init__(self) -> None:
        self.program = ProgramKey()
        self._nodes: dict[int, Node] = {}
        self._next = 0

    def add(self, kind: OperatorKind, name: str, inputs: tuple[int, ...], **fields: Any) -> int:
        """Add a node and return its id."""
        node_id = self._next
        self._next += 1
        self._nodes[node_id] = Node(
            id=node_id, kind=kind, name=name, uid=None, inputs=inputs, **fields
        )
        return node_id

    def change(self, node_id: int, **fields: Any) -> None:
        """Replace fields of a node."""
        self._nodes[node_id] = replace(self.node(node_id), **fields)

    def node(self, node_id: int) -> Node:
        """Return a node."""
        node = self._nodes.get(node_id)
        if node is None:
            raise GraphError(
                "this sink belongs to a job that was executed already",
                hint="execute() forgets the sinks it ran; call sink_to again.",
            )
        return node

    def nodes(self) -> tuple[Node, ...]:
        """Return all nodes, in order of id."""
        return tuple(self._nodes.values())

    def logical_graph(self, sink: int | None = None) -> LogicalGraph:
        """Return everything that leads to a sink.

        Args:
            sink: Id of the only sink that counts; None is all.
        """
        nodes = self._nodes
        if sink is not None:
            others = {key for key, node in nodes.items() if node.kind == SINK} - {sink}
            nodes = {key: node for key, node in nodes.items() if key not in others}
        return LogicalGraph.leading_to_sinks(nodes)

    def has_sink(self) -> bool:
        """Return whether some stream ends in a sink."""
        return any(node.kind == SINK for node in self._nodes.values())

    def whole_graph(self) -> LogicalGraph:
        """Return the graph of all nodes, with a sink after each stream without readers."""
        read = {key for node in self._nodes.values() for key in node.inputs}
        ends = [key for key in self._nodes if key not in read]
        sinks = [
            Node(
                id=self._next + i,
                kind=SINK,
                name="nothing",
                uid=None,
                inputs=(key,),
                type_info=self._nodes[key].type_info,
                origin=None,
            )
            for i, key in enumerate(ends)
        ]
        return LogicalGraph.leading_to_sinks(self._nodes | {sink.id: sink for sink in sinks})

    def sources_of(self, node_id: int) -> list[Node]:
        """Return the sources that a node reads, directly or not."""
        read = map(self.node, reachable([node_id], lambda key: self.node(key).inputs))
        return [node for node in read if node.kind == SOURCE]

    def id_of_source(self, source: Source) -> int:
        """Return the id of the node that holds `source`."""
        return next(key for key, node in self._nodes.items() if node.source is source)

    def remove(self, node_id: int) -> None:
        """Remove a node that no other reads."""
        del self._nodes[node_id]

    @contextmanager
    def draft(self) -> Iterator[None]:
        """Forget, at the end, the nodes that are added meanwhile. Sinks that are there do not count meanwhile."""
        before, begin, former = self._nodes, self._next, self.program
        self.program = ProgramKey()
        self._nodes = {key: node for key, node in before.items() if node.kind != SINK}
        try:
            yield
        finally:
            self._nodes, self._next, self.program = before, begin, former

    def clear(self) -> None:
        """Remove the sinks, as a job that was executed does.

        Streams stay usable: the next job may begin with them. Ids are not used again.
        """
        self._nodes = {key: node for key, node in self._nodes.items() if node.kind != SINK}
