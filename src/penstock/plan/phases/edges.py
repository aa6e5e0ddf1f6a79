"""Physical inputs: which operators a node reads, with unions, keys and partitionings resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from penstock.graph.logical import LogicalGraph, Node, Partitioning
from penstock.program.operators import KEY_BY, PARTITION, PASSING, SIDE_OUTPUT, SOURCE
from penstock.program.traverse import reachable, ways


@dataclass(frozen=True, slots=True)
class Edge:
    """One producer of one input of a node.

    Attributes:
        producer: A source or an operator.
        origin_node: The node that made the edge what it is; blamed in messages.
        target_input: Which input of the node it feeds.
        key_selector: The key the node uses, None if it uses none.
        partitioning: What the user asked for, None for nothing.
        output_tag: The side output of the producer it reads; None is its main output.
    """

    producer: Node
    origin_node: Node
    target_input: int = 0
    key_selector: Callable[[Any], Any] | None = None
    partitioning: Partitioning | None = None
    output_tag: str | None = None


def physical_inputs(graph: LogicalGraph, node: Node) -> list[Edge]:
    """Return the edges into a node, input by input."""
    keyed = node.kind.is_keyed
    apart = node.kind.has_two_inputs
    return [
        replace(edge, target_input=number if apart else 0)
        for number, source in enumerate(node.inputs)
        for edge in _resolve(graph, graph.node(source), keyed=keyed)
    ]


def key_selectors(graph: LogicalGraph, node: Node) -> tuple[Callable[[Any], Any] | None, ...]:
    """Return the key selector of each input of a keyed node."""
    if not node.kind.is_keyed:
        return ()
    return tuple(graph.node(source).key_selector for source in node.inputs)


def sources_of(graph: LogicalGraph, node: Node) -> tuple[int, ...]:
    """Return the ids of the sources whose records can reach a node."""
    read = reachable([node.id], lambda key: graph.node(key).inputs)
    return tuple(sorted(key for key in read if graph.node(key).kind == SOURCE))


def _resolve(graph: LogicalGraph, node: Node, *, keyed: bool) -> Iterator[Edge]:
    """Yield an edge per way from a node up to an operator or source that writes records."""
    for *passing, last in ways(node.id, lambda key: _passes_on(graph.node(key))):
        edge = Edge(graph.node(last), graph.node(last))
        for key in reversed(passing):
            edge = _through(graph.node(key), edge, keyed=keyed and key == node.id)
        yield edge


def _passes_on(node: Node) -> tuple[int, ...]:
    return node.inputs if node.kind in PASSING else ()


def _through(node: Node, edge: Edge, *, keyed: bool) -> Edge:
    """Return the edge to what reads a node, given the edge to what the node reads.

    Args:
        node: A node that only says how records travel.
        edge: To what it reads.
        keyed: The reader uses a key, and this node may be who says it.
    """
    if node.kind == KEY_BY:
        selector = node.key_selector if keyed else None
        # Where a key decides, what was asked for before it has no effect any more.
        partitioning = None if keyed else edge.partitioning
        return replace(edge, origin_node=node, key_selector=selector, partitioning=partitioning)
    if node.kind == PARTITION:
        return replace(edge, origin_node=node, partitioning=node.partitioning)
    if node.kind == SIDE_OUTPUT:
        return replace(edge, origin_node=node, output_tag=node.output_tag)
    return edge
