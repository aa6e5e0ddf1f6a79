"""Phases: why operators are chained or exchanged, and how they read the batch runs of a STREAMING job, in words."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from penstock.config.options import RuntimeExecutionMode
from penstock.graph.logical import Chaining
from penstock.plan.phases.edges import region_of
from penstock.plan.physical import Decision, PhysicalPlan, RunPlan
from penstock.program.channel import SINK_LEVEL, ChannelSpec, StreamPartitioner
from penstock.program.level import OperatorSpec
from penstock.program.run_settings import RunKind

WORDS: dict[StreamPartitioner, str] = {
    StreamPartitioner.HASH: "hash exchange",
    StreamPartitioner.FORWARD: "forward",
    StreamPartitioner.REBALANCE: "rebalance",
    StreamPartitioner.RESCALE: "rescale",
    StreamPartitioner.SHUFFLE: "shuffle",
    StreamPartitioner.BROADCAST: "broadcast",
    StreamPartitioner.GLOBAL: "to one subtask",
    StreamPartitioner.CUSTOM: "custom exchange",
    StreamPartitioner.NONE: "to the sink",
}
"""StreamPartitioner to its name in a plan."""

CHAINED = "chained"
"""Name of operators that call each other, in a plan."""

LOCAL = "in place"
"""Name of a channel without an exchange, in a plan."""


def explain_chains(plan: PhysicalPlan) -> PhysicalPlan:
    """Add decisions about operators that call each other directly."""
    decisions = dict.fromkeys(plan.decisions)
    for level in plan.levels:
        for op in level.operators:
            for target in op.fed_operators:
                subject = f"{op.name!r} to {plan.graph.node(target).name!r}"
                reason = f"both run at level {level.level}, so nothing has to be exchanged"
                decision = Decision(subject, CHAINED, reason)
                decisions.setdefault(decision)
    return replace(plan, decisions=tuple(decisions))


def explain_channels(plan: PhysicalPlan) -> PhysicalPlan:
    """Add a decision with the reason for each exchange."""
    decisions = dict.fromkeys(plan.decisions)
    for channel in plan.channels:
        if channel.target_level == SINK_LEVEL:
            continue
        subject = f"channel {channel.id} to {plan.graph.node(channel.target_operator).name!r}"
        if channel.is_local:
            decision = Decision(subject, LOCAL, _unchained(plan, channel))
        else:
            decision = Decision(subject, WORDS[channel.partitioner], _reason(plan, channel))
        decisions.setdefault(decision)
    return replace(plan, decisions=tuple(decisions))


def _reason(plan: PhysicalPlan, channel: ChannelSpec) -> str:
    target = plan.graph.node(channel.target_operator)
    if channel.partitioner is StreamPartitioner.HASH:
        return f"{target.name!r} keeps state by key"
    if channel.partitioner is StreamPartitioner.REBALANCE and target.parallelism is not None:
        return f"{target.name!r} has parallelism {target.parallelism}"
    if channel.partitioner is not StreamPartitioner.FORWARD:
        return "the program requests it"
    if target.kind.is_own and channel.source_level == 0:
        return f"{target.name!r} receives watermarks, ends and attributes"
    if target.kind.distinguishes_inputs:
        return f"the inputs of {target.name!r} have to meet"
    return f"{target.name!r} runs one level later, beside an input that is exchanged"


def _unchained(plan: PhysicalPlan, channel: ChannelSpec) -> str:
    if not plan.options.chaining:
        return "pipeline.operator-chaining.enabled is false"
    target = plan.graph.node(channel.target_operator)
    if target.chaining is not Chaining.ALWAYS:
        return f"{target.name!r} is not to be chained to its input"
    return f"the input of {target.name!r} is not to be chained"


_BY_ITSELF = "not grouped", "it sorts its input itself (get_operator_attributes)"
_TOGETHER = "all inputs key by key", "the inputs share their keys and have no other order"
_GROUPED = "grouped by key", "its input has a key: each state is read and written once per key"


def explain_backlog(plan: PhysicalPlan) -> PhysicalPlan:
    """Add decisions about the order in which operators with a key read history, other bounded input and results."""
    decisions = list(_results_first(plan))
    if plan.mode is RuntimeExecutionMode.STREAMING:
        decisions += chain.from_iterable(
            _of_run(plan, run) for run in plan.runs if run.kind is RunKind.BATCH
        )
    return replace(plan, decisions=tuple(dict.fromkeys((*plan.decisions, *decisions))))


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
