"""Phase: which records a batch run sends with their keys, and combines. After `drop_timestamps`.

A map-side combine calls a reduce function on other groups of records than the program says, so it
needs more than speed as a reason. Records for an operator are combined if

* its function is associative: somebody promised it, or the declared type of a field proves it.
  Records of a key keep their order, so it need not be commutative;
* the run asks for its last result only: of a rolling reduce, one result per key
  (`RunPlan.final_results_only`); of a window, one that fires at the end of an input that ends;
* nobody can tell the records apart: they have no timestamps, and the function has no `open`,
  in which it could get hold of state, and no `close`.

Without the first they are sent with their keys all the same, and folded as they come at the other end.
The first is about a job and told here; the second is about a run, see `paired_in`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from operator import itemgetter
from typing import Any

from penstock.graph.logical import Node
from penstock.plan.phases.attributes import asking
from penstock.plan.phases.column_combining import columns_combined
from penstock.plan.phases.regions import Region, region_of
from penstock.plan.phases.time import untimed_channels
from penstock.plan.physical import Decision, PhysicalPlan, RunPlan
from penstock.program.channel import SINK_LEVEL, ChannelSpec
from penstock.program.combining import ColumnCombine, CombineSpec
from penstock.program.life_cycle import has_life_cycle
from penstock.program.operator_spec import OperatorSpec
from penstock.program.operators import KEYED_REDUCE
from penstock.program.run_settings import RunKind
from penstock.program.window_operation import Fold

PROMISE = "is_associative"
"""The method by which a function object promises it."""


def choose_combining(plan: PhysicalPlan) -> PhysicalPlan:
    """Mark the channels whose records may be combined, and say why others are not."""
    untimed = untimed_channels(plan)
    channels = list(plan.channels)
    decisions = list(plan.decisions)
    for op in _reducers(plan):
        fed = [
            channel
            for channel in plan.channels
            if channel.target_level != SINK_LEVEL and channel.target_operator == op.id
        ]
        node = plan.graph.node(op.id)
        because = _promise(node, op)
        obstacle = _obstacle(plan, op, because)
        if obstacle is None and not all(channel.id in untimed for channel in fed):
            obstacle = f"{op.name!r} reduces the records of a key in order of their timestamps"
        if _may_be_paired(plan, op) and all(channel.id in untimed for channel in fed):
            regroups = obstacle is None
            for channel in fed:
                combine = _combine(op, regroups=regroups)
                if regroups:
                    columns = columns_combined(plan, channel, combine)
                    combine = replace(combine, columns=columns)
                    decisions += _of_columns(plan, columns)
                channels[channel.id] = replace(channel, combine=combine)
        for channel in fed:
            subject = f"records on channel {channel.id} to {op.name!r}"
            if obstacle is None:
                decision = Decision(subject, "combined by key before they are sent", str(because))
            else:
                decision = Decision(subject, "not combined before they are sent", obstacle)
            if decision not in decisions:
                decisions.append(decision)
    return replace(plan, channels=tuple(channels), decisions=tuple(decisions))


def paired_in(plan: PhysicalPlan, run: RunPlan) -> frozenset[int]:
    """Return the operators whose records a run sends with their keys, combined or not."""
    fed = {channel.target_operator for channel in plan.channels if channel.combine is not None}
    here = {op.id for level in region_of(plan, run).levels for op in level.operators}
    return frozenset(op.id for op in _operators(plan) if op.id in fed & here and _suits(op, run))


def with_pairs(region: Region, paired: frozenset[int], memory_bytes: int) -> Region:
    """Return what a run executes, with pairs of key and record for some operators and no others.

    Args:
        region: What it executes.
        paired: The operators.
        memory_bytes: What the channels of a level may use together in a task.
    """
    senders = Counter(c.source_level for c in region.channels if _is_for(c, paired))

    def channel(spec: ChannelSpec) -> ChannelSpec:
        if spec.combine is None or not _is_for(spec, paired):
            return replace(spec, combine=None)
        share = memory_bytes // senders[spec.source_level]
        return replace(spec, combine=replace(spec.combine, memory_bytes=share))

    def operator(spec: OperatorSpec) -> OperatorSpec:
        if spec.id not in paired:
            return spec
        return replace(spec, key_selectors=(itemgetter(0),), takes_pairs=True)

    return replace(
        region,
        channels=tuple(map(channel, region.channels)),
        levels=tuple(
            replace(level, operators=tuple(map(operator, level.operators)))
            for level in region.levels
        ),
    )


def _of_columns(
    plan: PhysicalPlan, found: tuple[tuple[int, ColumnCombine], ...]
) -> Iterator[Decision]:
    for source, columns in found:
        yield Decision(
            f"columns of {plan.source(source).name!r}",
            "combined by Spark SQL before records are made of them",
            f"{columns.how} of {columns.field!r} by {columns.key!r} is the same there, for whole "
            "numbers; NULLs are left to Python",
        )


def _is_for(channel: ChannelSpec, operators: frozenset[int]) -> bool:
    return channel.target_level != SINK_LEVEL and channel.target_operator in operators


def _suits(op: OperatorSpec, run: RunPlan) -> bool:
    """Return whether nothing is seen in a run of what an operator does between its records."""
    if run.kind is not RunKind.BATCH:
        return False
    if op.kind == KEYED_REDUCE:
        return run.final_results_only
    return not run.hands_over and all(reading.ends for reading in run.readings)


def _reducers(plan: PhysicalPlan) -> Iterator[OperatorSpec]:
    """Yield the operators that some run lets answer once per key, with a reduction."""
    for run in plan.runs:
        if run.kind is RunKind.BATCH:
            for level in region_of(plan, run).levels:
                yield from (op for op in level.operators if _reduces(op) and _suits(op, run))


def _reduces(op: OperatorSpec) -> bool:
    if op.window is None:
        return op.kind == KEYED_REDUCE
    return op.window.fold is Fold.REDUCE and op.window.end_of_stream is not None


def _may_be_paired(plan: PhysicalPlan, op: OperatorSpec) -> bool:
    return plan.options.combines and not has_life_cycle(_function(op))


def _obstacle(plan: PhysicalPlan, op: OperatorSpec, promise: str | None) -> str | None:
    if not plan.options.combines:
        return "execution.batch.combine is false"
    if promise is None:
        return f"nobody promises that its function is associative (associative=True, {PROMISE})"
    if has_life_cycle(_function(op)):
        return f"{type(_function(op)).__name__} has an open or close of its own"
    return None


def _promise(node: Node, op: OperatorSpec) -> str | None:
    if node.associative is not None:
        return node.associative
    function = _function(op)
    said = getattr(function, PROMISE, None)
    if said is None:
        return None
    with asking(node, PROMISE):
        if not said():
            return None
    return f"{PROMISE} of {type(function).__name__} is True"


def _combine(op: OperatorSpec, *, regroups: bool) -> CombineSpec:
    function, declared = _function(op), op.result_type
    method = op.method
    if op.window is not None:
        kept = op.window.kept_type
        method, declared = "reduce", kept if kept.need_conversion() else None
    call = getattr(function, method) if method else function
    return CombineSpec(call, declared, op.name, op.uid, op.origin, regroups=regroups)


def _function(op: OperatorSpec) -> Any:
    return op.function if op.window is None else op.window.fold_function


def _operators(plan: PhysicalPlan) -> Iterator[OperatorSpec]:
    return (op for level in plan.levels for op in level.operators)
