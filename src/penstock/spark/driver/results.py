"""The results of the bounded region of a job, for the later runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from penstock.connectors.blocking_result import ResultSource, with_stored_result
from penstock.plan.physical import PhysicalPlan


def with_results(plan: PhysicalPlan, scratch: Path) -> PhysicalPlan:
    """Return the plan with the committed result files; those of other sources stay unknown.

    Args:
        plan: The job.
        scratch: Its checkpoint directory.
    """

    def found(source: ResultSource) -> ResultSource:
        return source.found_in(scratch)

    sources = tuple(
        replace(source, parts=tuple(with_stored_result(part, found) for part in source.parts))
        for source in plan.sources
    )
    return replace(plan, sources=sources)
