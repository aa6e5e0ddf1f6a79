"""Phases: decide which channels send timestamps, and for whose watermarks each waits. After `assign_levels`.

There are two decisions. The first is about a job, the second about each channel of other jobs:

* FLIP-330 §1.3. A job runs without timestamps and watermarks if it allows that
  (`pipeline.force-timestamp-support` is false), has no periodic watermarks
  (`pipeline.auto-watermark-interval` is 0) and no watermark strategy but `no_watermarks()`. One
  condition is ours: no record with its own timestamp (of a source with timestamps, a timer or a
  window) reaches a keyed operator. A batch run reads each key in order of time, so without
  timestamps the results would differ. A function that reads a timestamp in such a job gets an error.
* A proof of the planner. A channel omits timestamps that no operator downstream reads; watermarks
  are sent. These read timestamps: functions with a context, timestamp assigners, windows, all keyed
  operators in jobs with a batch run, and every operator unknown to this module. Sinks do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from penstock.graph.endpoints import Source
from penstock.plan.physical import Decision, HandOver, LevelPlan, PhysicalPlan, RunPlan
from penstock.program.channel import SINK_LEVEL, ChannelSpec, ChannelTime, WatermarkGroup
from penstock.program.level import OperatorSpec
from penstock.program.operator_kind import TimeUse
from penstock.program.run_settings import RunKind
from penstock.program.timestamps import TimestampSpec
from penstock.program.traverse import reachable
from penstock.program.windows import MAX_TIMESTAMP, MIN_TIMESTAMP

_ANY_ORDER = frozenset({TimeUse.IGNORES, TimeUse.SHOWS, TimeUse.ASSIGNS})
"""The operator processes records in any order."""

_NO_STRATEGY = TimestampSpec(None, None)
_OURS = "penstock.api."


@dataclass(frozen=True, slots=True)
class _Flow:
    """The operators whose records may have timestamps, and those that may read them.

    Attributes:
        carried: Sources and operators whose results may have timestamps.
        needed: Operators whose results may depend on the timestamps of their records.
    """

    carried: frozenset[int]
    needed: frozenset[int]


# FLIP-330, rule 1.
def decide_time(plan: PhysicalPlan) -> PhysicalPlan:
    """Decide whether the job runs without timestamps and watermarks."""
    if plan.options.force_timestamps:
        return plan
    kept_for = next(_obstacles(plan), None)
    if kept_for is not None:
        decision = Decision("timestamps of records", "kept", kept_for)
        return _decided(plan, decision)
    reason = (
        "pipeline.force-timestamp-support is false, pipeline.auto-watermark-interval is 0 and "
        "there is no watermark strategy"
    )
    levels = _with_operators(
        plan,
        lambda op: replace(op, is_timeless=True, drops_timestamps=True),
    )
    return _decided(
        replace(
            plan,
            levels=levels,
            channels=tuple(replace(c, time=ChannelTime.NONE) for c in plan.channels),
            is_timeless=True,
            untimed_sources=tuple(source.id for source in plan.sources),
        ),
        Decision("timestamps of records", "none, and no watermarks", reason),
    )


def drop_timestamps(plan: PhysicalPlan) -> PhysicalPlan:
    """Omit timestamps that no operator downstream reads."""
    if plan.is_timeless or not plan.options.drop_unused_timestamps:
        return plan
    flow = _flow(plan)
    producer = _producers(plan)

    def is_bare(channel: ChannelSpec) -> bool:
        carried = producer[channel.id] in flow.carried
        return carried and not _is_needed(flow, channel)

    def unread(producer_id: int, chained: tuple[int, ...], channels: tuple[int, ...]) -> bool:
        return producer_id in flow.carried and not (
            any(target in flow.needed for target in chained)
            or any(_is_needed(flow, plan.channels[number]) for number in channels)
        )

    chained, direct = dict(plan.source_operators), dict(plan.source_channels)
    without_timestamps = replace(
        plan,
        levels=_with_operators(
            plan,
            lambda op: replace(
                op, drops_timestamps=unread(op.id, op.fed_operators, op.fed_channels)
            ),
        ),
        channels=tuple(
            replace(c, time=ChannelTime.WATERMARKS if is_bare(c) else ChannelTime.FULL)
            for c in plan.channels
        ),
        untimed_sources=tuple(
            s.id for s in plan.sources if unread(s.id, chained.get(s.id, ()), direct.get(s.id, ()))
        ),
    )
    return _decided(without_timestamps, *_reasons(without_timestamps))


def untimed_channels(plan: PhysicalPlan) -> frozenset[int]:
    """Return the channels on which no record has a timestamp."""
    carried, producer = _flow(plan).carried, _producers(plan)
    return frozenset(
        channel.id
        for channel in plan.channels
        if channel.time is not ChannelTime.FULL or producer[channel.id] not in carried
    )


def _obstacles(plan: PhysicalPlan) -> Iterator[str]:
    """Yield the reasons why the job cannot run without time, the most important first."""
    if plan.options.auto_watermarks:
        yield "pipeline.auto-watermark-interval is not 0"
    for op in _operators(plan):
        if op.timestamps not in (None, _NO_STRATEGY):
            yield f"{op.name!r} has a watermark strategy"
    flow = _flow(plan)
    producer = _producers(plan)
    kinds = {op.id: op.kind for op in _operators(plan)}
    for channel in plan.channels:
        target = channel.target_operator
        if channel.target_level == SINK_LEVEL or kinds[target].time in _ANY_ORDER:
            continue
        if producer[channel.id] in flow.carried:
            yield (
                f"records reach {plan.graph.node(target).name!r} with timestamps that a source, a "
                "timer or a window gave them, and it reads each key in order of time"
            )


def _flow(plan: PhysicalPlan) -> _Flow:
    """Propagate timestamps downstream, and their readers upstream."""
    operators = sorted(_operators(plan), key=lambda op: op.id)  # upstream first
    inputs: dict[int, set[int]] = {op.id: set() for op in operators}
    producers = [
        *plan.source_operators,
        *((op.id, op.fed_operators) for op in operators),
    ]
    for producer_id, targets in producers:
        for target in targets:
            inputs[target].add(producer_id)
    for number, producer_id in _producers(plan).items():
        channel = plan.channels[number]
        if channel.target_level != SINK_LEVEL:
            inputs[channel.target_operator].add(producer_id)
    carried = {
        source.id for source in plan.sources if any(p.gives_timestamps for p in source.parts)
    }
    for op in operators:
        if _makes_timestamps(op) or (_passes_on(op) and inputs[op.id] & carried):
            carried.add(op.id)
    needed: set[int] = set()
    in_order = any(run.kind is RunKind.BATCH for run in plan.runs)
    for op in reversed(operators):
        readers = set(op.fed_operators) | {
            plan.channels[number].target_operator
            for number in op.fed_channels
            if plan.channels[number].target_level != SINK_LEVEL
        }
        if _reads_time(op, in_order=in_order) or (_passes_on(op) and readers & needed):
            needed.add(op.id)
    return _Flow(frozenset(carried), frozenset(needed))


def _makes_timestamps(op: OperatorSpec) -> bool:
    if op.kind.time is TimeUse.ASSIGNS:
        return op.timestamps is not None and op.timestamps.assigner is not None
    if op.kind.time is TimeUse.TIMERS:
        return _has_timers(op)
    return op.kind.time is TimeUse.OWN


def _has_timers(op: OperatorSpec) -> bool:
    """Return whether `on_timer` may emit results: whether the user overrides it."""
    defined = getattr(op.function, "on_timer", None)
    return not getattr(defined, "__module__", "").startswith(_OURS)


def _passes_on(op: OperatorSpec) -> bool:
    """Return whether results may have the timestamps of records."""
    return op.kind.time is not TimeUse.OWN


def _reads_time(op: OperatorSpec, *, in_order: bool) -> bool:
    """Return whether an operator may read the timestamps of its records."""
    if op.kind.time is TimeUse.ASSIGNS:
        return op.timestamps != _NO_STRATEGY
    if op.kind.time is TimeUse.ORDERS:
        return in_order
    return op.kind.time is not TimeUse.IGNORES


def _is_needed(flow: _Flow, channel: ChannelSpec) -> bool:
    return channel.target_level != SINK_LEVEL and channel.target_operator in flow.needed


def _reasons(plan: PhysicalPlan) -> Iterator[Decision]:
    for channel in plan.channels:
        if channel.time is ChannelTime.WATERMARKS and channel.target_level != SINK_LEVEL:
            name = plan.graph.node(channel.target_operator).name
            yield Decision(
                f"timestamps on channel {channel.id} to {name!r}",
                "left out",
                "nothing behind it looks at them",
            )


def _decided(plan: PhysicalPlan, *decisions: Decision) -> PhysicalPlan:
    new = tuple(decision for decision in decisions if decision not in plan.decisions)
    return replace(plan, decisions=plan.decisions + new)


def _operators(plan: PhysicalPlan) -> Iterator[OperatorSpec]:
    return (op for level in plan.levels for op in level.operators)


def _with_operators(
    plan: PhysicalPlan, change: Callable[[OperatorSpec], OperatorSpec]
) -> tuple[LevelPlan, ...]:
    return tuple(
        replace(level, operators=tuple(map(change, level.operators))) for level in plan.levels
    )


def _producers(plan: PhysicalPlan) -> dict[int, int]:
    """Return channel to the source or operator that writes it."""
    producers = {number: key for key, numbers in plan.source_channels for number in numbers}
    return producers | {number: op.id for op in _operators(plan) for number in op.fed_channels}


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
    opened = {reading.source: len(reading.open_splits) for reading in run.readings}
    groups = []
    for source_id in channel.sources:
        waited = opened.get(source_id, 0)
        splits, goes_on = [(waited, False)], waited > 0 and run.kind is RunKind.BATCH
        if run.kind is RunKind.LIVE and source_id in parts:
            splits = [
                (_splits(plan, part, (open_splits or {}).get((source_id, number))), _may_grow(part))
                for number in parts[source_id]
                for part in [plan.source(source_id).parts[number]]
            ]
            if waited:
                splits[-1] = (waited, False)
        idle_ms = _idle_ms(plan, source_id, channel.id)
        (count, may_grow), *later = splits
        groups.append(WatermarkGroup(source_id, count, idle_ms, may_grow, tuple(later), goes_on))
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

    def next_nodes(arrival: tuple[int, int | None]) -> Iterator[tuple[int, int | None]]:
        key, idle_ms = arrival
        spec, written = specs[key], (plan.channels[n] for n in specs[key].fed_channels)
        local = [channel_spec.target_operator for channel_spec in written if channel_spec.is_local]
        return arriving([*spec.fed_operators, *local], idle_ms)

    begin = arriving(dict(plan.source_operators).get(source, ()), None)
    passed = reachable(begin, next_nodes)
    timeouts = [idle_ms for key, idle_ms in passed if channel in specs[key].fed_channels]
    times = [idle_ms for idle_ms in timeouts if idle_ms is not None]
    return max(times) if times and len(times) == len(timeouts) else None


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
