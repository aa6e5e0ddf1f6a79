"""The operators that a node reads, with unions resolved, and the region of a plan that one run executes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from penstock.graph.logical import LogicalGraph, Node, Partitioning
from penstock.plan.physical import LevelPlan, PhysicalPlan, RunPlan
from penstock.program.channel import ChannelSpec
from penstock.program.operators import KEY_BY, PARTITION, PASSING, SIDE_OUTPUT, SOURCE
from penstock.program.traverse import reachable, ways


@dataclass(frozen=True, slots=True)
class Edge:
    """One producer of one input of a node.

    Attributes:
        origin_node: The node that determines key and partitioning; messages name it.
        key_selector: The key that the node uses, None if it uses none.
        partitioning: The user's partitioning, None if there is none.
        output_tag: The side output of the producer, None for its main output.
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
    apart = node.kind.distinguishes_inputs
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
    """Yield an edge per path from a node upstream to an operator or source."""
    for *passing, last in ways(node.id, lambda key: _passes_on(graph.node(key))):
        edge = Edge(graph.node(last), graph.node(last))
        for key in reversed(passing):
            edge = _through(graph.node(key), edge, keyed=keyed and key == node.id)
        yield edge


def _passes_on(node: Node) -> tuple[int, ...]:
    return node.inputs if node.kind in PASSING else ()


def _through(node: Node, edge: Edge, *, keyed: bool) -> Edge:
    """Return the edge of the readers of a routing node, given the edge of its input."""
    if node.kind == KEY_BY:
        selector = node.key_selector if keyed else None
        # A key overrides a partitioning before it.
        partitioning = None if keyed else edge.partitioning
        return replace(edge, origin_node=node, key_selector=selector, partitioning=partitioning)
    if node.kind == PARTITION:
        return replace(edge, origin_node=node, partitioning=node.partitioning)
    if node.kind == SIDE_OUTPUT:
        return replace(edge, origin_node=node, output_tag=node.output_tag)
    return edge


@dataclass(frozen=True, slots=True)
class Region:
    """Operators and channels of one run.

    Attributes:
        levels: Levels without the empty ones at the end.
        channels: Channels between them, and to sinks.
    """

    levels: tuple[LevelPlan, ...]
    channels: tuple[ChannelSpec, ...]
    sources: frozenset[int]


def region_of(plan: PhysicalPlan, run: RunPlan) -> Region:
    """Return the region of a run."""
    sources = frozenset(plan.pipeline_of(run).sources)
    if len(plan.pipelines) == 1:
        return Region(plan.levels, plan.channels, sources)
    levels = [
        LevelPlan(
            level.level,
            tuple(
                op
                for op in level.operators
                if sources.issuperset(sources_of(plan.graph, plan.graph.node(op.id)))
            ),
        )
        for level in plan.levels
    ]
    while len(levels) > 1 and not levels[-1].operators:
        levels.pop()
    channels = tuple(c for c in plan.channels if sources.issuperset(c.sources))
    return Region(tuple(levels), channels, sources)
