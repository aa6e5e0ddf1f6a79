"""The uids of sources, operators and channels. Unlike ids, they are stable between plans."""

from __future__ import annotations

from penstock.plan.phases.generated_uids import source_names
from penstock.plan.physical import PhysicalPlan
from penstock.program.channel import SINK_LEVEL
from penstock.program.operators import SOURCE


def source_uids(plan: PhysicalPlan) -> dict[int, str]:
    """Return source id to uid: the user's, else name and position among equal names."""
    made = source_names(plan.graph)
    return {node.id: node.uid or made[node.id].text for node in plan.graph.of_kind(SOURCE)}


def numbered_sources(plan: PhysicalPlan) -> frozenset[int]:
    """Return the sources that only their order distinguishes: they have no uid and the same name."""
    made = source_names(plan.graph)
    return frozenset(source for source, uid in made.items() if uid.is_numbered)


def numbered_uids(plan: PhysicalPlan) -> frozenset[str]:
    """Return the uids of the operators that only their order distinguishes."""
    made = (node.generated_uid for node in plan.graph.nodes if node.uid is None)
    return frozenset(uid.text for uid in made if uid is not None and uid.is_numbered)


def channel_ends(plan: PhysicalPlan) -> dict[int, tuple[str, str]]:
    """Return channel id to the uids of sender and receiver, for channels between levels."""
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
