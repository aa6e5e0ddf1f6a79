"""The JSON form of events: one object, on one line of a log of events or within a line of a log of messages.

    {"v": 1, "event": "Switched", "at_ms": 1383263940000, "job_id": "9f…", "job_name": "visits",
     "seconds": 0.8, "watermark_ms": null}

Fields that have their default are left out. A reader ignores unknown fields and events, so it can read files of
later versions; `v` changes only if the meaning of a field does.

A log of messages as JSON, for systems that collect them, has events on the lines that are about one:

    {"time":"2026-11-20T09:47:52.123Z","level":"INFO","logger":"penstock","message":"visits: switched in 0.8 s",
     "job_id":"9f…","job_name":"visits","event":{"v":1,"event":"Switched","seconds":0.8,…}}

`job_id`, `job_name` and `event` are on lines about an event; `error` is the traceback, on lines that have one.
"""

from __future__ import annotations

import json
import logging
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from datetime import UTC, datetime
from typing import Any

from penstock.errors import encodable
from penstock.metrics.histogram import HistogramValue, LatestValues
from penstock.metrics.values import (
    CounterValue,
    DistributionValue,
    GaugeValue,
    MeterValue,
    MetricValue,
)
from penstock.observe.events.job_events import EVENTS, JobEvent, JobEventBase, MetricSummary

VERSION = 1
"""Version of the form."""

_QUANTILES = (0.5, 0.95, 0.99)

_CLASSES = {kind.__name__: kind for kind in EVENTS}


def _of_histogram(value: HistogramValue) -> dict[str, Any]:
    shares = {f"p{round(share * 100)}": value.quantile(share) for share in _QUANTILES}
    return {"count": value.count, "sum": value.sum, "min": value.min, "max": value.max, **shares}


_METRICS: dict[type[Any], tuple[str, Callable[[Any], dict[str, Any]]]] = {
    CounterValue: ("counter", lambda value: {"count": value.count}),
    GaugeValue: ("gauge", lambda value: {"value": value.value}),
    MeterValue: ("meter", lambda value: {"count": value.count, "rate": value.rate}),
    HistogramValue: ("histogram", _of_histogram),
    LatestValues: ("histogram", _of_histogram),
    DistributionValue: (
        "distribution",
        lambda value: {
            "count": value.count,
            "sum": value.sum,
            "min": value.min,
            "max": value.max,
        },
    ),
}


def summary_of(value: MetricValue | MetricSummary) -> MetricSummary:
    """Return a metric as it stands in JSON.

    Examples:
        >>> summary_of(CounterValue(3))
        MetricSummary(kind='counter', values={'count': 3})
    """
    if isinstance(value, MetricSummary):
        return value
    kind, describe = _METRICS[type(value)]
    values = describe(value)
    return MetricSummary(kind, {name: _written(part) for name, part in values.items()})


def _written(value: Any) -> Any:
    """Return a number that JSON has, or its text: `nan` and `inf` are none."""
    return value if not isinstance(value, float) or math.isfinite(value) else str(value)


def to_json(event: JobEvent) -> dict[str, Any]:
    """Return the object of an event; `json.dumps` accepts it."""
    encoded: dict[str, Any] = {"v": VERSION, "event": type(event).__name__, "at_ms": event.at_ms}
    for field in fields(event):
        value = getattr(event, field.name)
        if field.name != "at_ms" and value != _default(field):
            encoded[field.name] = value
    if "metrics" in encoded:
        summaries = {name: summary_of(value) for name, value in encoded["metrics"].items()}
        encoded["metrics"] = {name: {"kind": s.kind, **s.values} for name, s in summaries.items()}
    return encoded


def to_line(event: JobEvent) -> str:
    """Return the line of an event, with its line break. Gauges that are no JSON become text."""
    text = json.dumps(to_json(event), ensure_ascii=False, separators=(",", ":"), default=str)
    return encodable(text) + "\n"


def from_json(encoded: Mapping[str, Any]) -> JobEvent | None:
    """Return the event of an object; None for one of another version.

    Metrics of functions are a `MetricSummary` each.

    Examples:
        >>> from_json({"v": 1, "event": "Switched", "seconds": 0.8, "watermark_ms": None})
        Switched(job_id='', job_name='', pipeline='', at_ms=0, seconds=0.8, watermark_ms=None)
        >>> from_json({"v": 1, "event": "Teleported"}) is None
        True
    """
    kind = _CLASSES.get(str(encoded.get("event")))
    if kind is None or encoded.get("v") != VERSION or type(encoded.get("at_ms", 0)) is not int:
        return None
    known = {field.name for field in fields(kind)}
    values = {name: value for name, value in encoded.items() if name in known}
    try:
        if "metrics" in values:
            values["metrics"] = {
                name: MetricSummary(value["kind"], {k: v for k, v in value.items() if k != "kind"})
                for name, value in values["metrics"].items()
            }
        if "unnamed" in values:
            values["unnamed"] = tuple(values["unnamed"])
        return kind(**values)
    except (TypeError, KeyError, AttributeError):
        return (
            None  # a field is missing, without which there is no such event, or it is another one's
        )


def from_line(line: str) -> JobEvent | None:
    """Return the event of a line; None if it is torn or of another version."""
    try:
        encoded = json.loads(line)
    except ValueError:
        return None
    return from_json(encoded) if isinstance(encoded, dict) else None


def _default(field: Field[Any]) -> Any:
    if field.default is not MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not MISSING else MISSING


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without a line break."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {
            "time": moment.replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        event = getattr(record, "event", None)
        about = {}
        if isinstance(event, JobEventBase):
            encoded = to_json(event)  # type: ignore[arg-type]  # every class of events is in the union
            about = {name: encoded.pop(name, "") for name in ("job_id", "job_name")}
            about["event"] = encoded
        error = {"error": self.formatException(record.exc_info)} if record.exc_info else {}
        return encodable(json.dumps(line | about | error, ensure_ascii=False, default=str))


class _StderrHandler(logging.StreamHandler):  # type: ignore[type-arg]  # of whatever stderr is now
    """Writes to the `sys.stderr` of the moment, which a program may replace."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def log_as_json() -> None:
    """Write the lines of Penstock's loggers to stderr as JSON, from INFO on, and nowhere else."""
    logger = logging.getLogger("penstock")
    if any(isinstance(handler.formatter, JsonFormatter) for handler in logger.handlers):
        return
    handler = _StderrHandler()
    handler.setFormatter(JsonFormatter())
    logger.addHandler(handler)
    logger.propagate = False
    if logger.level == logging.NOTSET or logger.level > logging.INFO:
        logger.setLevel(logging.INFO)
