"""The metrics of jobs for monitoring systems: one table, the source of all lists of metrics.

Each row has the function that reads a metric from a `JobView`. Labels name jobs, runs, operators, sources and sinks, never
keys or records, so the number of series does not grow with the data. All series have the label `job_name`: `job` is a
label of Prometheus itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from penstock.observe.events import metric_readers as read
from penstock.observe.events.job_view import JobView
from penstock.observe.events.metric_readers import Samples

PREFIX = "penstock_"
JOB = "job_name"


class MetricKind(Enum):
    """Behaviour of a metric over time."""

    GAUGE = "gauge"
    """It goes up and down."""

    COUNTER = "counter"
    """It goes up, and begins at 0 with another driver. Its name ends in `_total`."""

    SUMMARY = "summary"
    """A count, a sum and quantiles; its last label is `stat`: `count`, `sum` or a quantile such as `0.5`."""


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One metric.

    Attributes:
        name: With prefix and unit.
        kind: Counter, gauge or histogram.
        labels: Those beside `job_name`.
        read: Takes the view of a job and the time in epoch milliseconds, and yields its series.
    """

    name: str
    kind: MetricKind
    labels: tuple[str, ...]
    help: str
    read: Callable[[JobView, int], Samples]


_GAUGE, _COUNTER, _SUMMARY = MetricKind.GAUGE, MetricKind.COUNTER, MetricKind.SUMMARY
_RUN = ("pipeline", "run")


def _row(
    name: str,
    kind: MetricKind,
    labels: tuple[str, ...],
    help_: str,
    read: Callable[[JobView, int], Samples],
) -> MetricRow:
    return MetricRow(PREFIX + name, kind, labels, help_, read)


METRICS: tuple[MetricRow, ...] = (
    _row(
        "job_info",
        _GAUGE,
        ("job_id", "version", "mode"),
        "1; labels describe the job.",
        read.info,
    ),
    _row(
        "job_status", _GAUGE, ("status",), "1 for the status of the job, 0 for others.", read.status
    ),
    _row(
        "job_start_time_seconds",
        _GAUGE,
        (),
        "Start of its driver, in seconds since 1970.",
        read.start_time,
    ),
    _row(
        "job_restarts_total",
        _COUNTER,
        (),
        "Restarts after failures.",
        lambda view, _: iter([((), float(view.restarts))]),
    ),
    _row(
        "job_repetitions_total",
        _COUNTER,
        (),
        "Repetitions of work because Spark lost output.",
        lambda view, _: iter([((), float(view.repetitions))]),
    ),
    _row(
        "job_savepoints_total", _COUNTER, ("result",), "Savepoints: taken, failed.", read.savepoints
    ),
    _row("run_records_total", _COUNTER, _RUN, "Records read and committed.", read.run_records),
    _row(
        "run_progress_ratio",
        _GAUGE,
        _RUN,
        "Share of its input that a run has read.",
        read.of_runs(lambda run, _: run.progress()),
    ),
    _row(
        "run_micro_batches_total",
        _COUNTER,
        _RUN,
        "Micro-batches over the life of the checkpoint.",
        read.of_runs(lambda run, _: None if run.number is None else float(run.number + 1)),
    ),
    _row(
        "run_micro_batch_seconds",
        _GAUGE,
        (*_RUN, "part"),
        "Parts of the last micro-batch: job, commit, driver.",
        read.micro_batch_seconds,
    ),
    _row(
        "run_pending_records",
        _GAUGE,
        _RUN,
        "Waiting records, as far as sources count them.",
        read.of_live_run(lambda run: run.records_behind),
    ),
    _row(
        "run_pending_files",
        _GAUGE,
        _RUN,
        "Waiting files.",
        read.of_live_run(lambda run: run.files_behind),
    ),
    _row(
        "run_behind_seconds",
        _GAUGE,
        _RUN,
        "Age of the oldest waiting input, or 0.",
        read.of_runs(lambda run, now_ms: run.behind_seconds(now_ms)),
    ),
    _row(
        "run_catch_up_seconds",
        _GAUGE,
        _RUN,
        "Estimated time until no input waits.",
        read.of_live_run(lambda run: run.catch_up_seconds),
    ),
    _row(
        "run_watermark_lag_seconds",
        _GAUGE,
        _RUN,
        "Wall clock minus the greatest watermark of the sources.",
        read.of_runs(read.lag_seconds),
    ),
    _row(
        "run_switch_seconds",
        _GAUGE,
        _RUN,
        "Time from the last record of the run before to the start of this one.",
        read.of_runs(lambda run, _: run.switch_seconds),
    ),
    _row(
        "source_records_total",
        _COUNTER,
        ("source",),
        "Records read from a source.",
        read.of_report(lambda view: {} if view.metrics is None else view.metrics.sources),
    ),
    _row(
        "source_watermark_timestamp_seconds",
        _GAUGE,
        (*_RUN, "source"),
        "Watermark of a source, in seconds since 1970.",
        read.watermarks,
    ),
    _row(
        "source_split_watermark_timestamp_seconds",
        _GAUGE,
        (*_RUN, "source", "split"),
        "Watermark of a split, of the 64 most behind.",
        read.split_watermarks,
    ),
    _row(
        "operator_records_total",
        _COUNTER,
        ("operator",),
        "Records received by an operator.",
        read.of_report(lambda view: {} if view.metrics is None else view.metrics.operators),
    ),
    _row(
        "operator_busy_seconds_total",
        _COUNTER,
        ("operator",),
        "Time in an operator and its functions, over all subtasks.",
        read.busy,
    ),
    _row(
        "operator_subtask_records_total",
        _COUNTER,
        ("operator", "subtask"),
        "Records that a subtask has received in the last run.",
        read.subtasks,
    ),
    _row(
        "operator_state_keys",
        _GAUGE,
        ("operator",),
        "Keys with state, if the state backend counts them; behind a start from the time at which every key group was read.",
        read.of_report(lambda view: {} if view.metrics is None else view.metrics.state_keys),
    ),
    _row(
        "operator_state_bytes",
        _GAUGE,
        ("operator",),
        "Bytes of state in the checkpoint.",
        read.of_report(lambda view: {} if view.metrics is None else view.metrics.state_bytes),
    ),
    _row(
        "sink_records_total",
        _COUNTER,
        ("sink",),
        "Records committed to a sink.",
        read.of_sinks("records"),
    ),
    _row(
        "sink_commits_total",
        _COUNTER,
        ("sink",),
        "Commits of a sink that were not empty.",
        read.of_sinks("commits"),
    ),
    _row(
        "sink_commit_seconds_total",
        _COUNTER,
        ("sink",),
        "Time of the commits of a sink.",
        read.of_sinks("seconds"),
    ),
    _row(
        "sink_files_total",
        _COUNTER,
        ("sink",),
        "Files or objects that became visible.",
        read.of_sinks("files"),
    ),
    _row(
        "sink_bytes_total",
        _COUNTER,
        ("sink",),
        "Size of these files.",
        read.of_sinks("bytes"),
    ),
    _row(
        "section_seconds_total",
        _COUNTER,
        ("place", "section"),
        "Time of a section, over all tasks, as `seconds.<place>.<section>`.",
        read.places,
    ),
    _row(
        "state_log_bytes_total", _COUNTER, (), "Bytes of logged changes.", read.state("log_bytes")
    ),
    _row(
        "state_compaction_bytes_total",
        _COUNTER,
        (),
        "Bytes written by compaction of logs.",
        read.state("compaction_bytes"),
    ),
    _row(
        "state_copy_uses_total",
        _COUNTER,
        ("how",),
        "Uses of local copies of state: hit, catch_up, rebuild.",
        read.copies,
    ),
    _row(
        "operator_metric",
        _GAUGE,
        ("operator", "name"),
        "Counters and gauges of operators and functions; a counter may go down.",
        read.numbers,
    ),
    _row(
        "operator_meter_events_total",
        _COUNTER,
        ("operator", "name"),
        "Events of meters of functions.",
        read.meter("count"),
    ),
    _row(
        "operator_meter_rate",
        _GAUGE,
        ("operator", "name"),
        "Events per second of meters of functions, over their time spans.",
        read.meter("rate"),
    ),
    _row(
        "operator_distribution",
        _SUMMARY,
        ("operator", "name", "stat"),
        "Distributions and histograms of functions, and latencies.",
        read.summaries,
    ),
)
"""All metrics, in the order of the documentation."""
