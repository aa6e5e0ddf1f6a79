"""The fingerprint of a plan. Plans of one job have the same shape; their code may differ."""

from __future__ import annotations

import hashlib
import json

from penstock.plan.physical import PhysicalPlan
from penstock.program.operator_spec import OperatorSpec


def describe_shape(plan: PhysicalPlan) -> dict[str, object]:
    """Return all facts of the plan that a checkpoint depends on, as JSON.

    User functions may change between runs of a job; operators, their uids, their edges, the
    parallelism and the sequence of runs may not.
    """
    return {
        "operators": [
            [
                op.uid,
                op.kind.name,
                level.level,
                op.parallelism,
                list(op.chained_to),
                list(op.channels),
                [
                    [side.tag, list(side.chained_to), list(side.channels)]
                    for side in op.side_outputs
                ],
                _cut_of_state(op),
            ]
            for level in plan.levels
            for op in level.operators
        ],
        "channels": [
            [
                c.id,
                c.source_level,
                c.target_level,
                c.target_operator,
                c.target_input,
                c.partitioner.name,
                c.subtasks,
            ]
            for c in plan.channels
        ],
        "sources": [[s.id, s.name, [part.kind for part in s.parts]] for s in plan.sources],
        "sinks": [[s.uid, s.sink.kind] for s in plan.sinks],
        "runs": [[r.name, r.kind.name] for r in plan.runs],
        "parallelism": plan.options.parallelism,
        "max_parallelism": plan.options.max_parallelism,
    }


def _cut_of_state(operator: OperatorSpec) -> list[int] | None:
    """Return the numbers that determine the keys of an operator's state, None if there are none.

    These are the lengths of windows in panes, and the bounds of an interval join.
    """
    if operator.interval is not None:
        return [operator.interval.lower, operator.interval.upper]
    panes = None if operator.window is None else operator.window.panes
    if panes is None:
        return None
    return [panes.size, panes.slide, panes.offset, *([1] if panes.grows else [])]


def fingerprint(plan: PhysicalPlan) -> str:
    """Return a short digest of `describe_shape`."""
    text = json.dumps(describe_shape(plan), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
