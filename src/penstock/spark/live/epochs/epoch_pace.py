"""Begin of the epochs of a live run: at once, after the interval, or when there is something to do."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

_IDLE_SECONDS = 0.1
"""Longest wait: cancellation and requests for savepoints are seen after it.

Half of it is what an event waits that comes after a pause. A question takes 0.6 ms of CPU with its change of threads,
so an idle driver takes less than a hundredth of a core.
"""

_LEAST_WAIT_SECONDS = 0.002


@dataclass(slots=True)
class EpochPace:
    """Waits between the epochs of one live run.

    Attributes:
        interval_seconds: Least time between the starts of two epochs.
        now_seconds: A monotonic clock.
        sleep: Sleeps some seconds.
    """

    interval_seconds: float
    now_seconds: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _began: float | None = None
    _idle_seconds: float = _LEAST_WAIT_SECONDS

    @property
    def is_first(self) -> bool:
        """True if no epoch has begun in this process."""
        return self._began is None

    def begin(self) -> None:
        """Note that an epoch begins."""
        self._began = self.now_seconds()
        self._idle_seconds = _LEAST_WAIT_SECONDS

    def is_early(self) -> bool:
        """Return whether the next epoch must not begin yet; then it has waited a little."""
        if self._began is None:
            return False
        left = self._began + self.interval_seconds - self.now_seconds()
        if left <= 0:
            return False
        self.sleep(min(left, _IDLE_SECONDS))
        return True

    def idle(self, records_in_seconds: float | None, timer_in_seconds: float | None) -> None:
        """Wait while there is nothing to do: longer each time, so that an idle job takes little CPU."""
        waits = [wait for wait in (records_in_seconds, timer_in_seconds) if wait is not None]
        self.sleep(max(min([*waits, self._idle_seconds]), _LEAST_WAIT_SECONDS))
        self._idle_seconds = min(2 * self._idle_seconds, _IDLE_SECONDS)
