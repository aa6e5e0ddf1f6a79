"""The part of a changed program that reads the history: its graph, and one run per pipeline.

    v1     events -> sums -> out                 state of `sums` is stored, `events` stands at a position
    v2     events -> sums -> out
                       └-> tops -> new           `tops` and its sink are new

    here   events -> sums -> tops -> new         reads `events` up to the position

Everything before the new and changed operators is computed again, kept operators too: their state at the beginning of
the history is not stored. Sinks that were there before get nothing, because they have the results of the history; nor
do new ones that begin now.
A pipeline without a source that was there before begins at its beginning, as in a new job.

The history is a batch run without state. From there live runs go on with the state, each up to later positions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from penstock.connectors.python.function_sink import DiscardingSink
from penstock.graph.logical import LogicalGraph, Node
from penstock.plan.compat.evolution import Evolution, PartStatus
from penstock.plan.compat.function_digest import source_uids
from penstock.plan.phases.edges import sources_of
from penstock.plan.physical import PhysicalPlan, Reading, RunPlan
from penstock.program.operators import SINK
from penstock.program.run_settings import RunKind
from penstock.program.traverse import reachable

HISTORY_RUN = "history"
CATCH_UP_RUN = "catch-up"


def bootstrap_graph(
    plan: PhysicalPlan, evolution: Evolution, empty: Collection[str] = ()
) -> LogicalGraph | None:
    """Return the graph that reads the history; None if no operator and no sink needs it.

    A sink that reads nothing but sources of `empty` does not need it. Sources and sinks have uids, since what they are called without one depends on the others.
    """
    kept_sources = {source.uid for source in evolution.sources if source.change is PartStatus.KEPT}
    changed = {part.uid for part in evolution.of_state}
    uids, sinks = source_uids(plan), {sink.index: sink for sink in plan.sinks}
    stateful = {op.id for level in plan.levels for op in level.operators if op.uid in changed}
    begun = {
        source
        for pipeline in plan.pipelines
        if any(uids[sibling] in kept_sources for sibling in pipeline.sources)
        for source in pipeline.sources
        if uids[source] not in empty
    }
    nodes = {node.id: _with_uid(node, uids) for node in plan.graph.nodes if node.kind != SINK}
    is_needed = False
    for index, node in enumerate(plan.graph.of_kind(SINK)):
        if begun.isdisjoint(sources_of(plan.graph, node)):
            continue
        named = replace(node, uid=node.uid or sinks[index].uid)
        is_new = evolution.sinks[index].change is PartStatus.NEW
        if is_new and not plan.options.new_sinks_from_now:
            nodes[node.id] = named
        elif not stateful.isdisjoint(_upstream(plan.graph, node)):
            nodes[node.id] = replace(named, sink=DiscardingSink())
        else:
            continue
        is_needed = True
    return LogicalGraph.leading_to_sinks(nodes) if is_needed else None


def silent_graph(plan: PhysicalPlan) -> LogicalGraph:
    """Return the graph of a program with sinks that drop, which have the uids of its own."""
    uids, sinks = source_uids(plan), {sink.index: sink for sink in plan.sinks}
    nodes = {node.id: _with_uid(node, uids) for node in plan.graph.nodes}
    for index, node in enumerate(plan.graph.of_kind(SINK)):
        uid = node.uid or sinks[index].uid
        nodes[node.id] = replace(node, uid=uid, sink=DiscardingSink())
    return LogicalGraph.leading_to_sinks(nodes)


def _with_uid(node: Node, uids: Mapping[int, str]) -> Node:
    return replace(node, uid=uids[node.id]) if node.id in uids else node


def _upstream(graph: LogicalGraph, node: Node) -> frozenset[int]:
    return frozenset(reachable([node.id], lambda key: graph.node(key).inputs))


@dataclass(frozen=True, slots=True)
class Stretch:
    """The input that a part of a program reads to reach stored positions.

    Attributes:
        kind: A batch run begins without state, a live run goes on with it.
        parts: Uid of a source to the parts to read.
        open_splits: Uid of a source to the splits of the last of them that the job goes on with.
    """

    kind: RunKind
    parts: Mapping[str, tuple[int, ...]]
    open_splits: Mapping[str, tuple[int, ...]]


def choose_stretch(plan: PhysicalPlan, *, stretch: Stretch) -> PhysicalPlan:
    """Give every pipeline one run that hands over, in the place of `choose_runs`, after `find_pipelines`."""
    uids, parts = source_uids(plan), stretch.parts
    is_history = stretch.kind is RunKind.BATCH
    runs = tuple(
        RunPlan(
            pipeline.index,
            HISTORY_RUN if is_history else CATCH_UP_RUN,
            stretch.kind,
            tuple(
                Reading(
                    source,
                    parts[uids[source]],
                    ends=False,
                    open_splits=stretch.open_splits.get(uids[source], ()),
                )
                for source in pipeline.sources
                if parts.get(uids[source])
            ),
            final_results_only=is_history and plan.options.latest_in_backlog,
            hands_over=True,
            pipeline=pipeline.index,
        )
        for pipeline in plan.pipelines
    )
    return replace(plan, runs=runs)
