"""The region of a plan that one run executes: the operators and channels of its pipeline."""

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
    sources = frozenset(plan.pipeline_of(run).sources)
    if len(plan.pipelines) == 1:
        return Region(plan.levels, plan.channels, sources)
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
