"""Log lines as JSON, for systems that collect them.

    {"time":"2026-11-20T09:47:52.123Z","level":"INFO","logger":"penstock","message":"visits: switched in 0.8 s",
     "job_id":"9f…","job_name":"visits","event":{"v":1,"event":"Switched","seconds":0.8,…}}

`job_id`, `job_name` and `event` are on lines about an event; `error` is the traceback, on lines that have one.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from penstock.errors import encodable
from penstock.events.event_json import to_json
from penstock.events.job_events import JobEventBase


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without a line break."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {
            "time": at.replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        event = getattr(record, "event", None)
        about = {}
        if isinstance(event, JobEventBase):
            found = to_json(event)  # type: ignore[arg-type]  # every class of events is in the union
            about = {name: found.pop(name, "") for name in ("job_id", "job_name")}
            about["event"] = found
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
