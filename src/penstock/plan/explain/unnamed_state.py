"""Operators with state and without a uid, which a savepoint may not give back (see `places`)."""

from __future__ import annotations

from penstock.plan.physical import PhysicalPlan
from penstock.program.operator_spec import OperatorSpec


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
