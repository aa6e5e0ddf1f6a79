"""Phases: choose the runtime mode of the job, and the runs of each pipeline, batch and live."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.config.options import HISTORY, HISTORY_PARALLELISM, RuntimeExecutionMode
from penstock.config.run_options import BACKLOG_SHARE
from penstock.errors import UnboundedBatchError
from penstock.plan.phases.bounded_region import RESULTS_RUN, end_of_stream_operators
from penstock.plan.phases.edges import sources_of
from penstock.plan.physical import (
    Decision,
    PhysicalPlan,
    PipelinePlan,
    Reading,
    RunPlan,
    SourcePlan,
)
from penstock.program.run_settings import RunKind

Runs = tuple[list[RunPlan], list[Decision]]
"""Runs of a pipeline, and why."""


# FLIP-327, rule 8.
def live_runs(
    plan: PhysicalPlan,
    first: int,
    results: list[SourcePlan],
    left: list[SourcePlan],
    reason: str,
) -> Runs:
    """Return the live runs of a pipeline, behind a run for the results of a bounded region."""
    runs: list[RunPlan] = []
    decisions: list[Decision] = []
    if results:
        kind = RunKind.BATCH if plan.options.backlog_as_batch else RunKind.LIVE
        read = tuple(Reading(source.id, (0,), ends=True) for source in results)
        runs.append(
            RunPlan(first, RESULTS_RUN, kind, read, final_results_only=False, hands_over=True)
        )
        reason_first = "what reads the results has all of them before other records"
        name = f"run {first} ({RESULTS_RUN})"
        decisions.append(Decision(name, kind.name.lower(), reason_first))
    index = first + len(runs)
    if not _have_history_and_company(left):
        live = _one_per_part(index, left, reason)
    else:
        live = _side_by_side(plan, index, left, reason)
    return runs + live[0], decisions + live[1]


def _have_history_and_company(sources: list[SourcePlan]) -> bool:
    return len(sources) > 1 and any(len(source.parts) > 1 for source in sources)


def _side_by_side(plan: PhysicalPlan, first: int, left: list[SourcePlan], reason: str) -> Runs:
    """Return the run that reads history and live input in the same epochs."""
    readings = tuple(
        Reading(source.id, tuple(range(len(source.parts))), ends=source.parts[-1].is_bounded)
        for source in left
    )
    run = RunPlan(first, "live", RunKind.LIVE, readings, final_results_only=False, hands_over=False)
    share = f"{plan.options.backlog_share:g}"
    subject = f"run {first} (live)"
    return [run], [
        Decision(subject, "live", reason),
        Decision(
            f"history in {subject}",
            "in the epochs of the live input",
            f"history of {_names(_with_history(left))} and live input meet, so neither waits for the "
            f"other: history has {share} of the records of an epoch while it lasts "
            f"({BACKLOG_SHARE.key}){_in_files(left)}; {_what_makes_it_batch(plan, left)}",
        ),
    ]


def _one_per_part(first: int, left: list[SourcePlan], reason: str) -> Runs:
    """Return one live run per part, aligned at the end: a source with fewer parts starts later.

    A run reads one part of a source only, because reading two at a time would lose the order per
    key.
    """
    runs: list[RunPlan] = []
    decisions: list[Decision] = []
    count = max((len(source.parts) for source in left), default=1)
    for index in range(count):
        readings = []
        for source in left:
            part = index - (count - len(source.parts))
            if part >= 0:
                last = part == len(source.parts) - 1
                ends = last and source.parts[-1].is_bounded
                readings.append(Reading(source.id, (part,), ends=ends))
        is_last = index == count - 1
        run = RunPlan(
            first + len(runs),
            "live" if is_last else "history",
            RunKind.LIVE,
            tuple(readings),
            final_results_only=False,
            hands_over=not is_last,
        )
        runs.append(run)
        decisions.append(Decision(f"run {run.index} ({run.name})", "live", reason))
    return runs, decisions


def _in_files(left: list[SourcePlan]) -> str:
    """Return the addition for history in files, which are not divided."""
    in_files = [
        source for source in left if any(part.as_split is None for part in source.parts[:-1])
    ]
    return f", of {_names(in_files)} in whole files, at least one" if in_files else ""


def _what_makes_it_batch(plan: PhysicalPlan, left: list[SourcePlan]) -> str:
    """Return in a clause the requirements for reading history as a batch run."""
    missing = []
    if not plan.options.backlog_as_batch:
        missing.append(f"{HISTORY.key}=batch")
    without = [source for source in left if len(source.parts) == 1]
    if without:
        missing.append(f"a backlog of {_names(without)}, such as HybridSource.until_head(…)")
    return f"a batch run needs {' and '.join(missing)}"


def _with_history(sources: list[SourcePlan]) -> list[SourcePlan]:
    return [source for source in sources if len(source.parts) > 1]


def _names(sources: list[SourcePlan]) -> str:
    return ", ".join(repr(source.name) for source in sources)


def explain_readers(plan: PhysicalPlan) -> PhysicalPlan:
    """Add what reads the sources that are not read by positions. After `choose_runs`."""
    return replace(plan, decisions=(*plan.decisions, *dict.fromkeys(_readers(plan))))


def _readers(plan: PhysicalPlan) -> Iterator[Decision]:
    for run in plan.runs:
        for reading in run.readings:
            source = plan.source(reading.source)
            for part in (source.parts[number] for number in reading.parts):
                reader, reason = part.read_in_batch_by, "it is history"
                if run.kind is RunKind.LIVE:
                    reader, reason = part.read_in_epochs_by, "it is read in a loop of epochs"
                if reader is not None:
                    subject = f"reader of {source.name!r} in run {run.index} ({run.name})"
                    yield Decision(subject, reader, reason)


_SMALL_HISTORY = 100_000
"""Records below which a batch run is slower than a live run: measured, see `docs/tuning.md`."""


def choose_mode(plan: PhysicalPlan) -> PhysicalPlan:
    """Resolve AUTOMATIC and refuse BATCH over unbounded sources. After `find_endpoints`."""
    configured = plan.options.mode
    unbounded = [source for source in plan.sources if not source.parts[-1].is_bounded]
    if configured is RuntimeExecutionMode.BATCH and unbounded:
        source = unbounded[0]
        raise UnboundedBatchError(
            f"execution.runtime-mode is BATCH, but source {source.name!r} never ends",
            hint="Use STREAMING, or a bounded source.",
            origin=source.origin,
        )
    if configured is not RuntimeExecutionMode.AUTOMATIC:
        reason = f"execution.runtime-mode is {configured.name} (from {plan.options.mode_from})"
        decision = Decision("job", configured.name, reason)
        return _decided(replace(plan, mode=configured), decision)
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
        reason = "execution.history is not batch"
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
            "execution.history is batch and every source has backlog",
        ),
        Decision(
            f"run {first + 1} (live)", "live", "it follows the backlog and starts with its state"
        ),
        *_small_history(history, left),
        *_own_parallelism(plan, history),
    ]


def _own_parallelism(plan: PhysicalPlan, run: RunPlan) -> list[Decision]:
    """Return that history has a parallelism of its own, if it has."""
    tasks = plan.options.history_parallelism
    if tasks is None:
        return []
    reason = f"{HISTORY_PARALLELISM.key}; the live run has {plan.options.parallelism}"
    return [Decision(f"tasks per level of run {run.index} ({run.name})", str(tasks), reason)]


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
