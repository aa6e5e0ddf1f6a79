"""Phase: how operators read the batch runs of a STREAMING job, in words. After `assign_levels`."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from penstock.config.options import RuntimeExecutionMode
from penstock.plan.phases.regions import region_of
from penstock.plan.physical import Decision, PhysicalPlan, RunPlan
from penstock.program.operator_spec import OperatorSpec
from penstock.program.run_settings import RunKind

_BY_ITSELF = "not grouped", "get_operator_attributes says that it sorts its input itself"
_TOGETHER = "all inputs key by key", "the inputs share their keys and have no other order"
_GROUPED = "grouped by key", "its input has a key: each state is read and written once per key"


def explain_backlog(plan: PhysicalPlan) -> PhysicalPlan:
    """Say how operators with a key read history and other bounded input, and who reads results first."""
    made = list(_results_first(plan))
    if plan.mode is RuntimeExecutionMode.STREAMING:
        made += chain.from_iterable(
            _of_run(plan, run) for run in plan.runs if run.kind is RunKind.BATCH
        )
    return replace(plan, decisions=tuple(dict.fromkeys((*plan.decisions, *made))))


def _results_first(plan: PhysicalPlan) -> list[Decision]:
    readers = {spec.target_name: None for spec in plan.channels if spec.has_results}
    reason = "another source feeds it too, and results come first in every mode"
    return [
        Decision(
            f"results of the bounded region to {name!r}", "before other records of a key", reason
        )
        for name in readers
    ]


def _of_run(plan: PhysicalPlan, run: RunPlan) -> list[Decision]:
    operators = [op for level in region_of(plan, run).levels for op in level.operators]
    return [
        Decision(f"{op.name!r} in run {run.index} ({run.name})", *_how(op))
        for op in operators
        if op.kind.is_keyed
    ]


def _how(op: OperatorSpec) -> tuple[str, str]:
    if op.sorts_itself:
        return _BY_ITSELF
    return _TOGETHER if op.kind.distinguishes_inputs else _GROUPED
