"""Logs all metrics of a job now and then, as Flink's reporter for SLF4J does."""

from __future__ import annotations

import logging
from datetime import timedelta

from penstock.events.job_events import JobEnded, JobEvent, MetricsReported
from penstock.events.listeners import JobListener
from penstock.events.sentences import metric_parts

_logger = logging.getLogger("penstock.metrics")
_MILLISECOND = timedelta(milliseconds=1)


class MetricsLogger(JobListener):
    """Writes one line per interval and job, and the last metrics at the end of a job."""

    def __init__(self, interval: timedelta) -> None:
        """Begin."""
        self._interval_ms = interval // _MILLISECOND
        self._last: dict[str, MetricsReported] = {}
        self._logged_ms: dict[str, int] = {}

    def on_event(self, event: JobEvent) -> None:
        """Log metrics if it is time."""
        job = event.job_id
        if isinstance(event, MetricsReported):
            self._last[job] = event
            if abs(event.at_ms - self._logged_ms.get(job, 0)) >= self._interval_ms:
                self._log(job)
        elif isinstance(event, JobEnded):
            self._log(job)
            self._logged_ms.pop(job, None)

    def _log(self, job: str) -> None:
        event = self._last.pop(job, None)
        if event is not None:
            self._logged_ms[job] = event.at_ms
            _logger.info("%s: %s", event.job_name, ", ".join(metric_parts(event)) or "no metrics")
