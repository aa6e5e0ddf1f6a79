"""Backlog in a plan: its settings for live runs (FLIP-309, FLIP-328), and its end.

The end positions of the backlog of a source are decided once per job. A source may grow. If each of its
two parts called `splits` when it is read, positions that were added in between would be in neither part,
or in both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from penstock.config.configuration import Configuration
from penstock.config.option import ConfigOption
from penstock.config.options import CHECKPOINT_INTERVAL, INTERVAL_DURING_BACKLOG
from penstock.config.run_options import CATCH_UP_FACTOR, WATERMARK_LAG_THRESHOLD
from penstock.errors import SourceError
from penstock.graph.backlog_end import Cut, as_split_part
from penstock.graph.endpoints import Source
from penstock.graph.hybrid import Captured, SnapshotPart, snapshot_part_of, with_captured
from penstock.graph.logical import Node
from penstock.plan.phases.edges import sources_of
from penstock.plan.physical import PhysicalPlan
from penstock.program.operators import TIMESTAMPS

_CATCH_UP_FACTOR = 4


def backlog_lag_ms(configuration: Configuration) -> int | None:
    """Return the threshold in milliseconds, at least 1; None if there is none."""
    threshold = configuration.get(WATERMARK_LAG_THRESHOLD)
    return None if threshold is None else max(1, threshold // timedelta(milliseconds=1))


# FLIP-327, rule 2.
def checkpoint_interval(configuration: Configuration, *, backlog: bool) -> timedelta:
    """Return the time between the starts of two micro-batches (FLIP-309)."""
    normal = configuration.get(CHECKPOINT_INTERVAL)
    during = configuration.get(INTERVAL_DURING_BACKLOG)
    return during if backlog and during else normal


def catch_up_factor(configuration: Configuration, usual: ConfigOption[int]) -> int:
    """Return the factor by which a micro-batch may exceed its usual size while much input is pending."""
    factor = configuration.get(CATCH_UP_FACTOR)
    if factor is not None:
        return factor
    return 1 if configuration.contains_key(usual.key) else _CATCH_UP_FACTOR


def has_strategy(node: Node) -> bool:
    """Return whether a node makes watermarks."""
    spec = node.watermarking
    return spec is not None and (spec.out_of_orderness_ms, spec.make_generator) != (None, None)


def timed_sources(plan: PhysicalPlan) -> frozenset[int]:
    """Return the sources whose records get watermarks from a strategy."""
    makers = filter(has_strategy, plan.graph.of_kind(TIMESTAMPS))
    return frozenset(source for node in makers for source in sources_of(plan.graph, node))


def decide_cuts(plan: PhysicalPlan) -> dict[int, tuple[Cut, ...]]:
    """Return source id to splits and cuts, for sources whose backlog has an end."""
    cuts: dict[int, tuple[Cut, ...]] = {}
    for source in plan.sources:
        part = as_split_part(source.parts[0])
        if part is not None:
            try:
                cuts[source.id] = part.end.cuts(part.source, plan.options.parallelism)
            except SourceError as error:
                if error.origin is not None:
                    raise
                source_error = SourceError(error.problem, hint=error.hint, origin=source.origin)
                raise source_error.permanent(error.is_permanent) from error
    return cuts


def known_cuts(recorded: Mapping[str, Sequence[Sequence[Any]]]) -> dict[int, list[Cut]]:
    """Return the cuts of a record, by source id."""
    return {int(source): [Cut(*cut) for cut in of] for source, of in recorded.items()}


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


def snapshot_parts(plan: PhysicalPlan) -> dict[int, SnapshotPart]:
    """Return source id to the part that is a snapshot, for sources that begin with one."""
    parts = {source.id: snapshot_part_of(source.parts) for source in plan.sources}
    return {source: part[1] for source, part in parts.items() if part is not None}


def with_snapshot(plan: PhysicalPlan, source: int, captured: Captured) -> PhysicalPlan:
    """Return the plan with the captured snapshots of sources."""
    sources = tuple(
        replace(source_plan, parts=with_captured(source_plan.parts, captured))
        if source_plan.id == source
        else source_plan
        for source_plan in plan.sources
    )
    return replace(plan, sources=sources)


def _decided(part: Source, cuts: tuple[Cut, ...]) -> Source:
    cut = as_split_part(part)
    return part if cut is None else replace(cut, decided=cuts)
