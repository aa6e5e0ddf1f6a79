"""What is done when Spark lost output of an exchange, and it comes out different a second time.

With an executor its shuffle files are gone. Spark computes them again and compares checksums; if
they differ and some task has read the first version already, results would be of both, so it
gives up the whole job. Nothing of that job is visible, and Penstock does it again: a batch run
from its beginning, a live run from its last micro-batch. So a function may give other results when
it is called again for the same records, and still every record counts once.
"""

from __future__ import annotations

from penstock.metrics.listener import JobEvents, Repeating

_SPARK_SAYS = "indeterminate output"

MOST_IN_A_ROW = 4
"""As often as Spark tries a stage."""


class LostOutput:
    """Decides for one run."""

    def __init__(self, events: JobEvents) -> None:
        self._events = events
        self._in_a_row = 0

    def is_cause_of(self, failure: BaseException) -> bool:
        """Return whether the work that failed is to be done again; if so, listeners are told.

        Args:
            failure: Why Spark gave it up.
        """
        if _SPARK_SAYS not in str(failure) or self._in_a_row == MOST_IN_A_ROW:
            return False
        self._in_a_row += 1
        self._events.publish(Repeating(self._in_a_row, MOST_IN_A_ROW))
        return True

    def succeeded(self) -> None:
        """Count from the beginning: something was committed."""
        self._in_a_row = 0
