"""Phase: requires a uid of every operator if `pipeline.auto-generate-uids` is false.

As in Flink, sources, sinks and operators need a uid; `key_by`, partitionings, unions and side outputs
only route records and have none. A source and its timestamp assigner share one uid: `from_source` makes
both, and returns one stream with a method `uid`. Operators that Penstock adds need none, because the
user cannot set it.
"""

from __future__ import annotations

from penstock.connectors.cache import CacheSink
from penstock.connectors.python.collect_sink import CollectSink
from penstock.errors import GraphError
from penstock.graph.logical import LogicalGraph, Node
from penstock.plan.phases.generated_uids import stamped_source
from penstock.plan.physical import PhysicalPlan
from penstock.program.operators import PASSING

_OWN_SINKS = (CacheSink, CollectSink)


def check_uids(plan: PhysicalPlan) -> PhysicalPlan:
    """Return the plan unchanged.

    Raises:
        GraphError: An operator has no uid, and none may be generated; the error names all of them.
    """
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
