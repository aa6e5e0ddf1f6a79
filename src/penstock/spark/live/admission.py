"""Admission control of file sources: the greatest number of files per micro-batch of a live run.

Spark fixes the number when a query starts. So if the pending files require another number, the query is
restarted between two micro-batches: workers keep their copies of state, no record is read or written
twice, and the restart takes about as long as a small micro-batch. To be worth it the number must at
least double, or return to the usual one because at most one micro-batch is pending; and two
measurements in a row must agree. Sources that number their records need no restart: `positions` decides
for every micro-batch.
"""

from __future__ import annotations

from collections.abc import Mapping

_WORTH = 2


class FileAdmission:
    """Decides when to restart the query of a live run.

    Attributes:
        files: Source id to the current number of files.
        is_due: Whether to restart the query.
    """

    def __init__(self, usual: int) -> None:
        """Begin before the first query.

        Args:
            usual: Number of files of a micro-batch of a source without much pending input.
        """
        self._usual = usual
        self._asked: set[int] = set()
        self.files: Mapping[int, int] = {}
        self.is_due = False

    def begin(self, wanted: Mapping[int, int]) -> dict[int, int]:
        """Begin a query with these numbers; return those that have changed.

        Before the first query all numbers are the usual one.
        """
        before, self.files = self.files, dict(wanted)
        self._asked, self.is_due = set(), False
        return {
            source: files
            for source, files in wanted.items()
            if files != before.get(source, self._usual)
        }

    def note(self, wanted: Mapping[int, int], waiting: Mapping[int, int]) -> None:
        """Record a measurement.

        Args:
            wanted: Source id to the required number of files.
            waiting: Source id to the number of pending files.
        """
        asked = {
            source
            for source, files in wanted.items()
            if self._is_worth_it(source, files, waiting[source])
        }
        self.is_due = bool(asked & self._asked)
        self._asked = asked

    def _is_worth_it(self, source: int, files: int, waiting: int) -> bool:
        now = self.files.get(source, self._usual)
        return files >= _WORTH * now or waiting <= self._usual < now
