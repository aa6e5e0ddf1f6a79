"""Phases: why operators are chained or exchanged, in words. After `assign_levels`."""

from __future__ import annotations

from dataclasses import replace

from penstock.graph.logical import Chaining
from penstock.plan.physical import Decision, PhysicalPlan
from penstock.program.channel import SINK_LEVEL, ChannelSpec, StreamPartitioner

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
"""StreamPartitioner to what a plan calls it."""

CHAINED = "chained"
"""Name of operators that call each other, in a plan."""

LOCAL = "in place"
"""Name of a channel without an exchange, in a plan."""


def explain_chains(plan: PhysicalPlan) -> PhysicalPlan:
    """Say which operators call each other directly."""
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
    """Say why each exchange is there."""
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
        return "the program asks for it"
    if target.kind.is_own and channel.source_level == 0:
        return f"{target.name!r} is told of watermarks, ends and attributes"
    if target.kind.distinguishes_inputs:
        return f"the inputs of {target.name!r} have to meet"
    return f"{target.name!r} runs one level later, beside an input that is exchanged"


def _unchained(plan: PhysicalPlan, channel: ChannelSpec) -> str:
    if not plan.options.chaining:
        return "pipeline.operator-chaining.enabled is false"
    target = plan.graph.node(channel.target_operator)
    if target.chaining is not Chaining.ALWAYS:
        return f"{target.name!r} is not to be chained to what it reads"
    return f"what {target.name!r} reads is not to be chained"
