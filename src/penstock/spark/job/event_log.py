"""Facts about a job at its begin and end in the driver, and the place of its events."""

from __future__ import annotations

from penstock.config.configuration import Configuration
from penstock.errors import PenstockError
from penstock.observe.events.event_log import EventLog, events_in
from penstock.observe.events.job_events import JobEnded, JobStarted
from penstock.observe.events.listeners import Registration
from penstock.plan.explain.outline import edges_of, nodes_of
from penstock.plan.explain.render import render_text
from penstock.plan.physical import PhysicalPlan
from penstock.spark.job.job_directory import JobDirectory
from penstock.version import __version__

_MOST_PLAN_CHARS = 50_000

_MOST_ERROR_CHARS = 10_000
"""A problem may name a record, of any size."""


def event_log_of(directory: JobDirectory) -> tuple[Registration, ...]:
    """Return the log of events of a job; none in a temporary directory, which is removed with the job."""
    if directory.is_temporary:
        return ()
    return (Registration(EventLog(events_in(directory.path), fence=directory.fence)),)


def job_started(plan: PhysicalPlan, configuration: Configuration) -> JobStarted:
    """Return the event with which a driver begins."""
    return JobStarted(
        version=__version__,
        mode=plan.mode_text,
        parallelism=plan.options.parallelism,
        settings=configuration.shown(),
        nodes=[node.to_json() for node in nodes_of(plan)],
        edges=[edge.to_json() for edge in edges_of(plan)],
        plan=render_text(plan)[:_MOST_PLAN_CHARS],
    )


def job_not_started(failure: BaseException) -> JobEnded:
    """Return the event with which a driver ends that has failed, or was interrupted, before the runs of its job."""
    if not isinstance(failure, Exception):
        return JobEnded("CANCELED")
    error = error_of(failure) if isinstance(failure, PenstockError) else {"problem": repr(failure)}
    return JobEnded("FAILED", error)


def error_of(error: PenstockError) -> dict[str, str]:
    """Return an error as events have it; see `Restarting.error`."""
    origin = {} if error.origin is None else {"origin": str(error.origin)}
    fields = {"code": error.code, "problem": str(error.problem), "hint": str(error.hint), **origin}
    return {name: text[:_MOST_ERROR_CHARS] for name, text in fields.items()}
