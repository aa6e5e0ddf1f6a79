"""Which operators keep state and have no uid: what a savepoint may not give back (see `places`)."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from penstock.plan.physical import PhysicalPlan
from penstock.program.operator_spec import OperatorSpec
from penstock.program.operators import OperatorKind


class HoldsState(Enum):
    """Whether operators of a kind keep state that outlives a micro-batch."""

    NEVER = auto()
    """There is no key to keep it under. MAP is one."""

    ALWAYS = auto()
    """REDUCE is one; of functions with timers nobody can tell before they run."""

    IF_OPENED = auto()
    """If the function is an object that asks for state in `open`. KEYED_MAP is one."""


HOLDS_STATE: dict[OperatorKind, HoldsState] = {
    OperatorKind.MAP: HoldsState.NEVER,
    OperatorKind.FLAT_MAP: HoldsState.NEVER,
    OperatorKind.FILTER: HoldsState.NEVER,
    OperatorKind.PROCESS: HoldsState.NEVER,
    OperatorKind.TIMESTAMPS: HoldsState.NEVER,
    OperatorKind.ASYNC: HoldsState.NEVER,
    OperatorKind.KEYED_ASYNC: HoldsState.IF_OPENED,
    OperatorKind.KEYED_MAP: HoldsState.IF_OPENED,
    OperatorKind.KEYED_FLAT_MAP: HoldsState.IF_OPENED,
    OperatorKind.KEYED_FILTER: HoldsState.IF_OPENED,
    OperatorKind.KEYED_REDUCE: HoldsState.ALWAYS,
    OperatorKind.KEYED_PROCESS: HoldsState.ALWAYS,
    OperatorKind.KEYED_WINDOW: HoldsState.ALWAYS,
    OperatorKind.CO_MAP: HoldsState.NEVER,
    OperatorKind.CO_FLAT_MAP: HoldsState.NEVER,
    OperatorKind.CO_PROCESS: HoldsState.NEVER,
    OperatorKind.KEYED_CO_MAP: HoldsState.IF_OPENED,
    OperatorKind.KEYED_CO_FLAT_MAP: HoldsState.IF_OPENED,
    OperatorKind.KEYED_CO_PROCESS: HoldsState.ALWAYS,
    OperatorKind.KEYED_CO_GROUP: HoldsState.ALWAYS,
    OperatorKind.KEYED_INTERVAL_JOIN: HoldsState.ALWAYS,
    OperatorKind.KEYED_REGULAR_JOIN: HoldsState.ALWAYS,
    OperatorKind.BROADCAST_PROCESS: HoldsState.ALWAYS,
    OperatorKind.KEYED_BROADCAST_PROCESS: HoldsState.ALWAYS,
    OperatorKind.CUSTOM: HoldsState.NEVER,
    OperatorKind.CO_CUSTOM: HoldsState.NEVER,
    OperatorKind.KEYED_CUSTOM: HoldsState.ALWAYS,
    OperatorKind.KEYED_CO_CUSTOM: HoldsState.ALWAYS,
}
"""Kind to whether it keeps state; total."""

_FUNCTIONS = "penstock.api."
"""Where the base classes of functions are, whose `open` does nothing."""


def unnamed_state(plan: PhysicalPlan) -> tuple[OperatorSpec, ...]:
    """Return the operators that keep state and have no uid, upstream first."""
    named = {node.id for node in plan.graph.nodes if node.uid is not None}
    return tuple(
        op
        for level in plan.levels
        for op in level.operators
        if op.id not in named and _holds_state(op)
    )


def describe_unnamed_state(plan: PhysicalPlan) -> str | None:
    """Return a text that lists operators with state and without uid; None if there are none."""
    found = unnamed_state(plan)
    if not found:
        return None
    lines = [
        f"  {op.name} (uid {op.uid}){'' if op.origin is None else f', {op.origin}'}" for op in found
    ]
    return "\n".join(
        [
            "state without a uid, which a savepoint gives back to the same place in the program only:",
            *lines,
            '  fix: Call .uid("…") behind each, with a name that stays.',
        ]
    )


def _holds_state(operator: OperatorSpec) -> bool:
    holds = HOLDS_STATE[operator.kind]
    if holds is HoldsState.IF_OPENED:
        return operator.method is not None and _is_opened(operator.function)
    return holds is HoldsState.ALWAYS


def _is_opened(function: Any) -> bool:
    owner = next((kind for kind in type(function).__mro__ if "open" in vars(kind)), None)
    return owner is not None and not owner.__module__.startswith(_FUNCTIONS)
