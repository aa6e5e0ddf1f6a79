"""Phases: choose the runtime mode and the runs of the job (FLIP-327 §2.2, FLIP-309).

| mode | interval-during-backlog | runs |
|---|---|---|
| BATCH | any | one batch run over everything |
| STREAMING | unset or > 0 | live runs only: one per part of a hybrid source |
| STREAMING | 0 ("mixed") | a batch run over the backlog, then a live run |

In STREAMING mode a batch run over the bounded region (`plan.phases.bounded_region`), if there is one, is first.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.config.execution_mode import RuntimeExecutionMode
from penstock.errors import UnboundedBatchError
from penstock.plan.phases.bounded_region import (
    RESULTS_RUN,
    end_of_stream_operators,
    is_result,
    region_sources,
)
from penstock.plan.physical import Decision, PhysicalPlan, Reading, RunPlan
from penstock.program.operators import SOURCE
from penstock.program.run_settings import RunKind


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


def choose_runs(plan: PhysicalPlan) -> PhysicalPlan:
    """Split the job into runs. After `choose_mode`."""
    if plan.mode is RuntimeExecutionMode.BATCH:
        return _batch_only(plan)
    bounded, plan = _bounded_region(plan)
    if bounded is not None and len(bounded.readings) == len(plan.sources):
        return plan
    results = {node.id for node in plan.graph.of_kind(SOURCE) if is_result(node)}
    without_backlog = [
        source
        for source in plan.sources
        if len(source.parts) == 1 and source.id not in results | _read_by(bounded)
    ]
    if not plan.options.backlog_as_batch:
        reason = "execution.checkpointing.interval-during-backlog is not 0"
        return _live_only(plan, bounded, reason)
    if without_backlog:
        reason = (
            f"source {without_backlog[0].name!r} has no backlog: only the parts of a "
            "HybridSource before its last are, and the job leaves backlog when all sources have"
        )
        return _live_only(plan, bounded, reason)
    first = 0 if bounded is None else 1
    left = [source for source in plan.sources if source.id not in _read_by(bounded)]
    history = RunPlan(
        first,
        "history",
        RunKind.BATCH,
        tuple(
            Reading(s.id, (0,), ends=True)
            if s.id in results
            else Reading(s.id, tuple(range(len(s.parts) - 1)), ends=False)
            for s in left
        ),
        final_results_only=plan.options.latest_in_backlog,
        hands_over=True,
    )
    live = RunPlan(
        first + 1,
        "live",
        RunKind.LIVE,
        tuple(
            Reading(s.id, (len(s.parts) - 1,), ends=s.parts[-1].is_bounded)
            for s in left
            if s.id not in results
        ),
        final_results_only=False,
        hands_over=False,
    )
    decided = _decided(
        replace(plan, runs=(*(() if bounded is None else (bounded,)), history, live)),
        Decision(
            f"run {first} (history)",
            "batch",
            "execution.checkpointing.interval-during-backlog is 0 and every source has backlog",
        ),
    )
    return _decided(
        decided,
        Decision(
            f"run {first + 1} (live)", "live", "it follows the backlog and starts with its state"
        ),
    )


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


def _bounded_region(plan: PhysicalPlan) -> tuple[RunPlan | None, PhysicalPlan]:
    """Return the batch run of the bounded region, None if there is no such region."""
    region = region_sources(plan.graph)
    if not region:
        return None, plan
    run = RunPlan(
        0,
        "bounded",
        RunKind.BATCH,
        tuple(
            Reading(s.id, tuple(range(len(s.parts))), ends=True)
            for s in plan.sources
            if s.id in region
        ),
        final_results_only=False,
        hands_over=False,
    )
    operators = ", ".join(repr(node.name) for node in end_of_stream_operators(plan.graph))
    reason = f"{operators} answers only at the end of its input, which has one"
    decided = _decided(plan, Decision("run 0 (bounded)", "batch", reason))
    return run, replace(decided, runs=(run,))


def _results_run(plan: PhysicalPlan, results: list[int]) -> RunPlan:
    """Return the run that reads the results of the bounded region; they are backlog."""
    return RunPlan(
        1,
        RESULTS_RUN,
        RunKind.BATCH if plan.options.backlog_as_batch else RunKind.LIVE,
        tuple(Reading(source, (0,), ends=True) for source in results),
        final_results_only=False,
        hands_over=True,
    )


def _read_by(bounded: RunPlan | None) -> set[int]:
    return set() if bounded is None else {reading.source for reading in bounded.readings}


def _live_only(plan: PhysicalPlan, bounded: RunPlan | None, reason: str) -> PhysicalPlan:
    """Plan one live run per part, aligned at the end: a source with fewer parts starts later.

    A run reads one part of a source only, because reading two at a time would lose the order per
    key. The results of the bounded region have a separate run before.
    """
    results = {node.id for node in plan.graph.of_kind(SOURCE) if is_result(node)}
    left = [source for source in plan.sources if source.id not in results | _read_by(bounded)]
    count = max((len(source.parts) for source in left), default=1)
    runs: list[RunPlan] = [] if bounded is None else [bounded]
    if results:
        runs.append(_results_run(plan, sorted(results)))
        reason_first = "what reads the results has all of them before other records"
        name, kind = f"run 1 ({RESULTS_RUN})", runs[1].kind.name.lower()
        plan = _decided(plan, Decision(name, kind, reason_first))
    first = len(runs)
    for index in range(count):
        readings = []
        for source in left:
            part = index - (count - len(source.parts))
            if part >= 0:
                last = part == len(source.parts) - 1
                ends = last and source.parts[-1].is_bounded
                readings.append(Reading(source.id, (part,), ends=ends))
        is_last = index == count - 1
        name = "live" if is_last else "history"
        runs.append(
            RunPlan(
                first + index,
                name,
                RunKind.LIVE,
                tuple(readings),
                final_results_only=False,
                hands_over=not is_last,
            )
        )
    plan = replace(plan, runs=tuple(runs))
    for run in runs[first:]:
        plan = _decided(plan, Decision(f"run {run.index} ({run.name})", "live", reason))
    return plan


def _decided(plan: PhysicalPlan, decision: Decision) -> PhysicalPlan:
    if decision in plan.decisions:
        return plan
    return replace(plan, decisions=(*plan.decisions, decision))
