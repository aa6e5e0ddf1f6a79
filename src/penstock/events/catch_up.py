"""An estimate of the time until a live run has no pending input.

The pending input at two moments gives a speed, and the speed a time. The speed is that of processing
minus that of new records: without progress there is no estimate. Pending input is a number of
records or of files if the sources know it, else a length of event time.
"""

from __future__ import annotations

from collections import deque

_REMEMBERED = 16
_SHORTEST_SECONDS = 1.0
"""A speed measured over a shorter time is not reliable."""


class CatchUp:
    """Estimates the time from the last measurements of the pending input."""

    def __init__(self) -> None:
        self._measurements: deque[tuple[float, float]] = deque(maxlen=_REMEMBERED)

    def note(self, now_seconds: float, left: float | None) -> float | None:
        """Add a measurement and return the seconds until no input is pending.

        Returns:
            None if the pending input is unknown or does not shrink; 0 if there is none.
        """
        if left is None:
            self._measurements.clear()
            return None
        if left <= 0:
            self._measurements.clear()
            return 0.0
        if self._measurements and left > self._measurements[-1][1]:
            self._measurements.clear()  # more input arrived: older measurements would give a wrong speed
        self._measurements.append((now_seconds, left))
        begun, at_first = self._measurements[0]
        elapsed, done = now_seconds - begun, at_first - left
        if elapsed < _SHORTEST_SECONDS or done <= 0:
            return None
        return left * elapsed / done
