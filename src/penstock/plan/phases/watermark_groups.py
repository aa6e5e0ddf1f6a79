"""The groups whose watermarks a channel waits for, and its initial watermarks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from penstock.graph.endpoints import Source
from penstock.plan.hand_over import HandOver
from penstock.plan.physical import PhysicalPlan, RunPlan
from penstock.program.channel import ChannelSpec, WatermarkGroup
from penstock.program.run_settings import RunKind
from penstock.program.traverse import reachable
from penstock.program.windows import MAX_TIMESTAMP, MIN_TIMESTAMP


def watermark_groups(
    plan: PhysicalPlan,
    run: RunPlan,
    channel: ChannelSpec,
    parallelism: int,
    open_splits: Mapping[tuple[int, int], int] | None,
) -> tuple[WatermarkGroup, ...]:
    """Return the groups a channel waits for: its sources, or the subtasks of its level."""
    if channel.source_level > 0:
        return tuple(
            WatermarkGroup(subtask, 1)
            for subtask in range(min(channel.senders or parallelism, parallelism))
        )
    parts = {reading.source: reading.parts for reading in run.readings}
    groups = []
    for source_id in channel.sources:
        splits = [(0, False)]
        if run.kind is RunKind.LIVE and source_id in parts:
            splits = [
                (_splits(plan, part, (open_splits or {}).get((source_id, number))), _may_grow(part))
                for number in parts[source_id]
                for part in [plan.source(source_id).parts[number]]
            ]
        idle_ms = _idle_ms(plan, source_id, channel.id)
        (count, may_grow), *later = splits
        groups.append(WatermarkGroup(source_id, count, idle_ms, may_grow, tuple(later)))
    return tuple(groups)


def _may_grow(part: Source) -> bool:
    return part.as_split is not None and part.as_split.is_log and not part.is_bounded


def _splits(plan: PhysicalPlan, part: Source, opened: int | None) -> int:
    """Return the number of splits of a part; 0 if it is not fixed."""
    if part.as_split is None:
        return 0
    if opened is not None:
        return opened
    return len(part.as_split.exact_start(plan.options.parallelism).ranges)


def _idle_ms(plan: PhysicalPlan, source: int, channel: int) -> int | None:
    """Return the time without records after which a source of a channel of level 0 is idle.

    It is that of the last strategy on the path; the longest if there are several paths.
    """
    specs = {spec.id: spec for spec in plan.levels[0].operators}
    if channel in dict(plan.source_channels).get(source, ()):
        return None

    def arriving(targets: Iterable[int], idle_ms: int | None) -> Iterator[tuple[int, int | None]]:
        """Yield operators, each with the time of the last strategy before it or at it."""
        for key in targets:
            own = specs[key].timestamps
            yield key, idle_ms if own is None else own.idle_ms

    def next_nodes(at: tuple[int, int | None]) -> Iterator[tuple[int, int | None]]:
        spec, written = specs[at[0]], (plan.channels[n] for n in specs[at[0]].fed_channels)
        local = [each.target_operator for each in written if each.is_local]
        return arriving([*spec.fed_operators, *local], at[1])

    begin = arriving(dict(plan.source_operators).get(source, ()), None)
    passed = reachable(begin, next_nodes)
    found = [idle_ms for key, idle_ms in passed if channel in specs[key].fed_channels]
    times = [idle_ms for idle_ms in found if idle_ms is not None]
    return max(times) if times and len(times) == len(found) else None


def initial_watermarks(
    plan: PhysicalPlan, handed: HandOver, parallelism: int
) -> dict[int, dict[int, int]]:
    """Return channel to group to initial watermark."""
    return {
        channel: groups
        if plan.channels[channel].source_level == 0
        else dict.fromkeys(range(parallelism), groups[-1])
        for channel, groups in _of_job(plan, handed.watermarks).items()
    }


def _of_job(plan: PhysicalPlan, handed: dict[int, dict[int, int]]) -> dict[int, dict[int, int]]:
    """Return the watermarks that a job takes over: without time only ends of input."""
    if not plan.is_timeless:
        return handed
    return {
        channel: {
            group: mark if mark == MAX_TIMESTAMP else MIN_TIMESTAMP
            for group, mark in groups.items()
        }
        for channel, groups in handed.items()
    }
