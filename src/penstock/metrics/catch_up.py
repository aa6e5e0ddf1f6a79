"""When a live run will have caught up, judged by how it came nearer lately.

What is left at two moments gives a speed, and the speed a time. That is what new records leave of
the speed of processing, so a run that does not come nearer has no time. What is left is measured
in records or files where sources can tell, else in event time.
"""

from __future__ import annotations

from collections import deque

_REMEMBERED = 16
_SHORTEST_SECONDS = 1.0
"""Two looks that are closer say little about a speed."""


class CatchUp:
    """Estimates the time from what was left at the last few looks."""

    def __init__(self) -> None:
        self._looks: deque[tuple[float, float]] = deque(maxlen=_REMEMBERED)

    def note(self, now_seconds: float, left: float | None) -> float | None:
        """Take a look and return the seconds until nothing is left.

        Args:
            now_seconds: On a clock that does not go back.
            left: In any unit, the same every time; None if it is not known.

        Returns:
            None if it is not known, or the run does not come nearer; 0 if nothing is left.
        """
        if left is None:
            self._looks.clear()
            return None
        if left <= 0:
            self._looks.clear()
            return 0.0
        if self._looks and left > self._looks[-1][1]:
            self._looks.clear()  # more has come: what was before says nothing about from now on
        self._looks.append((now_seconds, left))
        begun, at_first = self._looks[0]
        elapsed, done = now_seconds - begun, at_first - left
        if elapsed < _SHORTEST_SECONDS or done <= 0:
            return None
        return left * elapsed / done
