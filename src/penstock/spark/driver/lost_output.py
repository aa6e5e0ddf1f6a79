"""Repeats work if Spark lost output of an exchange that is not deterministic.

If an executor is lost, its shuffle files are lost. Spark computes them again and compares checksums.
If they differ and a task has read the first version, results would be a mix, so Spark aborts the
whole job. No output of that job is visible, and Penstock repeats it: a batch run from its beginning,
a live run from its last micro-batch. So functions need not be deterministic, and every record still
counts once.
"""

from __future__ import annotations

from penstock.observe.events.job_events import Repeating
from penstock.observe.events.listeners import JobEvents

_MESSAGE = "indeterminate output"

MOST_IN_A_ROW = 4
"""Greatest number of repetitions; equal to Spark's number of attempts of a stage."""


class LostOutput:
    """Decides whether one run repeats work."""

    def __init__(self, events: JobEvents) -> None:
        self._events = events
        self._in_a_row = 0

    def is_cause_of(self, failure: BaseException) -> bool:
        """Return whether to repeat the failed work; if so, it publishes an event."""
        return _MESSAGE in str(failure) and self.repeat()

    def repeat(self) -> bool:
        """Return whether to repeat work whose output Spark lost; if so, it publishes an event."""
        if self._in_a_row == MOST_IN_A_ROW:
            return False
        self._in_a_row += 1
        self._events.publish(Repeating(self._in_a_row, MOST_IN_A_ROW))
        return True

    def succeeded(self) -> None:
        """Reset the count: work was committed."""
        self._in_a_row = 0
