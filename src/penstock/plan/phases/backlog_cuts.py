"""Decides once per job at which positions the backlog of a source ends.

A source may grow. If each of the two parts called `splits` when it is read, positions that were added in
between would be in neither part, or in both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from penstock.errors import SourceError
from penstock.graph.backlog_end import Cut, as_split_part
from penstock.graph.endpoints import Source
from penstock.plan.physical import PhysicalPlan


def decide_cuts(plan: PhysicalPlan) -> dict[int, tuple[Cut, ...]]:
    """Return source id to splits and cuts, for sources whose backlog has an end.

    Raises:
        SourceError: A source cannot be cut there; the error names its line.
    """
    found: dict[int, tuple[Cut, ...]] = {}
    for source in plan.sources:
        part = as_split_part(source.parts[0])
        if part is not None:
            try:
                found[source.id] = part.end.cuts(part.source, plan.options.parallelism)
            except SourceError as error:
                if error.origin is not None:
                    raise
                raise SourceError(error.problem, hint=error.hint, origin=source.origin) from error
    return found


def with_cuts(plan: PhysicalPlan, cuts: Mapping[int, Sequence[Cut]]) -> PhysicalPlan:
    """Return the plan with decided cuts."""
    sources = tuple(
        replace(
            source,
            parts=tuple(_decided(part, tuple(cuts[source.id])) for part in source.parts),
        )
        if source.id in cuts
        else source
        for source in plan.sources
    )
    return replace(plan, sources=sources)


def _decided(part: Source, cuts: tuple[Cut, ...]) -> Source:
    cut = as_split_part(part)
    return part if cut is None else replace(cut, decided=cuts)
