"""The region of a plan that one run executes: all of it, or one side of `plan.phases.bounded_region`."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.plan.phases.edges import sources_of
from penstock.plan.physical import LevelPlan, PhysicalPlan, RunPlan
from penstock.program.channel import ChannelSpec


@dataclass(frozen=True, slots=True)
class Region:
    """Operators and channels of one run.

    Attributes:
        levels: Levels without the empty ones at the end.
        channels: Channels between them, and to sinks.
        sources: Ids of their sources.
    """

    levels: tuple[LevelPlan, ...]
    channels: tuple[ChannelSpec, ...]
    sources: frozenset[int]


def region_of(plan: PhysicalPlan, run: RunPlan) -> Region:
    """Return the region of a run."""
    regions = plan.regions()
    if len(regions) == 1:
        return Region(plan.levels, plan.channels, regions[0])
    sources = regions[0] if run.index == 0 else regions[1]
    levels = [
        LevelPlan(
            level.level,
            tuple(
                op
                for op in level.operators
                if sources.issuperset(sources_of(plan.graph, plan.graph.node(op.id)))
            ),
        )
        for level in plan.levels
    ]
    while len(levels) > 1 and not levels[-1].operators:
        levels.pop()
    channels = tuple(c for c in plan.channels if sources.issuperset(c.sources))
    return Region(tuple(levels), channels, sources)
