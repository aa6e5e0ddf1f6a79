"""Phases: find the pipelines of a job, the parts of its graph that share no operator, and list its sources and sinks.

They are the connected components of the graph. Where `plan.phases.bounded_region` cut it, the results of
one component are a source of another, which begins when they are complete:

    history -> totals -> [result]            pipeline 0, a bounded region
    clicks  -> sessions -> sink              pipeline 1
    [result], live -> join -> sink           pipeline 2, behind pipeline 0

Each pipeline has history, switch, live run, watermarks and epochs of its own, and all run at the same time:
what is live waits only for results that it reads. A BATCH job has nothing live, so it is one pipeline.

The tasks that read sources: their number, and the sources that share tasks.

A function that is chained to a source is opened in every task that reads the source. So if the program
sets the number of subtasks, no more tasks read a source. A function with several sources is chained to
them only if they share tasks; otherwise it runs after an exchange (`plan.phases.levels`). If the program
does not set the number, Spark decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import cast
from urllib.parse import quote

from penstock.config.options import RuntimeExecutionMode
from penstock.connectors.cache import ResultSink, ResultSource
from penstock.graph.hybrid import parts_of
from penstock.graph.logical import Node
from penstock.plan.phases.bounded_region import region_sources
from penstock.plan.phases.edges import sources_of
from penstock.plan.physical import (
    Decision,
    PhysicalPlan,
    PipelinePlan,
    RunPlan,
    SinkPlan,
    SourcePlan,
)
from penstock.program.operators import SINK, SOURCE
from penstock.program.run_settings import RunKind
from penstock.program.traverse import reachable


# FLIP-331, rule 7.
def find_pipelines(plan: PhysicalPlan) -> PhysicalPlan:
    """Find the pipelines of a job. After `choose_mode`."""
    every = [source.id for source in plan.sources]
    if plan.mode is RuntimeExecutionMode.BATCH:
        return replace(plan, pipelines=(PipelinePlan(0, tuple(every)),))
    region = region_sources(plan.graph)
    ordered = sorted(_components(plan), key=lambda group: (not group <= region, min(group)))
    written = {
        result: index for index, group in enumerate(ordered) for result in _written(plan, group)
    }
    pipelines = []
    for index, group in enumerate(ordered):
        after = {written[result] for result in _read(plan, group)}
        pipelines.append(
            PipelinePlan(index, tuple(sorted(group)), group <= region, tuple(sorted(after)))
        )
    return _explained(replace(plan, pipelines=tuple(pipelines)))


def have_company(plan: PhysicalPlan) -> bool:
    """Return whether pipelines of a job run at the same time."""
    return any(_runs_beside(plan, pipeline) for pipeline in plan.pipelines)


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
    components = []
    while left:
        joined = reachable([min(left)], lambda node: beside[node])
        components.append(left.intersection(joined))
        left -= components[-1]
    return components


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
    return any(_is_beside(pipeline, other) for other in plan.pipelines)


def _is_beside(pipeline: PipelinePlan, other: PipelinePlan) -> bool:
    return (
        other is not pipeline
        and other.index not in pipeline.after
        and pipeline.index not in other.after
    )


def most_tasks(plan: PhysicalPlan, run: RunPlan, cores: int) -> int | None:
    """Return the most tasks of a batch run beside other pipelines, or None. After `choose_runs`.

    A core per pipeline that goes live stays free: with as many tasks as cores, live tasks share theirs for as long as
    history lasts.
    """
    if len(plan.pipelines) == 1:
        return None
    if plan.options.backlog_tasks is not None:
        return plan.options.backlog_tasks
    live = _live_beside(plan, run)
    return max(1, cores - live) if live else None


def is_written_beside(plan: PhysicalPlan) -> bool:
    """Return whether a run writes a DataFrame to files while it reads other sources. After `choose_runs`."""
    return any(_is_written_beside(plan, run) for run in plan.runs)


def most_written_tasks(plan: PhysicalPlan, run: RunPlan, cores: int) -> int | None:
    """Return the most tasks that write DataFrames for a live run, or None. After `choose_runs`.

    A core stays free for the other input of the run, and for each other pipeline that goes live.
    """
    beside = _live_beside(plan, run) + _is_written_beside(plan, run)
    if not beside:
        return None
    return plan.options.backlog_tasks or max(1, cores - beside)


def _is_written_beside(plan: PhysicalPlan, run: RunPlan) -> bool:
    if run.kind is not RunKind.LIVE or len(run.readings) == 1:
        return False
    parts = (
        plan.source(reading.source).parts[part]
        for reading in run.readings
        for part in reading.parts
    )
    return any(part.is_written_first and part.is_bounded for part in parts)


def explain_tasks(plan: PhysicalPlan) -> PhysicalPlan:
    """Add decisions about batch runs that leave cores to live pipelines. After `choose_runs`."""
    decisions = list(plan.decisions)
    for run in plan.runs:
        live = _live_beside(plan, run)
        if run.kind is not RunKind.BATCH or not live:
            continue
        limit = plan.options.backlog_tasks
        choice = (
            f"leaves {live} core{'s' * (live > 1)} free"
            if limit is None
            else f"at most {limit} tasks"
        )
        reason = f"{live} other pipeline{'s go' if live > 1 else ' goes'} live at the same time"
        decision = Decision(
            f"run {run.index} ({run.name})",
            choice,
            f"{reason}; execution.backlog.tasks sets a limit",
        )
        if decision not in decisions:
            decisions.append(decision)
    return replace(plan, decisions=tuple(decisions))


def _live_beside(plan: PhysicalPlan, run: RunPlan) -> int:
    """Return how many other pipelines go live at the same time as a run."""
    of_run = plan.pipeline_of(run)
    return sum(
        _is_beside(of_run, other)
        and any(other_run.kind is RunKind.LIVE for other_run in plan.runs_of(other.index))
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


def find_endpoints(plan: PhysicalPlan) -> PhysicalPlan:
    """List sources (a hybrid source as its parts) and sinks."""
    sources = tuple(
        SourcePlan(
            node.id,
            node.name,
            parts_of(node.source),
            node.type_info,
            node.origin,
            is_query=bool(node.source.query_parts),
        )
        for node in plan.graph.of_kind(SOURCE)
        if node.source is not None
    )
    sinks = tuple(
        SinkPlan(
            index,
            sink_uid(node, index),
            node.name,
            node.sink,
            node.type_info,
            node.origin,
        )
        for index, node in enumerate(plan.graph.of_kind(SINK))
        if node.sink is not None
    )
    return replace(plan, sources=sources, sinks=sinks)


def sink_uid(node: Node, index: int) -> str:
    """Return the uid of a sink, given its position among the sinks."""
    return _file_safe(node.uid) if node.uid else f"sink-{index}"


def _file_safe(uid: str) -> str:
    """Return a file name for a uid: unique, without separators, and different from generated names."""
    quoted = quote(uid, safe="")
    if quoted.startswith(".") or re.fullmatch(r"sink-\d+", quoted):
        return f"%{ord(quoted[0]):02X}{quoted[1:]}"
    return quoted


@dataclass(frozen=True, slots=True)
class TaskGroup:
    """Parts of sources that the same tasks of a run read.

    Attributes:
        parts: (source id, part index), in order of reading.
        tasks: Greatest number of tasks; None lets the amount of input decide.
    """

    parts: tuple[tuple[int, int], ...]
    tasks: int | None


def tasks_reading(plan: PhysicalPlan, source: int, run: RunPlan | None = None) -> int | None:
    """Return the greatest number of tasks that may read a source in a run, None if the program sets none."""
    options = plan.options
    parallelism = options.default_parallelism if options.parallelism_is_set else None
    own = None if run is None else plan.history_tasks(run)
    return own or plan.graph.node(source).parallelism or parallelism


def task_groups(plan: PhysicalPlan, run: RunPlan) -> tuple[TaskGroup, ...]:
    """Return the groups of a run, in order of reading.

    Only split sources share tasks, because rows of files are no ranges of positions. In a batch run the
    parts of a hybrid source do not share tasks: they are read one after the other, and tasks are
    numbered in order of reading. In a live run the same tasks read one part, later the next.
    """
    shared: dict[int, list[tuple[int, int]]] = {}
    groups: list[tuple[list[tuple[int, int]], int | None]] = []
    for reading in run.readings:
        tasks = tasks_reading(plan, reading.source, run)
        for part in reading.parts:
            member = (reading.source, part)
            is_split = plan.source(reading.source).parts[part].as_split is not None
            are_apart = run.kind is RunKind.BATCH and len(reading.parts) > 1
            if tasks is None or not is_split or are_apart:
                groups.append(([member], tasks))
            elif tasks in shared:
                shared[tasks].append(member)
            else:
                shared[tasks] = [member]
                groups.append((shared[tasks], tasks))
    return tuple(TaskGroup(tuple(members), tasks) for members, tasks in groups)


def share_tasks(plan: PhysicalPlan, sources: Iterable[int]) -> bool:
    """Return whether some sources share tasks in every run that reads them."""
    chosen = set(sources)
    return all(
        sum(any(source in chosen for source, _ in group.parts) for group in task_groups(plan, run))
        <= 1
        for run in plan.runs
    )
