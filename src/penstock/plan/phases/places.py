"""Phase: what operators without a uid are called: after their place in the graph.

The place of an operator is a digest of two things, each taken operator by operator along the edges:

    upward     its kind, and of each input: which one, side output, keyed or not, upward of the producer
    downward   its kind, and of each reader: which input, side output, keyed or not, downward of it

A uid stands for all that is behind it: of a neighbour that has one nothing else counts, so what
changes above and below it moves nobody on the other side. The name of a source is its uid.

So an operator that is put above or below another one moves it, and state is never given to whoever
stands where another one stood. (Flink hashes a number given in order, the inputs and the chained
outputs: an operator put between two of its kind can take the place of the next.) What a function
does, names, parallelism, chaining and partitionings between operators do not count: they may change
between two starts, except that the operator's own name is part of its uid.

Operators at equal places, as two branches of one shape, are told apart by nothing but their order.
They are *numbered*: enough for a program that is started again in its checkpoint directory, whose
shape is compared, too little for state out of a savepoint (see `spark.recovery`).

    map-5d41402abc4b              the only one at its place
    reduce-7d793037a076.2         the second of those at one place
    timestamps of flights-1       what stamps the records of a source goes by the source alone
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


def name_places(plan: PhysicalPlan) -> PhysicalPlan:
    """Give operators without a uid one that is made of their place. The first phase."""
    graph = plan.graph
    if any(node.generated_uid is not None for node in graph.nodes):
        return plan
    made = _generated(graph)
    nodes = tuple(replace(node, generated_uid=made.get(node.id)) for node in graph.nodes)
    return replace(plan, graph=LogicalGraph(nodes))


def name_numbers(graph: LogicalGraph) -> dict[int, GeneratedUid]:
    """Return what 0.1.0 called nodes: by name, and position among all nodes of that name.

    Checkpoint directories that it wrote hold state under these.
    """
    seen: Counter[str] = Counter()
    made: dict[int, GeneratedUid] = {}
    for node in graph.nodes:
        if node.uid is None:
            seen[node.name] += 1
            made[node.id] = GeneratedUid(f"{node.name}-{seen[node.name]}", is_numbered=True)
    return made


def source_names(graph: LogicalGraph) -> dict[int, GeneratedUid]:
    """Return what sources without a uid are called: by name, numbered if several have it."""
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
        # In order of digest: which of two readers was written first does not matter.
        read: object = sorted(map(json.dumps, readers[node.id]))
        found[node.id] = _digest(node.kind.name, fixed.get(node.id, read))
        for edge in edges[node.id]:
            readers[edge.producer.id].append([*_facts(edge), found[node.id]])
    return found


def _facts(edge: Edge) -> tuple[int, str | None, bool]:
    return edge.target_input, edge.output_tag, edge.key_selector is not None


def stamped_source(graph: LogicalGraph, node: Node) -> Node | None:
    """Return the source whose records a node is the only one to stamp; `from_source` makes one."""
    if node.kind != TIMESTAMPS:
        return None
    source = graph.node(node.inputs[0])
    stamps = [n for n in graph.of_kind(TIMESTAMPS) if n.inputs == node.inputs]
    return source if source.kind == SOURCE and len(stamps) == 1 else None


def _digest(*facts: object) -> str:
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()
