"""Phase: finds the pipelines of a job: the parts of its graph that share no operator. After `choose_mode`.

They are the connected components of the graph. Where `plan.phases.bounded_region` cut it, the results of
one component are a source of another, which begins when they are complete:

    history -> totals -> [result]            pipeline 0, a bounded region
    clicks  -> sessions -> sink              pipeline 1
    [result], live -> join -> sink           pipeline 2, behind pipeline 0

Each pipeline has history, switch, live run, watermarks and epochs of its own, and all run at the same time:
what is live waits only for results that it reads. A BATCH job has nothing live, so it is one pipeline.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import cast

from penstock.config.execution_mode import RuntimeExecutionMode
from penstock.connectors.blocking_result import ResultSink, ResultSource
from penstock.plan.phases.bounded_region import region_sources
from penstock.plan.phases.edges import sources_of
from penstock.plan.physical import Decision, PhysicalPlan, PipelinePlan
from penstock.program.traverse import reachable


def find_pipelines(plan: PhysicalPlan) -> PhysicalPlan:
    """Find the pipelines of a job. After `choose_mode`."""
    every = [source.id for source in plan.sources]
    if plan.mode is RuntimeExecutionMode.BATCH:
        return replace(plan, pipelines=(PipelinePlan(0, tuple(every)),))
    region = region_sources(plan.graph)
    apart = plan.options.pipelines_apart
    groups = _components(plan) if apart else [{*every} & region, {*every} - region]
    ordered = sorted(filter(None, groups), key=lambda group: (not group <= region, min(group)))
    written = {
        result: index for index, group in enumerate(ordered) for result in _written(plan, group)
    }
    made = []
    for index, group in enumerate(ordered):
        after = {written[result] for result in _read(plan, group)}
        if not apart and index:
            after = {0}  # an earlier version ran everything else behind the bounded region
        made.append(
            PipelinePlan(index, tuple(sorted(group)), group <= region, tuple(sorted(after)))
        )
    return _explained(replace(plan, pipelines=tuple(made)))


def have_company(plan: PhysicalPlan) -> bool:
    """Return whether pipelines of a job run at the same time."""
    return any(_runs_beside(plan, each) for each in plan.pipelines)


def name_of(plan: PhysicalPlan, pipeline: PipelinePlan) -> str:
    """Return the name of a pipeline for people: those of its sources."""
    return ", ".join(repr(plan.source(source).name) for source in pipeline.sources)


def _components(plan: PhysicalPlan) -> list[set[int]]:
    """Return the sources of each connected component."""
    beside: dict[int, set[int]] = {node.id: set(node.inputs) for node in plan.graph.nodes}
    for node in plan.graph.nodes:
        for producer in node.inputs:
            beside[producer].add(node.id)
    left = {source.id for source in plan.sources}
    found = []
    while left:
        joined = reachable([min(left)], lambda node: beside[node])
        found.append(left.intersection(joined))
        left -= found[-1]
    return found


def _written(plan: PhysicalPlan, group: Iterable[int]) -> Iterator[str]:
    """Yield the results that a group of sources leads to."""
    sources = {*group}
    for node in plan.graph.nodes:
        if isinstance(node.sink, ResultSink) and sources.issuperset(sources_of(plan.graph, node)):
            yield node.sink.result


def _read(plan: PhysicalPlan, group: Iterable[int]) -> Iterator[str]:
    """Yield the results that sources read."""
    parts = (part for source in group for part in plan.source(source).parts)
    return (cast("ResultSource", part).result for part in parts if part.gives_results)


def _runs_beside(plan: PhysicalPlan, pipeline: PipelinePlan) -> bool:
    """Return whether another pipeline runs at the same time as this one."""
    return any(
        other is not pipeline
        and other.index not in pipeline.after
        and pipeline.index not in other.after
        for other in plan.pipelines
    )


def _explained(plan: PhysicalPlan) -> PhysicalPlan:
    decisions = list(plan.decisions)
    for pipeline in plan.pipelines:
        if _runs_beside(plan, pipeline):
            subject = f"pipeline {pipeline.index} ({name_of(plan, pipeline)})"
            reason = "it shares no operator with the others, so it has runs of its own"
            decision = Decision(subject, "beside the others", reason)
            if decision not in decisions:
                decisions.append(decision)
    return replace(plan, decisions=tuple(decisions))
