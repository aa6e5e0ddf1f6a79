"""Sends metrics and spans of the jobs of this process to a collector of OpenTelemetry, by OTLP over HTTP.

Spans are job ─▶ run ─▶ micro-batch; errors, switches and savepoints are events of spans. A span ends with what
it stands for, so that of a live job is exported at its end; those of its micro-batches come before.

Metrics are instruments, of the same table as those of Prometheus:

    penstock_run_records_total{job_name,pipeline,run}   counter  penstock.run_records
    penstock_run_behind_seconds{…}                      gauge    penstock.run_behind_seconds, unit s
    penstock_operator_distribution{…,stat}              counters penstock.operator_distribution_count, …_sum,
                                                        gauge    …_quantile with the attribute quantile

Nothing is kept in instruments: they are observed, and values are those of the events.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from penstock.config.configuration import Configuration
from penstock.config.reporter_options import OTEL_INTERVAL, OTEL_MICRO_BATCH_INTERVAL
from penstock.extras import EXTRAS
from penstock.observe.events.job_events import (
    EVENTS,
    JobEnded,
    JobEvent,
    JobStarted,
    MicroBatch,
    Restarting,
    RunFinished,
    RunStarted,
)
from penstock.observe.events.job_view import JobView, JobViews
from penstock.observe.events.listeners import JobListener, add_listener
from penstock.observe.events.metric_table import JOB, METRICS, PREFIX, MetricKind, MetricRow
from penstock.observe.events.sentences import sentence
from penstock.version import __version__

SCOPE = "penstock"
"""Name of the instrumentation scope."""

_UNITS = {"seconds": "s", "bytes": "By", "ratio": "1"}

_QUANTILES = frozenset({"0.5", "0.95", "0.99"})
"""Values of the label `stat` that are quantiles."""

Views = Callable[[], Iterable[JobView]]


def otel_name(row: MetricRow) -> str:
    """Return the name of a metric in OpenTelemetry, where units and kinds are no part of it."""
    return f"{SCOPE}.{row.name.removeprefix(PREFIX).removesuffix('_total')}"


def unit_of(row: MetricRow) -> str:
    """Return the unit of a metric, empty for counts."""
    return _UNITS.get(row.name.removesuffix("_total").rpartition("_")[2], "")


def observe_jobs(meter_provider: Any, views: Views) -> None:
    """Make the instruments. A program that has a provider of its own calls this once.

    Args:
        meter_provider: A `MeterProvider` of OpenTelemetry.
        views: Returns the jobs, of different names.

    Raises:
        EnvironmentSetupError: The extra `otel` is not installed.
    """
    observation = EXTRAS["otel"].load("opentelemetry.metrics").Observation
    meter = meter_provider.get_meter(SCOPE, __version__)
    make = {
        MetricKind.COUNTER: meter.create_observable_counter,
        MetricKind.GAUGE: meter.create_observable_gauge,
    }
    for row in METRICS:
        name, unit = otel_name(row), unit_of(row)
        if row.kind is not MetricKind.SUMMARY:
            observe = _observer(row, views, observation)
            make[row.kind](name, callbacks=[observe], unit=unit, description=row.help)
            continue
        for stat in ("count", "sum"):
            observe = _observer(row, views, observation, frozenset({stat}))
            meter.create_observable_counter(
                f"{name}_{stat}", callbacks=[observe], unit=unit, description=row.help
            )
        observe = _observer(row, views, observation, _QUANTILES)
        meter.create_observable_gauge(
            f"{name}_quantile", callbacks=[observe], unit=unit, description=row.help
        )


def _observer(
    row: MetricRow,
    views: Views,
    observation: Any,
    stats: frozenset[str] = frozenset({""}),
) -> Callable[[Any], Iterator[Any]]:
    def observe(_: Any) -> Iterator[Any]:
        now_ms = time.time_ns() // 1_000_000
        for view in views():
            with view.lock:
                samples = list(row.read(view, now_ms))
            for values, value in samples:
                labels = dict(zip(row.labels, values, strict=True))
                stat = labels.pop("stat", "")
                if stat not in stats:
                    continue
                quantile = {"quantile": stat} if stat in _QUANTILES else {}
                yield observation(value, {JOB: view.job_name, **labels, **quantile})

    return observe


_NANOSECONDS = 1_000_000


@dataclass(slots=True)
class _OpenSpans:
    """The open spans of a job."""

    span: Any
    runs: dict[str, Any] = field(default_factory=dict)
    last_ms: dict[str, int] = field(default_factory=dict)


class SpanListener(JobListener):
    """Makes spans of events. A program that has a provider of its own adds it with `add_listener`."""

    def __init__(
        self,
        tracer_provider: Any,
        *,
        micro_batch_ms: int = 10_000,
        after_job: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare.

        Args:
            tracer_provider: A `TracerProvider` of OpenTelemetry.
            micro_batch_ms: Least time between two micro-batches of a run that have a span.
            after_job: Called when a job has ended and its spans are complete.

        Raises:
            EnvironmentSetupError: The extra `otel` is not installed.
        """
        self._trace = EXTRAS["otel"].load("opentelemetry.trace")
        self._tracer = tracer_provider.get_tracer(SCOPE, __version__)
        self._micro_batch_ms = micro_batch_ms
        self._after_job = after_job
        self._jobs: dict[str, _OpenSpans] = {}

    def on_event(self, event: JobEvent) -> None:
        """Begin, end or annotate a span."""
        if isinstance(event, JobStarted):
            self._end_job(event.job_id, event.at_ms, "")
            self._jobs[event.job_id] = _OpenSpans(self._begin_job(event))
            return
        job = self._jobs.get(event.job_id)
        if job is None:
            return  # it began before this listener
        note = _NOTES.get(type(event))
        if note is not None:
            note(self, job, event)
        elif not EVENTS[type(event)].is_detail:
            self._annotate(job.span, event)

    def _begin_job(self, event: JobStarted) -> Any:
        return self._tracer.start_span(
            f"job {event.job_name}",
            # Whatever the program has traced so far is not what the job belongs to.
            context=self._trace.set_span_in_context(self._trace.INVALID_SPAN),
            start_time=event.at_ms * _NANOSECONDS,
            attributes={
                "penstock.job.id": event.job_id,
                "penstock.job.name": event.job_name,
                "penstock.mode": event.mode,
                "penstock.parallelism": event.parallelism,
                "penstock.version": event.version,
            },
        )

    def _run_started(self, job: _OpenSpans, event: RunStarted) -> None:
        self._end_run(job, event.pipeline, event.at_ms, "")
        job.runs[event.pipeline] = self._tracer.start_span(
            f"run {event.name}",
            context=self._trace.set_span_in_context(job.span),
            start_time=event.at_ms * _NANOSECONDS,
            attributes={
                "penstock.run.name": event.name,
                "penstock.run.kind": event.kind,
                "penstock.run.reads": event.reads,
                "penstock.pipeline": event.pipeline,
            },
        )

    def _micro_batch(self, job: _OpenSpans, event: MicroBatch) -> None:
        run, last = job.runs.get(event.pipeline), job.last_ms.get(event.pipeline)
        is_early = last is not None and 0 <= event.at_ms - last < self._micro_batch_ms
        if run is None or is_early:
            return
        job.last_ms[event.pipeline] = event.at_ms
        parts = {f"penstock.seconds.{name}": spent for name, spent in event.durations.items()}
        behind = {
            "penstock.records_behind": event.records_behind,
            "penstock.files_behind": event.files_behind,
            "penstock.lag_ms": event.lag_ms,
        }
        known = {name: value for name, value in behind.items() if value is not None}
        end = event.at_ms * _NANOSECONDS
        span = self._tracer.start_span(
            "micro-batch",
            context=self._trace.set_span_in_context(run),
            start_time=end - int(event.seconds * 1_000_000_000),
            attributes={
                "penstock.micro_batch.number": event.number,
                "penstock.records": event.records,
                **parts,
                **known,
            },
        )
        span.end(end_time=end)

    def _run_finished(self, job: _OpenSpans, event: RunFinished) -> None:
        run = job.runs.get(event.pipeline)
        if run is not None:
            run.set_attribute("penstock.records", event.records)
            run.set_attribute("penstock.outcome", event.outcome)
        self._end_run(job, event.pipeline, event.at_ms, "")

    def _restarting(self, job: _OpenSpans, event: Restarting) -> None:
        self._fail(job.span, event.error, event.at_ms)
        for pipeline, run in list(job.runs.items()):
            self._fail(run, event.error, event.at_ms)
            self._end_run(job, pipeline, event.at_ms, event.reason)
        self._annotate(job.span, event)

    def _job_ended(self, job: _OpenSpans, event: JobEnded) -> None:
        job.span.set_attribute("penstock.status", event.status)
        problem = ""
        if event.status == "FAILED":
            problem = str(event.error.get("problem", "it failed"))
            self._fail(job.span, event.error, event.at_ms)
            for run in job.runs.values():
                self._fail(run, event.error, event.at_ms)
        self._end_job(event.job_id, event.at_ms, problem)
        self._after_job()

    def _fail(self, span: Any, error: Any, at_ms: int) -> None:
        attributes = {
            "exception.type": str(error.get("code", "")),
            "exception.message": str(error.get("problem", "")),
            "penstock.hint": str(error.get("hint", "")),
            "penstock.origin": str(error.get("origin", "")),
        }
        span.add_event("exception", attributes, timestamp=at_ms * _NANOSECONDS)

    def _annotate(self, span: Any, event: JobEvent) -> None:
        text = sentence(event, "job")
        span.add_event(
            type(event).__name__, {"message": text}, timestamp=event.at_ms * _NANOSECONDS
        )

    def _end_run(self, job: _OpenSpans, pipeline: str, at_ms: int, problem: str) -> None:
        run = job.runs.pop(pipeline, None)
        job.last_ms.pop(pipeline, None)
        if run is not None:
            self._end(run, at_ms, problem)

    def _end_job(self, job_id: str, at_ms: int, problem: str) -> None:
        job = self._jobs.pop(job_id, None)
        if job is not None:
            for pipeline in list(job.runs):
                self._end_run(job, pipeline, at_ms, problem)
            self._end(job.span, at_ms, problem)

    def _end(self, span: Any, at_ms: int, problem: str) -> None:
        if problem:
            span.set_status(self._trace.Status(self._trace.StatusCode.ERROR, problem))
        span.end(end_time=at_ms * _NANOSECONDS)


_NOTES: dict[type[JobEvent], Callable[[SpanListener, _OpenSpans, Any], None]] = {
    RunStarted: SpanListener._run_started,  # noqa: SLF001 - its own methods
    MicroBatch: SpanListener._micro_batch,  # noqa: SLF001
    RunFinished: SpanListener._run_finished,  # noqa: SLF001
    Restarting: SpanListener._restarting,  # noqa: SLF001
    JobEnded: SpanListener._job_ended,  # noqa: SLF001
}


_EXPORT_SECONDS = 5
"""Longest time of one request, so that a collector that does not answer holds no end of a process."""

_MILLISECOND = timedelta(milliseconds=1)


def start_otel(configuration: Configuration, endpoint: str | None) -> None:
    """Begin to send; it ends with the process.

    Args:
        configuration: Configuration of a job.
        endpoint: Address of the collector, None for that of the environment.

    Raises:
        EnvironmentSetupError: The extra `otel` is not installed.
    """
    resource = _resource()
    meters = _meter_provider(resource, configuration.get(OTEL_INTERVAL), endpoint)
    tracers = _tracer_provider(resource, endpoint)
    views = JobViews()

    def flush() -> None:
        tracers.force_flush(_EXPORT_SECONDS * 1000)
        meters.force_flush(_EXPORT_SECONDS * 1000)

    spans = SpanListener(
        tracers,
        micro_batch_ms=configuration.get(OTEL_MICRO_BATCH_INTERVAL) // _MILLISECOND,
        after_job=flush,
    )
    observe_jobs(meters, views.views)
    add_listener(views)
    add_listener(spans)  # behind the providers: what is registered last ends first


def _resource() -> Any:
    named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    )
    own = {"penstock.version": __version__} | ({} if named else {"service.name": "penstock"})
    return EXTRAS["otel"].load("opentelemetry.sdk.resources").Resource.create(own)


def _meter_provider(resource: Any, interval: timedelta, endpoint: str | None) -> Any:
    exporters = EXTRAS["otel"].load("opentelemetry.exporter.otlp.proto.http.metric_exporter")
    readers = EXTRAS["otel"].load("opentelemetry.sdk.metrics.export")
    exporter = exporters.OTLPMetricExporter(
        endpoint=_path(endpoint, "metrics"), timeout=_EXPORT_SECONDS
    )
    reader = readers.PeriodicExportingMetricReader(
        exporter, export_interval_millis=interval / _MILLISECOND
    )
    sdk = EXTRAS["otel"].load("opentelemetry.sdk.metrics")
    return sdk.MeterProvider(metric_readers=[reader], resource=resource)


def _tracer_provider(resource: Any, endpoint: str | None) -> Any:
    exporters = EXTRAS["otel"].load("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    processors = EXTRAS["otel"].load("opentelemetry.sdk.trace.export")
    provider = EXTRAS["otel"].load("opentelemetry.sdk.trace").TracerProvider(resource=resource)
    exporter = exporters.OTLPSpanExporter(
        endpoint=_path(endpoint, "traces"), timeout=_EXPORT_SECONDS
    )
    provider.add_span_processor(processors.BatchSpanProcessor(exporter))
    return provider


def _path(endpoint: str | None, signal: str) -> str | None:
    return None if endpoint is None else f"{endpoint.rstrip('/')}/v1/{signal}"
