"""Plans for people: text for a terminal, and a Mermaid diagram."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.plan.explain.chaining import LOCAL
from penstock.plan.phases.edges import region_of
from penstock.plan.phases.pipelines import have_company
from penstock.plan.physical import PhysicalPlan, RunPlan
from penstock.program.channel import SINK_LEVEL, ChannelSpec, ChannelTime, StreamPartitioner
from penstock.program.level import OperatorSpec
from penstock.program.run_settings import RunKind


def render_text(plan: PhysicalPlan) -> str:
    """Return runs, levels, channels and the reason of each decision."""
    lines = [
        (
            f"mode {plan.mode_text}, parallelism {plan.options.parallelism}, "
            f"{plan.options.max_parallelism} key groups"
        ),
        "",
        "runs",
    ]
    lines += _runs(plan)
    lines += ["", "levels"]
    for level in plan.levels:
        lines.append(f"  level {level.level}")
        if level.level == 0:
            lines += [f"    source {s.name}: {_parts(s.parts)}" for s in plan.sources]
        for op in level.operators:
            lines.append(f"    {_operator(plan, op)}")
    lines += ["", "sinks"]
    for sink in plan.sinks:
        lines.append(f"  {sink.name}: {sink.sink.describe()} of {sink.type_info!r}")
    lines += ["", "decisions"]
    lines += [f"  {d.subject}: {d.choice}, because {d.reason}" for d in plan.decisions]
    return "\n".join(lines) + "\n"


def render_mermaid(plan: PhysicalPlan) -> str:
    """Return a Mermaid flowchart: one box per level, labelled arrows between levels."""
    lines = ["flowchart LR"]
    for level in plan.levels:
        lines.append(f'  subgraph L{level.level}["level {level.level}"]')
        if level.level == 0:
            lines += [f'    n{source.id}[("{_label(source.name)}")]' for source in plan.sources]
        lines += [f'    n{op.id}["{_label(op.name)}"]' for op in level.operators]
        lines.append("  end")
    lines += [f'  s{sink.index}[/"{_label(sink.name)}"/]' for sink in plan.sinks]
    return "\n".join([*lines, *_chained_arrows(plan), *_channel_arrows(plan)]) + "\n"


def _chained_arrows(plan: PhysicalPlan) -> Iterator[str]:
    for producer, targets in plan.source_operators:
        yield from (f"  n{producer} --> n{target}" for target in targets)
    for op in _operators(plan):
        yield from (f"  n{op.id} --> n{target}" for target in op.chained_to)
        for side in op.side_outputs:
            tag = _label(str(side.tag))
            yield from (f'  n{op.id} -- "{tag}" --> n{target}' for target in side.chained_to)


def _channel_arrows(plan: PhysicalPlan) -> Iterator[str]:
    for producer, numbers in plan.source_channels:
        yield from (_channel_line(plan, producer, number, None) for number in numbers)
    for op in _operators(plan):
        yield from (_channel_line(plan, op.id, number, None) for number in op.channels)
        for side in op.side_outputs:
            tag = str(side.tag)
            yield from (_channel_line(plan, op.id, number, tag) for number in side.channels)


def _channel_line(plan: PhysicalPlan, producer: int, number: int, tag: str | None) -> str:
    channel = plan.channels[number]
    side = () if tag is None else (_label(tag),)
    if channel.target_level != SINK_LEVEL:
        arrow = ", ".join((*side, _arrow(channel)))
        return f'  n{producer} == "{arrow}" ==> n{channel.target_operator}'
    shaft = f'-- "{side[0]}" -->' if side else "-->"
    return f"  n{producer} {shaft} s{channel.target_operator}"


def _operators(plan: PhysicalPlan) -> Iterator[OperatorSpec]:
    for level in plan.levels:
        yield from level.operators


def _runs(plan: PhysicalPlan) -> Iterator[str]:
    """Yield a line per run, below one per pipeline if several run at the same time."""
    has_others = have_company(plan)
    for pipeline in plan.pipelines:
        if has_others:
            waits = ", ".join(str(index) for index in pipeline.after)
            yield f"  pipeline {pipeline.index}" + (f", behind pipeline {waits}" if waits else "")
        for run in plan.runs_of(pipeline.index):
            yield f"  {'  ' if has_others else ''}{_run(plan, run)}"


def _run(plan: PhysicalPlan, run: RunPlan) -> str:
    reads = "; ".join(
        f"{plan.source(r.source).name} ("
        + _between(run).join(plan.source(r.source).parts[part].describe() for part in r.parts)
        + ")"
        for r in run.readings
    )
    end = (
        "then hands its state over"
        if run.hands_over
        else ("then ends" if run.is_bounded else "and goes on until it is stopped")
    )
    operators = ""
    if len(plan.pipelines) > 1:
        names = [op.name for level in region_of(plan, run).levels for op in level.operators]
        operators = f", runs {', '.join(names)}"
    return f"{run.index} {run.name} ({run.kind.name.lower()}): reads {reads}{operators}, {end}"


def _between(run: RunPlan) -> str:
    return ", then " if run.kind is RunKind.LIVE else ", "


def _operator(plan: PhysicalPlan, op: OperatorSpec) -> str:
    targets = _targets(plan, op.chained_to, op.channels)
    for side in op.side_outputs:
        side_targets = _targets(plan, side.chained_to, side.channels)
        targets += [f"{target} [{side.tag}]" for target in side_targets]
    where = f"  [{op.origin}]" if op.origin else ""
    return f"{op.kind.name.lower()} {op.name} (uid {op.uid}) {', '.join(targets)}{where}"


def _targets(
    plan: PhysicalPlan, chained_to: tuple[int, ...], channels: tuple[int, ...]
) -> list[str]:
    targets = [f"-> {_name(plan, target)}" for target in chained_to]
    for number in channels:
        channel = plan.channels[number]
        if channel.target_level == SINK_LEVEL:
            targets.append(f"-> sink {plan.sinks[channel.target_operator].name}")
        else:
            name = _name(plan, channel.target_operator)
            how = _arrow(channel)
            targets.append(f"={number}=> level {channel.target_level} {name} ({how})")
    return targets


def _arrow(channel: ChannelSpec) -> str:
    hashed = channel.partitioner is StreamPartitioner.HASH
    how = "hash by key" if hashed else channel.partitioner.name.lower()
    if channel.is_local:
        how = LOCAL
    parts = [how] if channel.subtasks is None else [how, f"{channel.subtasks} subtasks"]
    return ", ".join([*parts, *_TIME[channel.time]])


_TIME: dict[ChannelTime, tuple[str, ...]] = {
    ChannelTime.FULL: (),
    ChannelTime.WATERMARKS: ("no timestamps",),
    ChannelTime.NONE: ("values only",),
}


def _name(plan: PhysicalPlan, node_id: int) -> str:
    return plan.graph.node(node_id).name


def _parts(parts: tuple[object, ...]) -> str:
    return ", then ".join(part.describe() for part in parts)  # type: ignore[attr-defined]


def _label(text: str) -> str:
    return text.replace('"', "'")
