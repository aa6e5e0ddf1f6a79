"""Makes the programs of the levels of a run from the plan."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from penstock.graph.endpoints import Source
from penstock.plan.compat.function_digest import job_digest, source_uids
from penstock.plan.folding.choice import with_folds
from penstock.plan.phases.backlog import timed_sources
from penstock.plan.phases.edges import Region, region_of
from penstock.plan.phases.time import initial_watermarks, watermark_groups
from penstock.plan.physical import HandOver, LevelPlan, PhysicalPlan, RunPlan
from penstock.program.channel import ChannelSpec, WatermarkGroup
from penstock.program.level import LevelProgram, SourceType
from penstock.program.routing import live_routes
from penstock.program.run_settings import LatencySpec, RunKind, RunSettings, source_of
from penstock.types import TypeInformation


def programs_of(
    plan: PhysicalPlan,
    run: RunPlan,
    *,
    tasks: int,
    max_frame_records: int,
    handed: HandOver,
    job_parameters: dict[str, str],
    open_splits: Mapping[tuple[int, int], int] | None = None,
) -> tuple[LevelProgram, ...]:
    """Return one program per level."""
    parallelism = plan.options.parallelism if run.kind is RunKind.LIVE else tasks
    settings = _settings(plan, run, parallelism, max_frame_records, handed, job_parameters)
    behind = _behind_history(run, open_splits or {})
    settings = replace(settings, backlog_sources=settings.backlog_sources - behind)
    region = with_folds(plan, run, region_of(plan, run))
    return tuple(
        _program(
            plan,
            region,
            level,
            settings,
            {
                channel.id: watermark_groups(plan, run, channel, parallelism, open_splits)
                for channel in _inputs(region, level.level)
            },
        )
        for level in region.levels
    )


def _behind_history(run: RunPlan, open_splits: Mapping[tuple[int, int], int]) -> set[int]:
    """Return the sources of which a run reads several parts, and all parts before the last are read."""
    return {
        reading.source
        for reading in run.readings
        if len(reading.parts) > 1
        and not any(open_splits.get((reading.source, part), 1) for part in reading.parts[:-1])
    }


def _settings(
    plan: PhysicalPlan,
    run: RunPlan,
    parallelism: int,
    max_frame_records: int,
    handed: HandOver,
    job_parameters: dict[str, str],
) -> RunSettings:
    live = run.kind is RunKind.LIVE
    return RunSettings(
        kind=run.kind,
        parallelism=parallelism,
        max_parallelism=plan.options.max_parallelism,
        routes=live_routes(parallelism) if live else (),
        max_frame_records=max_frame_records,
        hands_over=run.hands_over,
        ended_sources=frozenset(r.source for r in run.readings if r.ends and not live),
        initial_watermarks=initial_watermarks(plan, handed, parallelism),
        initial_memory=handed.memory,
        job_parameters=job_parameters,
        final_results_only=run.final_results_only,
        latency=_latency(plan, run),
        sorted_inputs_bytes=plan.options.sorted_inputs_bytes,
        coded_rows=plan.options.coded_rows,
        state_compression=plan.options.state_compression,
        sends_backlog=any(node.kind.is_own for node in plan.graph.nodes),
        backlog_sources=plan.backlog_sources(run),
        backlog_behind=plan.backlog_behind(run),
        timed_sources=timed_sources(plan),
        backlog_lag_ms=plan.options.backlog_lag_ms,
        code=None if plan.options.ignores_key_kinds else job_digest(plan),
    )


def _program(
    plan: PhysicalPlan,
    region: Region,
    level: LevelPlan,
    settings: RunSettings,
    groups: dict[int, tuple[WatermarkGroup, ...]],
) -> LevelProgram:
    first = level.level == 0
    leaving = [c for c in region.channels if c.source_level == level.level]
    return LevelProgram(
        level=level.level,
        operators=level.operators,
        source_operators=_of(region.sources, plan.source_operators) if first else {},
        source_channels=_of(region.sources, plan.source_channels) if first else {},
        inputs=_inputs(region, level.level),
        outputs=tuple(channel for channel in leaving if not channel.is_local),
        watermark_groups=groups,
        settings=settings,
        source_types=_source_types(plan) if first else {},
        untimed_sources=frozenset(plan.untimed_sources if first else ()),
        source_copies=dict(plan.source_copies if first else ()),
        local_channels=tuple(channel for channel in leaving if channel.is_local),
    )


def _inputs(region: Region, level: int) -> tuple[ChannelSpec, ...]:
    return tuple(c for c in region.channels if c.target_level == level and not c.is_local)


def _latency(plan: PhysicalPlan, run: RunPlan) -> LatencySpec | None:
    """Return the settings of latency markers; only live runs send them."""
    options = plan.options
    if options.latency_interval_ms == 0 or run.kind is not RunKind.LIVE:
        return None
    return LatencySpec(
        options.latency_interval_ms,
        {key: source_of(uid) for key, uid in source_uids(plan).items()},
        options.latency_granularity,
        options.latency_history,
    )


def _of(
    sources: Collection[int], fed: Sequence[tuple[int, tuple[int, ...]]]
) -> dict[int, tuple[int, ...]]:
    """Return the operators or channels that some sources feed."""
    return {source: targets for source, targets in fed if source in sources}


def _source_types(plan: PhysicalPlan) -> dict[int, SourceType]:
    """Return the declared types of sources whose records must be coerced."""
    return {
        source.id: SourceType(source.name, source.type_info, source.origin)
        for source in plan.sources
        if source.type_info.need_conversion()
        and any(_may_differ(part, source.type_info) for part in source.parts)
    }


def _may_differ(part: Source, declared: TypeInformation) -> bool:
    return not part.has_declared_form or part.get_produced_type() != declared
