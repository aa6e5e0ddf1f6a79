"""The outline of a plan: its sources, operators, sinks and edges, as plain values; operators with state need a uid."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from penstock.errors import PenstockError, SinkError, SourceError
from penstock.graph.dataset import Dataset
from penstock.graph.endpoints import Sink, Source
from penstock.plan.explain.chaining import CHAINED
from penstock.plan.physical import PhysicalPlan, SinkPlan, SourcePlan
from penstock.program.channel import SINK_LEVEL
from penstock.program.level import OperatorSpec
from penstock.types import TypeInformation
from penstock.types.records import RowTypeInfo
from penstock.user_failure import failing_as


def unnamed_state(plan: PhysicalPlan) -> tuple[OperatorSpec, ...]:
    """Return the operators that keep state and have no uid, upstream first."""
    named = {node.id for node in plan.graph.nodes if node.uid is not None}
    return tuple(
        op
        for level in plan.levels
        for op in level.operators
        if op.id not in named and op.may_have_state
    )


def describe_unnamed_state(plan: PhysicalPlan) -> str | None:
    """Return a text that lists operators with state and without uid; None if there are none."""
    operators = unnamed_state(plan)
    if not operators:
        return None
    lines = [
        f"  {op.name} (uid {op.uid}){'' if op.origin is None else f', {op.origin}'}"
        for op in operators
    ]
    return "\n".join(
        [
            "state without a uid, which a savepoint gives back to the same place in the program only:",
            *lines,
            '  fix: Call .uid("…") behind each, with a name that stays.',
        ]
    )


@dataclass(frozen=True, slots=True)
class OutlineNode:
    """A source, an operator or a sink.

    Attributes:
        id: Unique in the outline.
        kind: `source` or `sink`, or the kind of the operator.
        uid: Uid of an operator or a sink, which metrics carry; for a source its name.
        level: Level of the operator; that of a source is 0, that of a sink the last one.
        parallelism: Number of subtasks; None if it is that of the job.
        origin: The line of the program that made it, empty if it is unknown.
        datasets: Known data that a source reads or a sink writes.
        fields: Names and types of the fields of its records, where there are datasets and the type is known.
        decisions: Decisions about an operator (the place where its records are combined, copies): subject, choice and
            reason. Decisions name operators, so operators of one name share them.
    """

    id: str
    kind: str
    uid: str
    name: str
    level: int
    parallelism: int | None = None
    origin: str = ""
    datasets: tuple[Dataset, ...] = ()
    fields: tuple[tuple[str, str], ...] = ()
    decisions: tuple[tuple[str, str, str], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return its fields."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class OutlineEdge:
    """Records go from one node to another.

    Attributes:
        ship: How they travel: `CHAINED`, or the partitioner of the channel.
        tag: Tag of a side output, empty for the main one.
    """

    source: str
    target: str
    ship: str
    tag: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return its fields."""
        return asdict(self)


def nodes_of(plan: PhysicalPlan) -> tuple[OutlineNode, ...]:
    """Return the nodes of a plan: sources, then operators level by level, then sinks."""
    sources = (
        _end(f"n{s.id}", s, s.name, 0, _datasets(s.parts, SourceError, s)) for s in plan.sources
    )
    operators = (
        OutlineNode(
            f"n{op.id}",
            op.kind.name.lower(),
            op.uid,
            op.name,
            level.level,
            op.parallelism,
            str(op.origin or ""),
            decisions=tuple(_decisions(plan, op.name)),
        )
        for level in plan.levels
        for op in level.operators
    )
    last = max((level.level for level in plan.levels), default=0)
    sinks = (
        _end(f"s{s.index}", s, s.uid, last, _datasets((s.sink,), SinkError, s)) for s in plan.sinks
    )
    return (*sources, *operators, *sinks)


def _end(
    node: str, of: SourcePlan | SinkPlan, uid: str, level: int, datasets: tuple[Dataset, ...]
) -> OutlineNode:
    return OutlineNode(
        node,
        "source" if isinstance(of, SourcePlan) else "sink",
        uid,
        of.name,
        level,
        origin=str(of.origin or ""),
        datasets=datasets,
        fields=_fields(of.type_info) if datasets else (),
    )


def _datasets(
    ends: Sequence[Source | Sink], error_class: type[PenstockError], of: SourcePlan | SinkPlan
) -> tuple[Dataset, ...]:
    failed = (
        f"{'source' if isinstance(of, SourcePlan) else 'sink'} {of.name!r} failed on datasets()"
    )
    with failing_as(error_class, failed, of.origin, hint="Correct datasets()."):
        return tuple(dict.fromkeys(dataset for end in ends for dataset in end.datasets()))


def _fields(type_info: TypeInformation) -> tuple[tuple[str, str], ...]:
    if isinstance(type_info, RowTypeInfo):
        types = map(str, type_info.field_types)
        return tuple(zip(type_info.field_names, types, strict=True))
    return ()


def _decisions(plan: PhysicalPlan, name: str) -> Iterator[tuple[str, str, str]]:
    """Yield what was decided of operators of a name; how they are chained and exchanged is in the edges."""
    records, own = f"records of {name!r} ", f"{name!r} "
    for decision in plan.decisions:
        if decision.subject.startswith(records):
            yield f"records {decision.subject[len(records) :]}", decision.choice, decision.reason
        elif decision.subject.startswith(own) and decision.choice != CHAINED:
            yield (
                _CHANNEL.sub(partial(_target, plan), decision.subject[len(own) :]),
                decision.choice,
                decision.reason,
            )


_CHANNEL = re.compile(r"\bchannel (\d+)$")
"""Subject of decisions on the output of a level."""


def _target(plan: PhysicalPlan, named: re.Match[str]) -> str:
    channel = plan.channels[int(named[1])]
    if channel.target_level == SINK_LEVEL:
        return f"sink {plan.sinks[channel.target_operator].uid!r}"
    return repr(plan.graph.node(channel.target_operator).name)


def edges_of(plan: PhysicalPlan) -> tuple[OutlineEdge, ...]:
    """Return what is between the nodes of a plan."""
    return tuple(_edges(plan))


def _edges(plan: PhysicalPlan) -> Iterator[OutlineEdge]:
    for producer, targets in plan.source_operators:
        yield from (OutlineEdge(f"n{producer}", f"n{target}", _CHAINED) for target in targets)
    for producer, numbers in plan.source_channels:
        yield from (_channel(plan, f"n{producer}", number) for number in numbers)
    for level in plan.levels:
        for op in level.operators:
            yield from _edges_of_operator(plan, op)


_CHAINED = "CHAINED"


def _edges_of_operator(plan: PhysicalPlan, op: OperatorSpec) -> Iterator[OutlineEdge]:
    node = f"n{op.id}"
    yield from (OutlineEdge(node, f"n{target}", _CHAINED) for target in op.chained_to)
    yield from (_channel(plan, node, number) for number in op.channels)
    for side in op.side_outputs:
        tag = str(side.tag)
        yield from (OutlineEdge(node, f"n{target}", _CHAINED, tag) for target in side.chained_to)
        yield from (_channel(plan, node, number, tag) for number in side.channels)


def _channel(plan: PhysicalPlan, producer: str, number: int, tag: str = "") -> OutlineEdge:
    channel = plan.channels[number]
    is_sink = channel.target_level == SINK_LEVEL
    target = f"{'s' if is_sink else 'n'}{channel.target_operator}"
    return OutlineEdge(producer, target, channel.partitioner.name, tag)
