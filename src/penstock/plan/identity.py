"""What the parts of a plan are called outside of it: by uid, so that it survives a new plan."""

from __future__ import annotations

from collections import Counter

from penstock.graph.logical import NodeKind
from penstock.plan.physical import PhysicalPlan
from penstock.runtime.program import SINK_LEVEL


def source_uids(plan: PhysicalPlan) -> dict[int, str]:
    """Return source id to uid: the user's, else name and position among equal names."""
    seen: Counter[str] = Counter()
    uids: dict[int, str] = {}
    for node in plan.graph.of_kind(NodeKind.SOURCE):
        seen[node.name] += 1
        uids[node.id] = node.uid or f"{node.name}-{seen[node.name]}"
    return uids


def channel_ends(plan: PhysicalPlan) -> dict[int, tuple[str, str]]:
    """Return channel id to the uids of sender and receiver; only those between levels."""
    sources = source_uids(plan)
    operators = [op for level in plan.levels for op in level.operators]
    receivers = {op.id: op.uid for op in operators}
    senders = {channel: op.uid for op in operators for channel in op.channels}
    senders |= {channel: sources[source] for source, fed in plan.source_channels for channel in fed}
    return {
        channel.id: (senders[channel.id], receivers[channel.target_operator])
        for channel in plan.channels
        if channel.target_level != SINK_LEVEL and not channel.is_local
    }
