"""Phases: choose the runtime mode of the job, and the runs of each pipeline (FLIP-327 §2.2, FLIP-309).

| mode | interval-during-backlog | runs of a pipeline |
|---|---|---|
| BATCH | any | one batch run over everything |
| STREAMING | unset or > 0 | live runs only, see `plan.phases.live_runs` |
| STREAMING | 0 ("mixed") | a batch run over the backlog, then a live run |

A bounded region (`plan.phases.bounded_region`) is a pipeline of one batch run in STREAMING mode.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.config.options import HISTORY, RuntimeExecutionMode
from penstock.errors import UnboundedBatchError
from penstock.plan.phases.bounded_region import end_of_stream_operators
from penstock.plan.phases.edges import sources_of
from penstock.plan.phases.live_runs import Runs, live_runs
from penstock.plan.physical import (
    Decision,
    PhysicalPlan,
    PipelinePlan,
    Reading,
    RunPlan,
    SourcePlan,
)
from penstock.program.run_settings import RunKind

_SMALL_HISTORY = 100_000
"""Records below which a batch run is slower than a live run: measured, see `docs/tuning.md`."""


def choose_mode(plan: PhysicalPlan) -> PhysicalPlan:
    """Resolve AUTOMATIC and refuse BATCH over unbounded sources. After `find_endpoints`.

    Raises:
        UnboundedBatchError: The mode is BATCH and a source is unbounded.
    """
    asked = plan.options.mode
    unbounded = [source for source in plan.sources if not source.parts[-1].is_bounded]
    if asked is RuntimeExecutionMode.BATCH and unbounded:
        source = unbounded[0]
        raise UnboundedBatchError(
            f"execution.runtime-mode is BATCH, but source {source.name!r} never ends",
            hint="Use STREAMING, or a bounded source.",
            origin=source.origin,
        )
    if asked is not RuntimeExecutionMode.AUTOMATIC:
        reason = f"execution.runtime-mode is {asked.name} (from {plan.options.mode_from})"
        decision = Decision("job", asked.name, reason)
        return _decided(replace(plan, mode=asked), decision)
    mode = RuntimeExecutionMode.STREAMING if unbounded else RuntimeExecutionMode.BATCH
    why = f"source {unbounded[0].name!r} never ends" if unbounded else "every source ends"
    return _decided(replace(plan, mode=mode), Decision("job", mode.name, f"AUTOMATIC: {why}"))


# FLIP-327, rule 1.
def choose_runs(plan: PhysicalPlan) -> PhysicalPlan:
    """Split every pipeline into runs. After `find_pipelines`."""
    if plan.mode is RuntimeExecutionMode.BATCH:
        return _batch_only(plan)
    plan = replace(plan, runs=())
    for pipeline in plan.pipelines:
        runs, decisions = _runs_of(plan, pipeline)
        after = tuple(run.index for run in plan.runs if run.pipeline in pipeline.after)
        first, *later = (replace(run, pipeline=pipeline.index) for run in runs)
        plan = replace(plan, runs=(*plan.runs, replace(first, after=after), *later))
        for decision in decisions:
            plan = _decided(plan, decision)
    return plan


# FLIP-327, rules 8, 9.
def _runs_of(plan: PhysicalPlan, pipeline: PipelinePlan) -> Runs:
    """Return the runs of a pipeline, and why."""
    first = len(plan.runs)
    sources = [plan.source(source) for source in pipeline.sources]
    if pipeline.is_region:
        return _bounded_region(plan, first, sources)
    results = [source for source in sources if source.parts[0].gives_results]
    left = [source for source in sources if source not in results]
    without_backlog = [source for source in left if len(source.parts) == 1]
    if not plan.options.backlog_as_batch:
        reason = "execution.checkpointing.interval-during-backlog is not 0"
    elif without_backlog:
        reason = (
            f"source {without_backlog[0].name!r} has no backlog: only the parts of a "
            "HybridSource before its last are, and the job leaves backlog when all sources have"
        )
    else:
        return _history_then_live(plan, first, results, left)
    return live_runs(plan, first, results, left, reason)


def _history_then_live(
    plan: PhysicalPlan, first: int, results: list[SourcePlan], left: list[SourcePlan]
) -> Runs:
    history = RunPlan(
        first,
        "history",
        RunKind.BATCH,
        tuple(
            Reading(s.id, (0,), ends=True)
            if s in results
            else Reading(s.id, tuple(range(len(s.parts) - 1)), ends=False)
            for s in sorted([*results, *left], key=_id)
        ),
        final_results_only=plan.options.latest_in_backlog,
        hands_over=True,
    )
    live = RunPlan(
        first + 1,
        "live",
        RunKind.LIVE,
        tuple(Reading(s.id, (len(s.parts) - 1,), ends=s.parts[-1].is_bounded) for s in left),
        final_results_only=False,
        hands_over=False,
    )
    return [history, live], [
        Decision(
            f"run {first} (history)",
            "batch",
            "execution.checkpointing.interval-during-backlog is 0 and every source has backlog",
        ),
        Decision(
            f"run {first + 1} (live)", "live", "it follows the backlog and starts with its state"
        ),
        *_small_history(history, left),
    ]


def _small_history(run: RunPlan, left: list[SourcePlan]) -> list[Decision]:
    """Return the advice to read little history in a live run, if all of it is known to be little."""
    counts = [part.known_records for source in left for part in source.parts[:-1]]
    known = [count for count in counts if count is not None]
    if not left or len(known) < len(counts) or sum(known) >= _SMALL_HISTORY:
        return []
    reason = (
        f"it has {sum(known):,} records, and to start a batch run takes longer than it saves below "
        f"about {_SMALL_HISTORY:,}; without {HISTORY.key}=batch a live run reads them"
    )
    return [Decision(f"run {run.index} ({run.name})", "slower than a live run", reason)]


def _batch_only(plan: PhysicalPlan) -> PhysicalPlan:
    run = RunPlan(
        0,
        "batch",
        RunKind.BATCH,
        tuple(Reading(s.id, tuple(range(len(s.parts))), ends=True) for s in plan.sources),
        final_results_only=True,
        hands_over=False,
    )
    return _decided(
        replace(plan, runs=(run,)),
        Decision("run 0 (batch)", "batch", "the mode is BATCH; rolling aggregates emit once"),
    )


# FLIP-331, rule 3.
def _bounded_region(plan: PhysicalPlan, first: int, sources: list[SourcePlan]) -> Runs:
    """Return the batch run of a bounded region."""
    run = RunPlan(
        first,
        "bounded",
        RunKind.BATCH,
        tuple(Reading(s.id, tuple(range(len(s.parts))), ends=True) for s in sources),
        final_results_only=False,
        hands_over=False,
    )
    inside = {source.id for source in sources}
    operators = ", ".join(
        repr(node.name)
        for node in end_of_stream_operators(plan.graph)
        if inside.issuperset(sources_of(plan.graph, node))
    )
    reason = f"{operators} answers only at the end of its input, which has one"
    return [run], [Decision(f"run {first} (bounded)", "batch", reason)]


def _id(source: SourcePlan) -> int:
    return source.id


def _decided(plan: PhysicalPlan, decision: Decision) -> PhysicalPlan:
    if decision in plan.decisions:
        return plan
    return replace(plan, decisions=(*plan.decisions, decision))
