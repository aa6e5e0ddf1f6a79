"""Final rows: the rows that a query leaves in a batch job, which are insert-only.

Operators with state see all rows of a key at once there, and emit what is left. Operators above them take rows one by
one, so they are insert-only if their inputs are.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from penstock.relation.groups import GroupBy
from penstock.relation.joins import Join, TemporalJoin
from penstock.relation.ordered import Over, Rank, RowNumber
from penstock.relation.tree import Changelog, Normalize, Relation

_ADDS_UP = (GroupBy, Normalize, Rank, RowNumber, Over)
"""Relations whose operators emit, of all rows of a key, what is left."""


def is_final_in_batch(relation: Relation) -> bool:
    """Return whether the rows of a relation are insert-only in a batch job."""
    if relation.is_insert_only or isinstance(relation, _ADDS_UP):
        return True
    if isinstance(relation, Join):
        return relation.interval is None or all(map(is_final_in_batch, relation.inputs))
    if isinstance(relation, TemporalJoin):
        return is_final_in_batch(relation.left)
    return bool(relation.inputs) and all(map(is_final_in_batch, relation.inputs))


def final_rows(relation: Relation) -> Relation:
    """Return the rows that are left of a relation when its input has ended; a batch job computes them."""
    if is_final_in_batch(relation):
        return relation
    key = min(relation.keys, key=lambda each: (len(each), sorted(each)), default=None)
    return Rank(
        input=relation,
        partition=tuple(range(len(relation.columns))) if key is None else tuple(sorted(key)),
        order=(),
        start=0,
        end=sys.maxsize,
        has_number=False,
        columns=tuple(replace(each, is_time=False) for each in relation.columns),
        keys=relation.keys,
        changelog=Changelog.RETRACT,
    )
