"""How many files a micro-batch takes of each file source, while a live run goes on.

Spark fixes the number where a query starts. So when what waits asks for another number, the query
begins anew with it, between two micro-batches: workers keep their copies of state, nothing is
read or written twice, and it takes about as long as a small micro-batch. To be worth that the
number must at least double, or become the usual one again because no more than one micro-batch
waits; and two looks in a row must say so. Sources that number their records need none of this: `positions`
decides anew for every micro-batch.
"""

from __future__ import annotations

from collections.abc import Mapping

_WORTH = 2


class FileAdmission:
    """Decides when the query of a live run begins anew.

    Attributes:
        files: Source id to the number of files that is in force.
        is_due: The query should begin anew.
    """

    def __init__(self, usual: int) -> None:
        """Begin before the first query.

        Args:
            usual: Files of a micro-batch of a source that is not behind.
        """
        self._usual = usual
        self._asked: set[int] = set()
        self.files: Mapping[int, int] = {}
        self.is_due = False

    def begin(self, wanted: Mapping[int, int]) -> dict[int, int]:
        """A query begins with these numbers; return those that change.

        Before the first query all are the usual one.
        """
        before, self.files = self.files, dict(wanted)
        self._asked, self.is_due = set(), False
        return {
            source: files
            for source, files in wanted.items()
            if files != before.get(source, self._usual)
        }

    def note(self, wanted: Mapping[int, int], waiting: Mapping[int, int]) -> None:
        """Take what a look says.

        Args:
            wanted: Source id to what the number should be.
            waiting: Source id to the number of files that wait.
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
