"""The live runs of a pipeline without a batch run over its history (FLIP-327 §2.3).

| sources | runs |
|---|---|
| one, of several parts | one per part: a run hands its state over to the next |
| several | one: each source goes from part to part by itself |

In the second row history never holds back what is live: both are read in the same epochs, and each has its
share of their records. A DataFrame is written to files beside these epochs, and is history as soon as all of it is
written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.config.backlog_options import BACKLOG_SHARE
from penstock.config.options import HISTORY
from penstock.plan.phases.bounded_region import RESULTS_RUN
from penstock.plan.physical import Decision, PhysicalPlan, Reading, RunPlan, SourcePlan
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
    at = first + len(runs)
    if not _have_history_and_company(left):
        made = _one_per_part(at, left, reason)
    else:
        made = _side_by_side(plan, at, left, reason)
    return runs + made[0], decisions + made[1]


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
    """Return what is added if history is in files, which are not divided."""
    in_files = [
        source for source in left if any(part.as_split is None for part in source.parts[:-1])
    ]
    return f", of {_names(in_files)} in whole files, at least one" if in_files else ""


def _what_makes_it_batch(plan: PhysicalPlan, left: list[SourcePlan]) -> str:
    """Return in a clause what the user can do to have history read as a batch run."""
    wanted = []
    if not plan.options.backlog_as_batch:
        wanted.append(f"{HISTORY.key}=batch")
    without = [source for source in left if len(source.parts) == 1]
    if without:
        wanted.append(f"a backlog of {_names(without)}, such as HybridSource.until_head(…)")
    return f"a batch run needs {' and '.join(wanted)}"


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
