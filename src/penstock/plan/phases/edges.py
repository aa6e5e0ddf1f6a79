"""Physical inputs: which operators a node reads, with unions, keys and partitionings resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from penstock.graph.logical import LogicalGraph, Node, Partitioning
from penstock.program.operators import (
    KEY_BY,
    PARTITION,
    SIDE_OUTPUT,
    SOURCE,
    UNION,
)


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
    found: set[int] = set()
    todo = [node.id]
    while todo:
        current = graph.node(todo.pop())
        if current.kind == SOURCE:
            found.add(current.id)
        todo += current.inputs
    return tuple(sorted(found))


def _resolve(graph: LogicalGraph, node: Node, *, keyed: bool) -> Iterator[Edge]:
    if node.kind == UNION:
        for source in node.inputs:
            yield from _resolve(graph, graph.node(source), keyed=False)
    elif node.kind == KEY_BY:
        selector = node.key_selector if keyed else None
        for edge in _resolve(graph, graph.node(node.inputs[0]), keyed=False):
            # Where a key decides, what was asked for before it has no effect any more.
            partitioning = None if keyed else edge.partitioning
            yield replace(edge, origin_node=node, key_selector=selector, partitioning=partitioning)
    elif node.kind == PARTITION:
        for edge in _resolve(graph, graph.node(node.inputs[0]), keyed=False):
            yield replace(edge, origin_node=node, partitioning=node.partitioning)
    elif node.kind == SIDE_OUTPUT:
        for edge in _resolve(graph, graph.node(node.inputs[0]), keyed=False):
            yield replace(edge, origin_node=node, output_tag=node.output_tag)
    else:
        yield Edge(node, node)
