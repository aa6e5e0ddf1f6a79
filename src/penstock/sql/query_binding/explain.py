"""Relations as text: what EXPLAIN shows of each of them.

    Sink totals
      Group by k: n=COUNT(*) [retract, state: an accumulator per group, for 1 day]
        Scan orders [insert-only]

A relation that Spark SQL computes, and what is below it, keeps nothing: it is a part of a batch run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.relation.groups import GroupBy, WindowGroupBy, WindowRows
from penstock.relation.joins import Join
from penstock.relation.tree import Changelog, Relation
from penstock.sql.query_binding.select import is_final_in_batch

_UNITS = (
    (86_400_000, "day"),
    (3_600_000, "hour"),
    (60_000, "minute"),
    (1000, "second"),
    (1, "millisecond"),
)


@dataclass(frozen=True, slots=True)
class Placement:
    """Placement of relations by the job.

    Attributes:
        ttl_ms: `table.exec.state.ttl` in milliseconds; None if state is kept.
        in_spark: `id` of the relations that Spark SQL computes whole.
        is_batch: True if it is a batch job, whose rows are final.
    """

    ttl_ms: int | None = None
    in_spark: frozenset[int] = frozenset()
    is_batch: bool = False


def explained(relation: Relation, placement: Placement, depth: int = 0) -> str:
    """Return a relation and its inputs, one per line: its changelog mode, what it keeps and how long, or that Spark SQL computes it."""
    stateful = {id(inner) for inner in with_state(relation)}
    return "\n".join(_lines(relation, placement, depth, stateful, in_spark=False))


def with_state(relation: Relation) -> Iterator[Relation]:
    """Yield a relation and those below it, of the ones that keep state: sessions are kept by the group that they are merged in."""
    if relation.state is not None:
        yield relation
    inputs = relation.inputs
    if isinstance(relation, WindowGroupBy) and isinstance(relation.rows, WindowRows):
        inputs = (relation.rows.input,)
    for source in inputs:
        yield from with_state(source)


def _lines(
    relation: Relation, placement: Placement, depth: int, stateful: set[int], *, in_spark: bool
) -> list[str]:
    in_spark = in_spark or id(relation) in placement.in_spark
    kept = ""
    if in_spark:
        kept = ", computed by Spark SQL"
    elif id(relation) in stateful:
        kept = f", state: {relation.state}{_how_long(relation, placement.ttl_ms)}"
    is_final = placement.is_batch and is_final_in_batch(relation)
    mode = Changelog.INSERT_ONLY if is_final else relation.changelog
    lines = [f"{'  ' * depth}{relation} [{mode.value}{kept}]"]
    for source in relation.inputs:
        lines += _lines(source, placement, depth + 1, stateful, in_spark=in_spark)
    return lines


def _how_long(relation: Relation, ttl_ms: int | None) -> str:
    """Return the lifetime of state; a relation that the watermark bounds describes its own."""
    if relation.is_bounded:
        return ""
    if isinstance(relation, Join):
        left, right = (_for(side_ms or ttl_ms) for side_ms in relation.ttls_ms)
        return f", {left}" if left == right else f", {left} (left) or {right} (right)"
    own = relation.ttl_ms if isinstance(relation, GroupBy) else None
    return f", {_for(own or ttl_ms if relation.is_forgotten else None)}"


def _for(length_ms: int | None) -> str:
    if length_ms is None:
        return "for ever"
    unit, name = next(entry for entry in _UNITS if length_ms % entry[0] == 0)
    count = length_ms // unit
    return f"for {count} {name}{'' if count == 1 else 's'}"
