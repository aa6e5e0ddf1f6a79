"""Reader of each metric of `metric_table` from a `JobView`: series, labels and value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from penstock.metrics.task_clock import OPERATOR
from penstock.observe.events.event_json import summary_of
from penstock.observe.events.job_events import MetricSummary
from penstock.observe.events.job_view import LOST, JobView
from penstock.observe.events.run_view import RunView

STATUSES = ("CREATED", "RUNNING", "RESTARTING", "FINISHED", "CANCELED", "FAILED", LOST)

Sample = tuple[tuple[str, ...], float]
"""Values of the labels, and the value."""

Samples = Iterator[Sample]


def info(view: JobView, _: int) -> Samples:
    """Yield the description of the job."""
    if view.started is not None:
        yield (view.job_id, view.started.version, view.started.mode), 1


def status(view: JobView, _: int) -> Samples:
    """Yield every status, with 1 for that of the job."""
    yield from (((status,), float(view.state == status)) for status in STATUSES)


def start_time(view: JobView, _: int) -> Samples:
    """Yield when the driver began."""
    if view.started is not None:
        yield (), view.started.at_ms / 1000


def savepoints(view: JobView, _: int) -> Samples:
    """Yield the numbers of savepoints."""
    yield from (((result,), float(count)) for result, count in view.savepoint_counts.items())


def of_runs(value: Callable[[RunView, int], float | None]) -> Callable[[JobView, int], Samples]:
    """Return a reader of a value of the latest run of each name and pipeline; None has no series."""

    def read(view: JobView, now_ms: int) -> Samples:
        for (pipeline, name), run in _latest(view).items():
            sample = value(run, now_ms)
            if sample is not None:
                yield (pipeline, name), sample

    return read


def _latest(view: JobView) -> dict[tuple[str, str], RunView]:
    return {(run.pipeline, run.name): run for run in view.runs}


def run_records(view: JobView, _: int) -> Samples:
    """Yield the records of runs; those of attempts that failed later count, because they were committed."""
    counts: dict[tuple[str, str], int] = {}
    for run in view.runs:
        key = run.pipeline, run.name
        counts[key] = counts.get(key, 0) + run.records
    yield from ((key, float(count)) for key, count in counts.items())


def of_live_run(value: Callable[[RunView], float | None]) -> Callable[[JobView, int], Samples]:
    """Return a reader of a value of running runs."""
    return of_runs(lambda run, _: value(run) if run.finished_ms is None else None)


def lag_seconds(run: RunView, now_ms: int) -> float | None:
    """Return the lag of the watermark, which grows while nothing arrives."""
    if run.finished_ms is not None or run.lag_ms is None or not run.micro_batches:
        return None
    return (run.lag_ms + max(0, now_ms - run.micro_batches[-1].at_ms)) / 1000


def micro_batch_seconds(view: JobView, _: int) -> Samples:
    """Yield the parts of the last micro-batch of each run."""
    for (pipeline, name), run in _latest(view).items():
        if run.micro_batches:
            for part, seconds in run.micro_batches[-1].durations.items():
                yield (pipeline, name, part), seconds


def watermarks(view: JobView, _: int) -> Samples:
    """Yield the watermarks of sources, in seconds."""
    for (pipeline, name), run in _latest(view).items():
        for source, mark in run.watermarks.items():
            yield (pipeline, name, source), mark / 1000


def of_report(
    counts: Callable[[JobView], Mapping[str, int]],
) -> Callable[[JobView, int], Samples]:
    """Return a reader of counts of the last report, by name."""
    return lambda view, _: (((name,), float(count)) for name, count in counts(view).items())


def split_watermarks(view: JobView, _: int) -> Samples:
    """Yield the watermarks of splits, in seconds."""
    for (pipeline, name), run in _latest(view).items():
        for source, marks in run.split_watermarks.items():
            yield from (
                ((pipeline, name, source, split), mark / 1000) for split, mark in marks.items()
            )


def subtasks(view: JobView, _: int) -> Samples:
    """Yield the records of each subtask of operators."""
    received = {} if view.metrics is None else view.metrics.subtasks
    for uid, counts in received.items():
        yield from (((uid, str(number)), float(count)) for number, count in enumerate(counts))


def of_sinks(field: str) -> Callable[[JobView, int], Samples]:
    """Return a reader of a field of the sinks that have it."""

    def read(view: JobView, _: int) -> Samples:
        sinks = {} if view.metrics is None else view.metrics.sinks
        yield from (((uid,), float(known[field])) for uid, known in sinks.items() if field in known)

    return read


def busy(view: JobView, _: int) -> Samples:
    """Yield the times of operators, over all places."""
    spent: dict[str, float] = {}
    for __, section, seconds in _sections(view):
        if section.startswith(OPERATOR):
            uid = section.removeprefix(OPERATOR)
            spent[uid] = spent.get(uid, 0.0) + seconds
    yield from (((uid,), seconds) for uid, seconds in spent.items())


def places(view: JobView, _: int) -> Samples:
    """Yield the times of sections; operators of a place are one section."""
    spent: dict[tuple[str, str], float] = {}
    for place, section, seconds in _sections(view):
        key = place, "operator" if section.startswith(OPERATOR) else section
        spent[key] = spent.get(key, 0.0) + seconds
    yield from spent.items()


def _sections(view: JobView) -> Iterator[tuple[str, str, float]]:
    seconds = {} if view.metrics is None else view.metrics.seconds
    for name, spent in seconds.items():
        place, _, section = name.partition(".")
        yield place, section, spent


def state(name: str) -> Callable[[JobView, int], Samples]:
    """Return a reader of a metric of state access."""

    def read(view: JobView, _: int) -> Samples:
        if view.metrics is not None and name in view.metrics.state:
            yield (), float(view.metrics.state[name])

    return read


_COPIES = {"hit": "copy_hits", "catch_up": "copy_catch_ups", "rebuild": "copy_rebuilds"}


def copies(view: JobView, _: int) -> Samples:
    """Yield the uses of local copies of state."""
    if view.metrics is not None:
        known = view.metrics.state
        yield from (((how,), float(known[name])) for how, name in _COPIES.items() if name in known)


def _user_metrics(view: JobView) -> Iterator[tuple[str, str, MetricSummary]]:
    """Yield operator, name and value of the metrics of operators and of their functions."""
    if view.metrics is None:
        return
    # The longest first: a uid may be the begin of another one.
    nodes = () if view.started is None else view.started.nodes
    uids = sorted((str(node["uid"]) for node in nodes), key=len, reverse=True)
    for full, value in view.metrics.metrics.items():
        uid = next((uid for uid in uids if full.startswith(f"{uid}.")), full.partition(".")[0])
        yield uid, full[len(uid) + 1 :], summary_of(value)


def numbers(view: JobView, _: int) -> Samples:
    """Yield counters, and gauges that are numbers."""
    for uid, name, value in _user_metrics(view):
        number = value.values.get("value", value.values.get("count"))
        if value.kind in {"counter", "gauge"} and isinstance(number, int | float):
            yield (uid, name), float(number)


def meter(field: str) -> Callable[[JobView, int], Samples]:
    """Return a reader of a field of meters: `count` or `rate`."""

    def read(view: JobView, _: int) -> Samples:
        for uid, name, value in _user_metrics(view):
            if value.kind == "meter":
                yield (uid, name), float(value.values[field])

    return read


_STATS = {"count": "count", "sum": "sum", "0.5": "p50", "0.95": "p95", "0.99": "p99"}


def summaries(view: JobView, _: int) -> Samples:
    """Yield distributions and histograms."""
    for uid, name, value in _user_metrics(view):
        if value.kind in {"histogram", "distribution"}:
            for stat, field in _STATS.items():
                if value.values.get(field) is not None:
                    yield (uid, name, stat), float(value.values[field])
