"""The two time domains of timers."""

from __future__ import annotations

from enum import Enum


class TimeDomain(Enum):
    """Domain of a timer: event time or processing time."""

    EVENT_TIME = 0
    PROCESSING_TIME = 1
