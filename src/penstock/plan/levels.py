"""Phases: at which exchange depth each operator runs, and the channels between depths.

An operator's level is the greatest over its inputs, plus one for an input that must be
exchanged: one with a key that a keyed operator needs, or any if chaining is off. Everything
else at the same level is chained: called directly, without serialization.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from penstock.errors import GraphError
from penstock.graph.logical import LogicalGraph, Node, NodeKind
from penstock.plan.physical import Decision, LevelPlan, PhysicalPlan
from penstock.runtime.program import (
    SINK_LEVEL,
    ChannelSpec,
    OperatorKind,
    OperatorSpec,
    Partitioner,
    TimestampSpec,
)
from penstock.types.information import TypeInformation

OPERATOR_KINDS: dict[NodeKind, OperatorKind] = {
    NodeKind.MAP: OperatorKind.MAP,
    NodeKind.FLAT_MAP: OperatorKind.FLAT_MAP,
    NodeKind.FILTER: OperatorKind.FILTER,
    NodeKind.PROCESS: OperatorKind.PROCESS,
    NodeKind.TIMESTAMPS: OperatorKind.TIMESTAMPS,
    NodeKind.KEYED_MAP: OperatorKind.KEYED_MAP,
    NodeKind.KEYED_FLAT_MAP: OperatorKind.KEYED_FLAT_MAP,
    NodeKind.KEYED_FILTER: OperatorKind.KEYED_FILTER,
    NodeKind.KEYED_REDUCE: OperatorKind.KEYED_REDUCE,
    NodeKind.KEYED_PROCESS: OperatorKind.KEYED_PROCESS,
}
"""Nodes that become operators; sources, sinks, unions and key_by do not."""

_KEYED = frozenset(kind for kind in NodeKind if kind.name.startswith("KEYED_"))


_PASSING_ON = frozenset({NodeKind.FILTER, NodeKind.TIMESTAMPS, NodeKind.KEYED_FILTER})
"""Operators that make no records of their own, so that none needs to be checked."""


@dataclass(frozen=True, slots=True)
class _Edge:
    """A physical input: the producing node, and the key if the edge has one."""

    producer: Node
    key_selector: Callable[[Any], Any] | None
    origin_node: Node


def assign_levels(plan: PhysicalPlan) -> PhysicalPlan:
    """Place operators on levels and connect them."""
    graph = plan.graph
    levels = _levels(graph, chaining=plan.options.chaining)
    uids = _uids(graph)
    drafts: dict[int, OperatorSpec] = {
        node.id: _operator(graph, node, uids[node.id])
        for node in graph.nodes
        if node.kind in OPERATOR_KINDS
    }
    channels: list[ChannelSpec] = []
    source_operators: dict[int, list[int]] = {}
    source_channels: dict[int, list[int]] = {}
    sinks = {sink.id: i for i, sink in enumerate(graph.of_kind(NodeKind.SINK))}
    for node in graph.nodes:
        if node.kind not in OPERATOR_KINDS and node.kind is not NodeKind.SINK:
            continue
        for edge in _physical_inputs(graph, node):
            producer = edge.producer
            if node.kind is not NodeKind.SINK and levels[producer.id] == levels[node.id]:
                if producer.kind is NodeKind.SOURCE:
                    source_operators.setdefault(producer.id, []).append(node.id)
                else:
                    spec = drafts[producer.id]
                    drafts[producer.id] = replace(spec, chained_to=(*spec.chained_to, node.id))
                continue
            channel = _channel(graph, len(channels), edge, node, levels, sinks)
            channels.append(channel)
            if producer.kind is NodeKind.SOURCE:
                source_channels.setdefault(producer.id, []).append(channel.id)
            else:
                spec = drafts[producer.id]
                drafts[producer.id] = replace(spec, channels=(*spec.channels, channel.id))
    depth = max((levels[key] for key in drafts), default=0)
    return replace(
        plan,
        levels=tuple(
            LevelPlan(n, tuple(spec for key, spec in drafts.items() if levels[key] == n))
            for n in range(depth + 1)
        ),
        channels=tuple(channels),
        source_operators=tuple((key, tuple(ids)) for key, ids in source_operators.items()),
        source_channels=tuple((key, tuple(ids)) for key, ids in source_channels.items()),
    )


def explain_chains(plan: PhysicalPlan) -> PhysicalPlan:
    """Say which operators call each other directly. After `assign_levels`."""
    decisions = list(plan.decisions)
    for level in plan.levels:
        for op in level.operators:
            for target in op.chained_to:
                subject = f"{op.name!r} to {plan.graph.node(target).name!r}"
                reason = f"both run at level {level.level}, so nothing has to be exchanged"
                decision = Decision(subject, "chained", reason)
                if decision not in decisions:
                    decisions.append(decision)
    return replace(plan, decisions=tuple(decisions))


def explain_channels(plan: PhysicalPlan) -> PhysicalPlan:
    """Say why each exchange is there. After `assign_levels`."""
    decisions = list(plan.decisions)
    for channel in plan.channels:
        if channel.partitioner is Partitioner.NONE:
            continue
        target = plan.graph.node(channel.target_operator)
        hashed = channel.partitioner is Partitioner.HASH
        reason = (
            f"{target.name!r} keeps state by key"
            if hashed
            else f"{target.name!r} runs one level later, beside an input that is exchanged"
            if plan.options.chaining
            else "pipeline.operator-chaining.enabled is false"
        )
        subject = f"channel {channel.id} to {target.name!r}"
        decision = Decision(subject, "hash exchange" if hashed else "forward", reason)
        if decision not in decisions:
            decisions.append(decision)
    return replace(plan, decisions=tuple(decisions))


def _levels(graph: LogicalGraph, *, chaining: bool) -> dict[int, int]:
    levels: dict[int, int] = {}
    for node in graph.nodes:
        if node.kind is NodeKind.SOURCE:
            levels[node.id] = 0
        elif node.kind in OPERATOR_KINDS:
            edges = _physical_inputs(graph, node)
            levels[node.id] = max(
                levels[e.producer.id] + (e.key_selector is not None or _cut(e, chaining=chaining))
                for e in edges
            )
    return levels


def _cut(edge: _Edge, *, chaining: bool) -> bool:
    # Reading a source and stamping its records always stay together.
    return not chaining and edge.producer.kind is not NodeKind.SOURCE


def _physical_inputs(graph: LogicalGraph, node: Node) -> list[_Edge]:
    """Return the inputs of a node with unions and key_by resolved."""
    keyed = node.kind in _KEYED
    return [
        edge for source in node.inputs for edge in _resolve(graph, graph.node(source), keyed=keyed)
    ]


def _resolve(graph: LogicalGraph, node: Node, *, keyed: bool) -> Iterator[_Edge]:
    if node.kind is NodeKind.UNION:
        for source in node.inputs:
            yield from _resolve(graph, graph.node(source), keyed=False)
    elif node.kind is NodeKind.KEY_BY:
        selector = node.key_selector if keyed else None
        for edge in _resolve(graph, graph.node(node.inputs[0]), keyed=False):
            yield _Edge(edge.producer, selector, node)
    else:
        yield _Edge(node, None, node)


def _operator(graph: LogicalGraph, node: Node, uid: str) -> OperatorSpec:
    marks = node.watermarking
    selector = None
    if node.kind in _KEYED:
        selector = graph.node(node.inputs[0]).key_selector
    return OperatorSpec(
        id=node.id,
        uid=uid,
        name=node.name,
        kind=OPERATOR_KINDS[node.kind],
        function=node.function,
        method=node.method,
        origin=node.origin,
        key_selector=selector,
        timestamps=TimestampSpec(marks.assigner, marks.out_of_orderness_ms) if marks else None,
        result_type=_result_type(node),
    )


def _result_type(node: Node) -> TypeInformation | None:
    needed = node.kind not in _PASSING_ON and node.type_info.need_conversion()
    return node.type_info if needed else None


def _channel(
    graph: LogicalGraph,
    channel_id: int,
    edge: _Edge,
    node: Node,
    levels: dict[int, int],
    sinks: dict[int, int],
) -> ChannelSpec:
    to_sink = node.kind is NodeKind.SINK
    hashed = edge.key_selector is not None
    return ChannelSpec(
        id=channel_id,
        source_level=levels[edge.producer.id],
        target_level=SINK_LEVEL if to_sink else levels[node.id],
        target_operator=sinks[node.id] if to_sink else node.id,
        partitioner=Partitioner.NONE
        if to_sink
        else Partitioner.HASH
        if hashed
        else Partitioner.FORWARD,
        key_selector=None if to_sink else edge.key_selector,
        origin=edge.origin_node.origin,
        sources=_sources_of(graph, edge.producer),
    )


def _sources_of(graph: LogicalGraph, node: Node) -> tuple[int, ...]:
    found: set[int] = set()
    todo = [node.id]
    while todo:
        current = graph.node(todo.pop())
        if current.kind is NodeKind.SOURCE:
            found.add(current.id)
        todo += current.inputs
    return tuple(sorted(found))


def _uids(graph: LogicalGraph) -> dict[int, str]:
    """Return the user's uid, else one made of the name and its position among equal names.

    Raises:
        GraphError: A made uid collides with one of the user's.
    """
    taken = {node.uid: node for node in graph.nodes if node.uid is not None}
    seen: dict[str, int] = {}
    uids: dict[int, str] = {}
    for node in graph.nodes:
        if node.uid is not None:
            uids[node.id] = node.uid
            continue
        number = seen[node.name] = seen.get(node.name, 0) + 1
        uid = f"{node.name}-{number}"
        if uid in taken:
            raise GraphError(
                f"uid {uid!r} is taken, but {node.name!r} gets it by default",
                hint="Give this operator a uid too.",
                origin=node.origin,
            )
        uids[node.id] = uid
    return uids
