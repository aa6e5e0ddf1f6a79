"""Phase: generates uids of operators that have none, from their position in the graph.

The position of an operator is a digest of two values, each computed along the edges:

    upstream     its kind, and for each input: index, side output, keyed or not, upstream of the producer
    downstream   its kind, and for each reader: index of input, side output, keyed or not, its downstream

For a neighbour with a uid the digest contains only that uid. So a change on the other side of the
neighbour does not change the digest. The name of a source is its uid.

An operator that is added upstream or downstream of another one changes the position of that one, so
an operator never gets the state of another that had its position. (Flink hashes a number given in
order, the inputs and the chained outputs: an operator that is added between two of its kind can get
the state of the next.) The digest contains no code, parallelism, chaining or partitionings: they may
change between two starts. Names do not count either, except that of the operator itself.

Only their order distinguishes operators at equal positions, such as two branches of one shape. They are
*numbered*. That suffices for a program that is started again in its checkpoint directory, because the
shape is compared; it does not suffice for state of a savepoint (see `spark.driver.recovery`).

    map-5d41402abc4b              the only operator at its position
    reduce-7d793037a076.2         the second operator at one position
    timestamps of flights-1       the operator that assigns timestamps to a source has its name
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from dataclasses import replace

from penstock.graph.logical import GeneratedUid, LogicalGraph, Node
from penstock.plan.phases.edges import Edge, physical_inputs
from penstock.plan.physical import PhysicalPlan
from penstock.program.operators import (
    PASSING,
    SOURCE,
    TIMESTAMPS,
)

_DIGITS = 12


def generate_uids(plan: PhysicalPlan) -> PhysicalPlan:
    """Generate uids of operators that have none. The first phase."""
    graph = plan.graph
    if any(node.generated_uid is not None for node in graph.nodes):
        return plan
    made = _generated(graph)
    nodes = tuple(replace(node, generated_uid=made.get(node.id)) for node in graph.nodes)
    return replace(plan, graph=LogicalGraph(nodes))


def source_names(graph: LogicalGraph) -> dict[int, GeneratedUid]:
    """Return the uids of sources that have none: their name, numbered if several have it."""
    sources = graph.of_kind(SOURCE)
    shared = Counter(node.name for node in sources if node.uid is None)
    seen: Counter[str] = Counter()
    made: dict[int, GeneratedUid] = {}
    for node in sources:
        seen[node.name] += 1
        if node.uid is None:
            numbered = shared[node.name] > 1
            made[node.id] = GeneratedUid(f"{node.name}-{seen[node.name]}", is_numbered=numbered)
    return made


def _generated(graph: LogicalGraph) -> dict[int, GeneratedUid]:
    made: dict[int, GeneratedUid] = {}
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
            made[node.id] = GeneratedUid(f"{node.name} of {source}")
        else:
            places[node.name, _digest(upward[node.id], downward[node.id])].append(node)
    for (name, place), nodes in places.items():
        shown = _digest(place, len(nodes))[:_DIGITS]
        for number, node in enumerate(nodes, 1):
            many = len(nodes) > 1
            text = f"{name}-{shown}.{number}" if many else f"{name}-{shown}"
            made[node.id] = GeneratedUid(text, is_numbered=many)
    return made


def _upward(
    graph: LogicalGraph, edges: dict[int, list[Edge]], fixed: dict[int, str]
) -> dict[int, str]:
    found: dict[int, str] = {}
    for node in graph.nodes:
        inputs: object = [[*_facts(edge), found[edge.producer.id]] for edge in edges[node.id]]
        found[node.id] = _digest(node.kind.name, fixed.get(node.id, inputs))
    return found


def _downward(
    graph: LogicalGraph, edges: dict[int, list[Edge]], fixed: dict[int, str]
) -> dict[int, str]:
    found: dict[int, str] = {}
    readers: dict[int, list[list[object]]] = defaultdict(list)
    for node in reversed(graph.nodes):
        # In order of digest, so that the order of two readers in the program does not matter.
        read: object = sorted(map(json.dumps, readers[node.id]))
        found[node.id] = _digest(node.kind.name, fixed.get(node.id, read))
        for edge in edges[node.id]:
            readers[edge.producer.id].append([*_facts(edge), found[node.id]])
    return found


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
