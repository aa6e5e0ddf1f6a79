"""Phase: choose what executes each live run: a loop of Spark jobs, or a streaming query.

The loop decides in the driver which positions an epoch reads, so every part that the run reads must be
read by positions. Files have positions too: the driver lists and numbers them. The progress of any other
source is known only to the stream of Spark that reads it, which is part of a query.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from penstock.config.live_options import LIVE_ENGINE
from penstock.errors import GraphError
from penstock.graph.endpoints import Source
from penstock.plan.physical import Decision, PhysicalPlan, RunPlan, SourcePlan
from penstock.program.run_settings import LiveEngine, RunKind


def choose_engines(plan: PhysicalPlan) -> PhysicalPlan:
    """Choose the engine of every live run. After `choose_runs`.

    Raises:
        GraphError: A run must be a query, and a source in it has heads.
    """
    runs = tuple(_with_engine(plan, run) if run.kind is RunKind.LIVE else run for run in plan.runs)
    decisions = list(plan.decisions)
    for run in runs:
        if run.engine is not None:
            subject = f"engine of run {run.index} ({run.name})"
            decisions.append(Decision(subject, run.engine.value, run.engine_reason))
        decisions += _readers(plan, run)
    decisions = [*dict.fromkeys(decisions), *ignored_in_queries(plan, runs)]
    return replace(plan, runs=runs, decisions=tuple(decisions))


def _with_engine(plan: PhysicalPlan, run: RunPlan) -> RunPlan:
    engine, reason = _engine(plan, run)
    return replace(run, engine=engine, engine_reason=reason)


def _engine(plan: PhysicalPlan, run: RunPlan) -> tuple[LiveEngine, str]:
    needs_query = None
    if plan.options.live_engine is LiveEngine.QUERY:
        needs_query = f"{LIVE_ENGINE.key} is {LiveEngine.QUERY.value}"
    for source, part in _parts(plan, run):
        has_positions = part.as_split is not None or part.read_in_epochs_by is not None
        if not has_positions and needs_query is None:
            needs_query = f"source {source.name!r} is read by {part.streamed_by}"
    if needs_query is None:
        return LiveEngine.JOBS, "all that it reads is read by positions"
    for source, part in _parts(plan, run):
        asks = None if part.as_split is None else part.as_split.asks_driver
        if asks is not None:
            raise GraphError(
                f"source {source.name!r} {asks}, which only the engine jobs asks for, and run "
                f"{run.index} ({run.name}) is a query: {needs_query}",
                hint=f"Read them in jobs of their own, with {LIVE_ENGINE.key} left at jobs.",
                origin=source.origin,
            )
    return LiveEngine.QUERY, needs_query


def _readers(plan: PhysicalPlan, run: RunPlan) -> Iterator[Decision]:
    """Yield what reads the sources that can be read in several ways."""
    for source, part in _parts(plan, run):
        if part.read_in_batch_by is None:
            continue
        reader, reason = part.read_in_batch_by, "it is history"
        if run.engine is LiveEngine.JOBS:
            reader, reason = str(part.read_in_epochs_by), "it is read in a loop of epochs"
        elif run.engine is LiveEngine.QUERY:
            reader, reason = part.streamed_by, "it is read in a query"
        yield Decision(f"reader of {source.name!r} in run {run.index} ({run.name})", reader, reason)


def ignored_in_queries(plan: PhysicalPlan, runs: Iterable[RunPlan]) -> Iterator[Decision]:
    """Yield the settings of sources that have no effect because a run is a query."""
    for run in runs:
        for source, part in _parts(plan, run):
            if run.engine is LiveEngine.QUERY and part.ignored_in_query is not None:
                yield Decision(
                    f"{part.ignored_in_query} of {source.name!r} in run {run.index} ({run.name})",
                    "no effect",
                    f"it is read in a query, by {part.streamed_by}",
                )


def _parts(plan: PhysicalPlan, run: RunPlan) -> Iterator[tuple[SourcePlan, Source]]:
    """Yield the parts that a run reads, each with its source."""
    for reading in run.readings:
        source = plan.source(reading.source)
        for part in reading.parts:
            yield source, source.parts[part]
