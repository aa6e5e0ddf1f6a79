"""What makes two plans the same job: the shape of the graph, not the code in it."""

from __future__ import annotations

import hashlib
import json

from penstock.plan.physical import PhysicalPlan


def describe_shape(plan: PhysicalPlan) -> dict[str, object]:
    """Return everything a checkpoint depends on, in plain JSON-able form.

    User functions may change between runs of a job; operators, their uids, their edges, the
    parallelism and the sequence of runs may not.
    """
    return {
        "operators": [
            [op.uid, op.kind.name, level.level, list(op.chained_to), list(op.channels)]
            for level in plan.levels
            for op in level.operators
        ],
        "channels": [
            [c.id, c.source_level, c.target_level, c.target_operator, c.partitioner.name]
            for c in plan.channels
        ],
        "sources": [[s.id, s.name, [part.kind for part in s.parts]] for s in plan.sources],
        "sinks": [[s.uid, s.sink.kind] for s in plan.sinks],
        "runs": [[r.name, r.kind.name] for r in plan.runs],
        "parallelism": plan.options.parallelism,
        "max_parallelism": plan.options.max_parallelism,
    }


def fingerprint(plan: PhysicalPlan) -> str:
    """Return a short digest of `describe_shape`."""
    text = json.dumps(describe_shape(plan), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def first_difference(old: dict[str, object], new: dict[str, object]) -> str:
    """Return the first thing in which two shapes differ, as a phrase for a message."""
    for aspect, before in old.items():
        after = new.get(aspect)
        if before != after:
            return f"{aspect} were {json.dumps(before)}, are {json.dumps(after)}"
    return "nothing"
