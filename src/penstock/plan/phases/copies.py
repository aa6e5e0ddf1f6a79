"""Phase: decides which readers of a stream get copies (FLIP-329). After `assign_levels` and `place_expressions`.

Between chained operators U -> D, unless `pipeline.object-reuse` is true:

    U may store its outputs       D may store its input   action
    no                            no                      reuse
    no                            yes                     shallow copy: another record, same value
    yes                           any                     deep copy of each value when it is emitted

Records are passed in lists that no operator changes. The slot of a list is the record, so every edge
is a shallow copy already. If D stores its input, only a line of the plan changes. A deep copy is made when the
function emits the value, not when the batch is complete: the function may change the value in between. The channels of U read the copy too: Flink
writes records one by one, a channel here writes a batch. No operator stores results that Spark SQL makes.

If a stream has several readers, all but the last get copies: those that are chained, and channels
that sort records into buckets, because they write records later. Flink's prototype shares the value.
Immutable values are not copied: the plan finds them by the declared type, otherwise the worker checks
each batch. An annotation has no effect here, because it is not enforced.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto

from penstock.graph.logical import Node
from penstock.graph.operator_attributes import OperatorAttributes
from penstock.plan.phases.bounded_region import end_of_stream_operators
from penstock.plan.phases.operator_traits import (
    OperatorTraits,
    raises_node_error,
    stored_output_of_source,
    traits_of,
)
from penstock.plan.physical import Decision, LevelPlan, PhysicalPlan, SourcePlan
from penstock.program.channel import StreamPartitioner
from penstock.program.level import Copies, OperatorSpec, SideOutput
from penstock.program.operator_kind import PROMISE, Keeps
from penstock.types import TypeInformation
from penstock.types.value_kinds import declared_copier


class Action(Enum):
    """Passing of a record between two chained operators."""

    REUSE = auto()
    """The same object is passed on."""

    SHALLOW_COPY = auto()
    """Another record with the same value."""

    DEEP_COPY = auto()
    """Another record with a copy of the value."""


# FLIP-329, rule 1.
def action(reuse: bool, upstream: OperatorAttributes, downstream: OperatorAttributes) -> Action:  # noqa: FBT001
    """Return the action of the table above."""
    if reuse:
        return Action.REUSE
    if upstream.is_output_stream_record_value_stored():
        return Action.DEEP_COPY
    if downstream.is_input_stream_record_stored():
        return Action.SHALLOW_COPY
    return Action.REUSE


_DEEP = "deep copy of what can be changed"

_BUCKETS = frozenset({StreamPartitioner.HASH})
"""Partitioners whose channels buffer records, and write them later."""


@dataclass(frozen=True, slots=True)
class _Readers:
    """The readers of an output, and its type."""

    operators: tuple[int, ...]
    channels: tuple[int, ...]
    type_info: TypeInformation

    @property
    def may_differ(self) -> bool:
        """True if a reader gets mutable values."""
        return bool(self.operators or self.channels) and declared_copier(self.type_info) is not None


# FLIP-329, rule 5.
def choose_copies(plan: PhysicalPlan) -> PhysicalPlan:
    """Decide for every output which readers get copies, and which operator forces it."""
    if plan.options.object_reuse:
        return _verifying(plan)
    decisions = list(plan.decisions)
    levels = []
    for level in plan.levels:
        operators = tuple(_operator(plan, spec, decisions) for spec in level.operators)
        levels.append(LevelPlan(level.level, operators))
    sources = tuple((s.id, _source(plan, s, decisions)) for s in plan.sources)
    planned = replace(
        plan,
        levels=tuple(levels),
        source_copies=tuple((key, copies) for key, copies in sources if copies != Copies()),
        decisions=tuple(dict.fromkeys(decisions)),
    )
    return _verifying(planned)


def _verifying(plan: PhysicalPlan) -> PhysicalPlan:
    """Let the runtime verify promises about stored values, if the option is set."""
    if not plan.options.verify_object_reuse:
        return plan
    return replace(
        plan,
        levels=tuple(
            LevelPlan(
                level.level,
                tuple(
                    replace(spec, verifies_promise=not spec.copies.at_emission)
                    for spec in level.operators
                ),
            )
            for level in plan.levels
        ),
    )


# FLIP-329, rule 3.
def _operator(plan: PhysicalPlan, spec: OperatorSpec, decisions: list[Decision]) -> OperatorSpec:
    node = plan.graph.node(spec.id)
    known = node.type_info
    only_chained = spec.kind.keeps is Keeps.STATE
    main = _Readers(spec.chained_to, spec.channels, known)
    sides = [_Readers(s.chained_to, s.channels, _type_of(plan, spec, s)) for s in spec.side_outputs]
    traits = _traits(plan, node)
    emitted = (
        any(readers.may_differ for readers in (main, *sides))
        and not _is_finished_by_sql(plan, spec)
        and traits.attributes.is_output_stream_record_value_stored()
    )
    if emitted:
        for readers in (main, *sides):
            decisions += _forced(plan, spec.name, readers, traits.reason)
    for readers in (main, *sides):
        decisions += _shallow(plan, spec, readers, traits)
    copies = _copies(plan, spec.name, main, decisions, at_emission=emitted)
    if emitted and only_chained:  # it does not change them, so channels may read the originals
        copies = replace(copies, at_emission=False, operators=spec.chained_to)
    return replace(
        spec,
        copies=copies,
        side_outputs=tuple(
            replace(side, copies=_copies(plan, spec.name, readers, decisions))
            for side, readers in zip(spec.side_outputs, sides, strict=True)
        ),
    )


def _is_finished_by_sql(plan: PhysicalPlan, spec: OperatorSpec) -> bool:
    """Return whether no worker makes the results of an operator: Spark SQL does, in the only run that there is."""
    return any(
        projection.is_finished and projection.merged_for == spec.id
        for projection in plan.projections
    )


def _source(plan: PhysicalPlan, source: SourcePlan, decisions: list[Decision]) -> Copies:
    chained = dict(plan.source_operators).get(source.id, ())
    channels = dict(plan.source_channels).get(source.id, ())
    readers = _Readers(chained, channels, source.type_info)
    with raises_node_error(plan.graph.node(source.id), PROMISE):
        # No map: it would take a StopIteration of the user's code for the end of the parts.
        answers = [stored_output_of_source(part) for part in source.parts]
    stored = [answer for answer in answers if answer.is_stored]
    emitted = bool(stored) and readers.may_differ
    if emitted:
        decisions += _forced(plan, source.name, readers, stored[0].reason)
    return _copies(plan, source.name, readers, decisions, at_emission=emitted)


# FLIP-329, rule 4.
def _copies(
    plan: PhysicalPlan,
    name: str,
    readers: _Readers,
    decisions: list[Decision],
    *,
    at_emission: bool = False,
) -> Copies:
    """Return the copies of one output, including those for several readers."""
    operators: tuple[int, ...] = ()
    channels: tuple[int, ...] = ()
    if readers.may_differ and readers.operators:
        operators = readers.operators[:-1]
        channels = tuple(
            number for number in readers.channels if plan.channels[number].partitioner in _BUCKETS
        )
    last = plan.graph.node(readers.operators[-1]).name if readers.operators else ""
    because = f"{last!r} reads the same records and may change them"
    names = [repr(plan.graph.node(key).name) for key in operators]
    names += [f"channel {number}" for number in channels]
    decisions += [Decision(f"{name!r} to {target}", _DEEP, because) for target in names]
    if not (at_emission or operators or channels):
        return Copies()
    return Copies(at_emission, readers.type_info, operators, channels)


def _forced(plan: PhysicalPlan, name: str, readers: _Readers, reason: str) -> list[Decision]:
    """Return the decisions about the edges that an operator forces to be copied."""
    if declared_copier(readers.type_info) is None:
        return []
    names = [repr(plan.graph.node(key).name) for key in readers.operators]
    names += [f"channel {number}" for number in readers.channels]
    because = f"{name!r} may keep what it emits: {reason}"
    return [Decision(f"{name!r} to {target}", _DEEP, because) for target in names]


def _shallow(
    plan: PhysicalPlan, spec: OperatorSpec, readers: _Readers, traits: OperatorTraits
) -> list[Decision]:
    decisions = []
    for key in readers.operators:
        target = plan.graph.node(key)
        of_target = _traits(plan, target).attributes
        if action(False, traits.attributes, of_target) is Action.SHALLOW_COPY:  # noqa: FBT003
            because = f"{target.name!r} lets records wait; the value is not copied"
            decisions.append(Decision(f"{spec.name!r} to {target.name!r}", "shallow copy", because))
    return decisions


def _traits(plan: PhysicalPlan, node: Node) -> OperatorTraits:
    # With an evictor a window is in state, and the evictor reads it again after the function.
    is_stateless = node.window is not None and node.window.end_of_stream is not None
    return traits_of(node, is_at_end=is_stateless and node in end_of_stream_operators(plan.graph))


def _type_of(plan: PhysicalPlan, spec: OperatorSpec, side: SideOutput) -> TypeInformation:
    """Return the type of a side output: that of the node that reads its tag."""
    return next(
        node.type_info
        for node in plan.graph.nodes
        if node.output_tag == side.tag and node.inputs == (spec.id,)
    )
