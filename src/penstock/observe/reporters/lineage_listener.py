"""Sends run events of OpenLineage, made of the events of a job: START, RUNNING, then COMPLETE, FAIL or ABORT.

It is called in a thread of its own (`add_listener`). A receiver that does not answer is tried again with later events;
what waits for it is bounded, and the job is not affected.

One run of OpenLineage is one driver of a job: a job that is resumed begins another run, of the same job.
"""

from __future__ import annotations

import logging
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from penstock.errors import HIDDEN
from penstock.extras import EXTRAS
from penstock.observe.events.job_events import (
    JobEnded,
    JobEvent,
    JobStarted,
    MetricsReported,
    Restarting,
    RunStarted,
)
from penstock.observe.events.listeners import JobListener
from penstock.version import __version__

_PRODUCER = f"urn:penstock:{__version__}"
_MOST_ERROR_CHARS = 1_000
_LOGINS = (
    re.compile(r"(?<=://)[^/\s@]+(?=@)"),
    re.compile(
        r"(?i)(?<![a-z])([a-z_.-]*(?:password|secret|token|credential|access[_.-]?key)[a-z_.-]*\W{0,2}[=:]\s*)"
        r"(?:\"[^\"]*\"|'[^']*'|[^\s,;&)}\]]+)"
    ),
)
"""Pattern of possible logins in the text of another library's exception."""


def without_logins(text: str) -> str:
    """Return a text without what looks like a login.

    Examples:
        >>> without_logins("cannot reach redis://:hunter2@cache (password='hunter2', db=0)")
        'cannot reach redis://******@cache (password=******, db=0)'
    """
    text = _LOGINS[0].sub(HIDDEN, text)
    return _LOGINS[1].sub(lambda login: f"{login[1]}{HIDDEN}", text)


@dataclass(slots=True)
class LineageRun:
    """A run and its facts.

    Attributes:
        run_id: A UUID.
        counts: Records read and written so far.
        error: The last failure; empty without one.
    """

    started: JobStarted
    namespace: str
    run_id: str = ""
    counts: MetricsReported | None = None
    error: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Choose an id."""
        began = datetime.fromtimestamp(self.started.at_ms / 1000, UTC)
        self.run_id = str(_module("uuid").generate_new_uuid(began))

    def event(self, state: str, at_ms: int) -> Any:
        """Return a run event."""
        model = _module("event_v2")
        return model.RunEvent(
            eventType=model.RunState[state],
            eventTime=datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds"),
            run=model.Run(self.run_id, facets=dict(self._run_facets())),
            job=model.Job(self.namespace, self.started.job_name, facets=dict(self._job_facets())),
            inputs=list(self._inputs(model)),
            outputs=list(self._outputs(model)),
            producer=_PRODUCER,
        )

    def _run_facets(self) -> Iterator[tuple[str, Any]]:
        facets = _module("facet_v2")
        engine = facets.processing_engine_run.ProcessingEngineRunFacet
        yield "processing_engine", engine(self.started.version, "Penstock", producer=_PRODUCER)
        given = facets.execution_parameters_run
        shown = {key: text for key, text in self.started.settings.items() if text != HIDDEN}
        yield (
            "executionParameters",
            given.ExecutionParametersRunFacet(
                [given.ExecutionParameter(key, value=text) for key, text in sorted(shown.items())],
                producer=_PRODUCER,
            ),
        )
        if self.error:
            problem = ": ".join(
                self.error[name] for name in ("code", "problem") if self.error.get(name)
            )
            message = without_logins(problem)[:_MOST_ERROR_CHARS]
            failure = facets.error_message_run.ErrorMessageRunFacet
            yield "errorMessage", failure(message, "PYTHON", producer=_PRODUCER)

    def _job_facets(self) -> Iterator[tuple[str, Any]]:
        kind = _module("facet_v2").job_type_job.JobTypeJobFacet
        mode = self.started.mode.partition(",")[0] or "STREAMING"
        yield "jobType", kind(mode, "PENSTOCK", "JOB", producer=_PRODUCER)

    def _inputs(self, model: Any) -> Iterator[Any]:
        facet = _module("facet_v2").input_statistics_input_dataset.InputStatisticsInputDatasetFacet
        records = {} if self.counts is None else self.counts.sources
        for node, dataset in self._datasets("source"):
            records_read = records.get(node["uid"])
            # A total over several datasets has no share per dataset.
            facets = {}
            if records_read is not None and len(node["datasets"]) == 1:
                facets["inputStatistics"] = facet(int(records_read), producer=_PRODUCER)
            yield model.InputDataset(
                dataset["namespace"], dataset["name"], facets=_schema(node), inputFacets=facets
            )

    def _outputs(self, model: Any) -> Iterator[Any]:
        facet = _module(
            "facet_v2"
        ).output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet
        sinks = {} if self.counts is None else self.counts.sinks
        for node, dataset in self._datasets("sink"):
            counts = sinks.get(node["uid"], {})
            facets = {}
            if counts and len(node["datasets"]) == 1:
                numbers = (_integer(counts.get(name)) for name in ("records", "bytes", "files"))
                facets = {"outputStatistics": facet(*numbers, producer=_PRODUCER)}
            yield model.OutputDataset(
                dataset["namespace"], dataset["name"], facets=_schema(node), outputFacets=facets
            )

    def _datasets(self, kind: str) -> Iterator[tuple[Mapping[str, Any], Mapping[str, str]]]:
        for node in self.started.nodes:
            if node["kind"] == kind:
                yield from ((node, dataset) for dataset in node.get("datasets", ()))


def _schema(node: Mapping[str, Any]) -> dict[str, Any]:
    fields: Sequence[Sequence[str]] = node.get("fields", ())
    if not fields:
        return {}
    schema = _module("facet_v2").schema_dataset
    described = [
        schema.SchemaDatasetFacetFields(name, kind, ordinal_position=position)
        for position, (name, kind) in enumerate(fields, 1)
    ]
    return {"schema": schema.SchemaDatasetFacet(described, producer=_PRODUCER)}


def _integer(number: float | None) -> int | None:
    return None if number is None else int(number)


def _module(name: str) -> Any:
    return EXTRAS["openlineage"].load(f"openlineage.client.{name}")


_STATES = {"FINISHED": "COMPLETE", "FAILED": "FAIL", "CANCELED": "ABORT"}
_MOST_WAITING = 100
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 1.0, 60.0
_logger = logging.getLogger("penstock")


@dataclass(slots=True)
class _Known:
    """A run, and when the last event of it was made."""

    run: LineageRun
    reported_ms: int


class LineageListener(JobListener):
    """Makes run events of the events of jobs. A program with a client of its own adds it with `add_listener`."""

    def __init__(
        self,
        emit: Callable[[Any], object],
        *,
        namespace: str = "default",
        interval_ms: int = 60_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare."""
        self._emit = emit
        self._namespace = namespace
        self._interval_ms = interval_ms
        self._clock = clock
        self._jobs: dict[str, _Known] = {}
        self._waiting: deque[Any] = deque()
        self._lost = 0
        self._pause = 0.0
        self._not_before = 0.0

    def on_event(self, event: JobEvent) -> None:
        """Send a run event if the event changes the state of the run."""
        if isinstance(event, JobStarted):
            run = LineageRun(event, self._namespace)
            self._jobs[event.job_id] = _Known(run, event.at_ms)
            self._send(run.event("START", event.at_ms))
            return
        known = self._jobs.get(event.job_id)
        if known is None:
            return  # it began before this listener
        if isinstance(event, MetricsReported):
            known.run.counts = event
        state = self._state_after(known, event)
        if state is None:
            return
        known.reported_ms = event.at_ms
        self._send(known.run.event(state, event.at_ms), is_last=isinstance(event, JobEnded))

    def _state_after(self, known: _Known, event: JobEvent) -> str | None:
        if isinstance(event, JobEnded):
            del self._jobs[event.job_id]
            known.run.error = event.error
            return _STATES.get(event.status, "ABORT")
        if isinstance(event, Restarting):
            known.run.error = event.error
            return "RUNNING"
        if isinstance(event, RunStarted):
            known.run.error = {}
            return "RUNNING"
        is_due = not 0 <= event.at_ms - known.reported_ms < self._interval_ms
        return "RUNNING" if isinstance(event, MetricsReported) and is_due else None

    def _send(self, event: Any, *, is_last: bool = False) -> None:
        self._waiting.append(event)
        if len(self._waiting) > _MOST_WAITING:
            self._waiting.popleft()
            self._lost += 1
        if self._clock() < self._not_before and not is_last:
            return
        try:
            while self._waiting:
                self._emit(self._waiting[0])
                self._waiting.popleft()
        except Exception as cause:  # noqa: BLE001 - the job goes on without it
            self._failed(cause)
            return
        if self._pause:
            _logger.warning("OpenLineage works again; %d events are lost", self._lost)
        self._pause, self._lost = 0.0, 0

    def _failed(self, cause: Exception) -> None:
        if not self._pause:
            # Only the class: the text of the library has the address, in which there may be a login.
            _logger.warning(
                "events of OpenLineage could not be sent, and are tried again; the job goes on: %s",
                type(cause).__name__,
            )
        self._pause = min(2 * self._pause or _FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS)
        self._not_before = self._clock() + self._pause
