"""Wait of the oldest input that a live run has not read.

    head(t) = records read until t + pending records at t

What is read up to now was there at the last moment t whose head was not beyond it, so nothing that waits is older:
the run is behind by now - t at most. Files have no such head: there it is the time since none was pending.
Where the lag of the watermark is shorter than this time, the lag counts. Input that arrived before it was first
seen counts from then on: a run looks several times a second.
"""

from __future__ import annotations

from collections import deque

_MOST_MEASUREMENTS = 512


class Behind:
    """The measurements of one live run."""

    def __init__(self) -> None:
        self._heads: deque[tuple[int, int]] = deque()
        self._pending_since_ms: int | None = None
        self._is_known = False
        self._is_pending = False
        self._lag_ms: int | None = None
        self._measured_ms = 0

    def note(
        self,
        at_ms: int,
        read: int,
        records_behind: int | None,
        files_behind: int | None,
        lag_ms: int | None,
    ) -> None:
        """Add a measurement.

        Args:
            at_ms: When it was made; not before that of the last call.
            read: Records that the run has read.
            records_behind: Pending records, None if nobody counts them.
            files_behind: Pending files, None if there is no source of files.
            lag_ms: The lag of the watermark, None without one.
        """
        self._is_known = records_behind is not None or files_behind is not None
        self._is_pending = bool(records_behind) or bool(files_behind)
        self._lag_ms, self._measured_ms = lag_ms, at_ms
        if not self._is_pending:
            self._heads.clear()
            self._pending_since_ms = None
            return
        if self._pending_since_ms is None:
            self._pending_since_ms = at_ms
        if records_behind and not files_behind:
            self._note_head(at_ms, read, read + records_behind)
        else:
            self._heads.clear()

    def seconds(self, now_ms: int) -> float | None:
        """Return how long input waits, 0 if none does, None if nobody counts what is pending.

        Args:
            now_ms: Now, by the clock of the measurements.
        """
        if not self._is_known:
            return None
        if not self._is_pending or self._pending_since_ms is None:
            return 0.0
        since = self._heads[0][0] if self._heads else self._pending_since_ms
        waits = max(0, now_ms - since)
        if self._lag_ms is not None and self._lag_ms >= 0:
            waits = min(waits, self._lag_ms + max(0, now_ms - self._measured_ms))
        return waits / 1000

    def shift(self, ms: int) -> None:
        """Move the moments of all measurements, after the clock was set."""
        self._heads = deque((at + ms, head) for at, head in self._heads)
        self._measured_ms += ms
        if self._pending_since_ms is not None:
            self._pending_since_ms += ms

    def _note_head(self, at_ms: int, read: int, head: int) -> None:
        """Keep the moments whose head is beyond what is read, and the last one before."""
        if not self._heads and self._pending_since_ms is not None:
            self._heads.append((self._pending_since_ms, read))
        self._heads.append((at_ms, head))
        while len(self._heads) > 1 and self._heads[1][1] <= read:
            self._heads.popleft()
        if len(self._heads) > _MOST_MEASUREMENTS:
            # Every second moment: what is forgotten makes the answer too great, never too small.
            self._heads = deque(list(self._heads)[::2])
