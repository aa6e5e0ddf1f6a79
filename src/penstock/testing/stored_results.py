"""The stored output of the bounded region of a job, for the runs after it, in this process."""

from __future__ import annotations

from dataclasses import replace

from penstock.connectors.blocking_result import ResultSink, ResultSource, with_stored_result
from penstock.plan.physical import PhysicalPlan
from penstock.testing.results import Results


def with_values(plan: PhysicalPlan, results: Results) -> PhysicalPlan:
    """Return the plan with what sinks of results hold by now."""
    held = {
        sink.sink.result: tuple(results.records[sink.index])
        for sink in plan.sinks
        if isinstance(sink.sink, ResultSink)
    }

    def filled(source: ResultSource) -> ResultSource:
        return replace(source, values=held[source.result])

    sources = tuple(
        replace(source, parts=tuple(with_stored_result(part, filled) for part in source.parts))
        for source in plan.sources
    )
    return replace(plan, sources=sources)


def without_stored_results(plan: PhysicalPlan, results: Results) -> Results:
    """Return the results without what was kept for the job itself; its sinks are the last ones."""
    own = sum(not isinstance(sink.sink, ResultSink) for sink in plan.sinks)
    return replace(
        results,
        names=results.names[:own],
        records=results.records[:own],
        commits=[counts[:own] for counts in results.commits],
    )
