"""From plan and run to the programs the levels execute."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from penstock.graph.endpoints import Source, SplitSource
from penstock.plan.attributes import CUSTOM
from penstock.plan.backlog import timed_sources
from penstock.plan.combining import combined_in, with_combining
from penstock.plan.identity import source_uids
from penstock.plan.physical import PhysicalPlan, RunPlan
from penstock.plan.regions import Region, region_of
from penstock.runtime.program import (
    ChannelSpec,
    LatencySpec,
    LevelProgram,
    RunKind,
    RunSettings,
    SourceType,
    WatermarkGroup,
    source_of,
)
from penstock.runtime.routing import live_routes
from penstock.types.information import TypeInformation
from penstock.types.windows import MAX_TIMESTAMP, MIN_TIMESTAMP


@dataclass(frozen=True, slots=True)
class HandOver:
    """What a run passes to the next one beside keyed state.

    Attributes:
        watermarks: Channel to group to watermark; group -1 stands for every subtask.
        memory: uid to what an operator remembers.
    """

    watermarks: dict[int, dict[int, int]] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)


def programs_of(
    plan: PhysicalPlan,
    run: RunPlan,
    *,
    tasks: int,
    max_frame_records: int,
    handed: HandOver,
    job_parameters: dict[str, str],
    open_splits: Mapping[int, int] | None = None,
) -> tuple[LevelProgram, ...]:
    """Return one program per level.

    Args:
        plan: The job.
        run: The run they are for.
        tasks: Number of tasks per level in a batch run; a live run always has one per
            subtask.
        max_frame_records: Records per frame.
        handed: From the run before.
        job_parameters: Global job parameters.
        open_splits: Source id to the number of its splits with something left to read in a
            live run, once that is pinned. None takes the splits as the sources give them.
    """
    live = run.kind is RunKind.LIVE
    parallelism = plan.options.parallelism if live else tasks
    settings = RunSettings(
        kind=run.kind,
        parallelism=parallelism,
        max_parallelism=plan.options.max_parallelism,
        routes=live_routes(parallelism) if live else (),
        max_frame_records=max_frame_records,
        final_results_only=run.final_results_only,
        hands_over=run.hands_over,
        ended_sources=frozenset(r.source for r in run.readings if r.ends and not live),
        initial_watermarks=_initial_watermarks(plan, handed, parallelism),
        initial_memory=handed.memory,
        job_parameters=job_parameters,
        latency=_latency(plan, run),
        sorted_inputs_bytes=plan.options.sorted_inputs_bytes,
        coded_rows=plan.options.coded_rows,
        state_compression=plan.options.state_compression,
        tells_backlog=any(node.kind in CUSTOM for node in plan.graph.nodes),
        backlog_sources=plan.backlog_sources(run),
        timed_sources=timed_sources(plan),
        backlog_lag_ms=plan.options.backlog_lag_ms,
    )
    region = with_combining(
        region_of(plan, run), combined_in(plan, run), plan.options.sorted_inputs_bytes
    )
    return tuple(
        LevelProgram(
            level=level.level,
            operators=level.operators,
            source_operators=_of(region.sources, plan.source_operators) if level.level == 0 else {},
            source_channels=_of(region.sources, plan.source_channels) if level.level == 0 else {},
            inputs=_inputs(region, level.level),
            outputs=tuple(
                c for c in region.channels if c.source_level == level.level and not c.is_local
            ),
            watermark_groups={
                c.id: _groups(plan, run, c, parallelism, open_splits)
                for c in _inputs(region, level.level)
            },
            settings=settings,
            source_types=_source_types(plan) if level.level == 0 else {},
            untimed_sources=frozenset(plan.untimed_sources if level.level == 0 else ()),
            source_copies=dict(plan.source_copies if level.level == 0 else ()),
            local_channels=tuple(
                c for c in region.channels if c.source_level == level.level and c.is_local
            ),
        )
        for level in region.levels
    )


def _inputs(region: Region, level: int) -> tuple[ChannelSpec, ...]:
    return tuple(c for c in region.channels if c.target_level == level and not c.is_local)


def _latency(plan: PhysicalPlan, run: RunPlan) -> LatencySpec | None:
    """Return how latency markers are sent: in live runs, if at all."""
    interval_ms = plan.options.latency_interval_ms
    if interval_ms == 0 or run.kind is not RunKind.LIVE:
        return None
    return LatencySpec(interval_ms, {key: source_of(uid) for key, uid in source_uids(plan).items()})


def _of(
    sources: Collection[int], fed: Sequence[tuple[int, tuple[int, ...]]]
) -> dict[int, tuple[int, ...]]:
    """Return what some sources feed."""
    return {source: targets for source, targets in fed if source in sources}


def _source_types(plan: PhysicalPlan) -> dict[int, SourceType]:
    """Return the declared types of sources whose records may not have them."""
    return {
        source.id: SourceType(source.name, source.type_info, source.origin)
        for source in plan.sources
        if source.type_info.need_conversion()
        and any(_may_differ(part, source.type_info) for part in source.parts)
    }


def _may_differ(part: Source, declared: TypeInformation) -> bool:
    if isinstance(part, SplitSource) and not part.has_declared_form:
        return True
    return part.get_produced_type() != declared


def _groups(
    plan: PhysicalPlan,
    run: RunPlan,
    channel: ChannelSpec,
    parallelism: int,
    open_splits: Mapping[int, int] | None,
) -> tuple[WatermarkGroup, ...]:
    """Return the groups a channel waits for: its sources, or the subtasks of its level."""
    if channel.source_level > 0:
        return tuple(WatermarkGroup(subtask, 1) for subtask in range(parallelism))
    parts = {reading.source: reading.parts for reading in run.readings}
    groups = []
    for source_id in channel.sources:
        splits = 0
        if run.kind is RunKind.LIVE and source_id in parts:
            part = plan.source(source_id).parts[parts[source_id][0]]
            if isinstance(part, SplitSource) and open_splits is not None:
                splits = open_splits[source_id]
            elif isinstance(part, SplitSource):
                splits = len(part.splits(plan.options.parallelism))
        groups.append(WatermarkGroup(source_id, splits, _idle_ms(plan, source_id, channel.id)))
    return tuple(groups)


def _idle_ms(plan: PhysicalPlan, source: int, channel: int) -> int | None:
    """Return after how much silence a channel of level 0 stops to wait for a source.

    That of the last strategy on the way; the longest if there are several ways.
    """
    specs = {spec.id: spec for spec in plan.levels[0].operators}
    if channel in dict(plan.source_channels).get(source, ()):
        return None
    found: list[int | None] = []
    todo: list[tuple[int, int | None]] = [
        (key, None) for key in dict(plan.source_operators).get(source, ())
    ]
    while todo:
        key, idle_ms = todo.pop()
        spec = specs[key]
        if spec.timestamps is not None:
            idle_ms = spec.timestamps.idle_ms
        channels = [*spec.channels, *(n for side in spec.side_outputs for n in side.channels)]
        if channel in channels:
            found.append(idle_ms)
        local = (plan.channels[n].target_operator for n in channels if plan.channels[n].is_local)
        targets = chain(spec.chained_to, *(s.chained_to for s in spec.side_outputs), local)
        todo += [(target, idle_ms) for target in targets]
    times = [idle_ms for idle_ms in found if idle_ms is not None]
    return max(times) if times and len(times) == len(found) else None


def _initial_watermarks(
    plan: PhysicalPlan, handed: HandOver, parallelism: int
) -> dict[int, dict[int, int]]:
    return {
        channel: groups
        if plan.channels[channel].source_level == 0
        else dict.fromkeys(range(parallelism), groups[-1])
        for channel, groups in _of_job(plan, handed.watermarks).items()
    }


def _of_job(plan: PhysicalPlan, handed: dict[int, dict[int, int]]) -> dict[int, dict[int, int]]:
    """Return what a job takes of the watermarks handed to it: without time only ends of input."""
    if not plan.is_timeless:
        return handed
    return {
        channel: {
            group: mark if mark == MAX_TIMESTAMP else MIN_TIMESTAMP
            for group, mark in groups.items()
        }
        for channel, groups in handed.items()
    }
