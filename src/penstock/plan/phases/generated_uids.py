"""Phases: generate uids of operators that have none, or require them if `pipeline.auto-generate-uids` is off."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from dataclasses import replace

from penstock.connectors.cache import CacheSink
from penstock.connectors.python.collect_sink import CollectSink
from penstock.errors import GraphError
from penstock.graph.logical import GeneratedUid, LogicalGraph, Node
from penstock.plan.phases.edges import Edge, physical_inputs
from penstock.plan.physical import PhysicalPlan
from penstock.program.operators import PASSING, SOURCE, TIMESTAMPS

_DIGITS = 12


def generate_uids(plan: PhysicalPlan) -> PhysicalPlan:
    """Generate uids of operators that have none. The first phase."""
    graph = plan.graph
    if any(node.generated_uid is not None for node in graph.nodes):
        return plan
    uids = _generated(graph)
    nodes = tuple(replace(node, generated_uid=uids.get(node.id)) for node in graph.nodes)
    return replace(plan, graph=LogicalGraph(nodes))


def source_names(graph: LogicalGraph) -> dict[int, GeneratedUid]:
    """Return the uids of sources that have none: their name, numbered if several have it."""
    sources = graph.of_kind(SOURCE)
    shared = Counter(node.name for node in sources if node.uid is None)
    seen: Counter[str] = Counter()
    uids: dict[int, GeneratedUid] = {}
    for node in sources:
        seen[node.name] += 1
        if node.uid is None:
            numbered = shared[node.name] > 1
            uids[node.id] = GeneratedUid(f"{node.name}-{seen[node.name]}", is_numbered=numbered)
    return uids


def _generated(graph: LogicalGraph) -> dict[int, GeneratedUid]:
    uids: dict[int, GeneratedUid] = {}
    sources = source_names(graph)
    edges = {
        node.id: [] if node.kind in PASSING else physical_inputs(graph, node)
        for node in graph.nodes
    }
    fixed = {node.id: node.uid for node in graph.nodes if node.uid is not None}
    fixed |= {source: graph.node(source).name for source in sources}
    upward, downward = _upward(graph, edges, fixed), _downward(graph, edges, fixed)
    places: dict[tuple[str, str], list[Node]] = defaultdict(list)
    for node in graph.nodes:
        if node.uid is not None or not node.kind.is_operator:
            continue
        stamped = stamped_source(graph, node)
        if stamped is not None:
            source = stamped.uid or sources[stamped.id].text
            uids[node.id] = GeneratedUid(f"{node.name} of {source}")
        else:
            places[node.name, _digest(upward[node.id], downward[node.id])].append(node)
    for (name, place), nodes in places.items():
        shown = _digest(place, len(nodes))[:_DIGITS]
        for number, node in enumerate(nodes, 1):
            many = len(nodes) > 1
            text = f"{name}-{shown}.{number}" if many else f"{name}-{shown}"
            uids[node.id] = GeneratedUid(text, is_numbered=many)
    return uids


def _upward(
    graph: LogicalGraph, edges: dict[int, list[Edge]], fixed: dict[int, str]
) -> dict[int, str]:
    digests: dict[int, str] = {}
    for node in graph.nodes:
        inputs: object = [[*_facts(edge), digests[edge.producer.id]] for edge in edges[node.id]]
        digests[node.id] = _digest(node.kind.name, fixed.get(node.id, inputs))
    return digests


def _downward(
    graph: LogicalGraph, edges: dict[int, list[Edge]], fixed: dict[int, str]
) -> dict[int, str]:
    digests: dict[int, str] = {}
    readers: dict[int, list[list[object]]] = defaultdict(list)
    for node in reversed(graph.nodes):
        # In order of digest, so that the order of two readers in the program does not matter.
        read: object = sorted(map(json.dumps, readers[node.id]))
        digests[node.id] = _digest(node.kind.name, fixed.get(node.id, read))
        for edge in edges[node.id]:
            readers[edge.producer.id].append([*_facts(edge), digests[node.id]])
    return digests


def _facts(edge: Edge) -> tuple[int, str | None, bool]:
    return edge.target_input, edge.output_tag, edge.key_selector is not None


def stamped_source(graph: LogicalGraph, node: Node) -> Node | None:
    """Return the source to which a node alone assigns timestamps; `from_source` makes such nodes."""
    if node.kind != TIMESTAMPS:
        return None
    source = graph.node(node.inputs[0])
    stamps = [n for n in graph.of_kind(TIMESTAMPS) if n.inputs == node.inputs]
    return source if source.kind == SOURCE and len(stamps) == 1 else None


def _digest(*facts: object) -> str:
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


_OWN_SINKS = (CacheSink, CollectSink)


def check_uids(plan: PhysicalPlan) -> PhysicalPlan:
    """Refuse operators without a uid if none may be generated; return the plan unchanged."""
    if plan.options.makes_uids:
        return plan
    missing = _without_uid(plan.graph)
    if not missing:
        return plan
    first, *others = missing
    more = f", nor have {len(others)} others" if others else ""
    lines = [f"automatic uids are disabled, and {first.name!r} has no uid{more}:"]
    lines += [
        f"  {node.name}{'' if node.origin is None else f', {node.origin}'}" for node in missing
    ]
    raise GraphError(
        "\n".join(lines),
        hint='Call .uid("…") behind each, or set pipeline.auto-generate-uids to true.',
        origin=first.origin,
    )


def _without_uid(graph: LogicalGraph) -> list[Node]:
    pairs = {node.id: stamped_source(graph, node) for node in graph.nodes}
    named = {node.id for node in graph.nodes if node.uid is not None}
    for stamps, source in pairs.items():
        if source is not None and named & {stamps, source.id}:
            named |= {stamps, source.id}
    stamping = {key for key, source in pairs.items() if source is not None}
    return [
        node
        for node in graph.nodes
        if node.id not in named | stamping and node.kind not in PASSING and not _is_ours(node)
    ]


def _is_ours(node: Node) -> bool:
    is_read = node.source is not None and node.source.is_internal
    return is_read or isinstance(node.sink, _OWN_SINKS)
