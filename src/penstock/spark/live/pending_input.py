"""The pending input of a live run.

| source | its pending input |
|---|---|
| bounded splits, logs | number of records that are left |
| other unbounded splits | unknown |
| pinned files | number of files that are left |
| a directory | number of unread files of the last listing |
| a streaming DataFrame | unknown |
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from penstock.events.catch_up import CatchUp

MEASURE_SECONDS = 5.0
"""Least time between two estimates."""

_NOTABLE_LAG_SECONDS = 10.0
"""A lag of event time below this counts as no pending input."""


@dataclass(frozen=True, slots=True)
class PendingInput:
    """The pending input of a run.

    Attributes:
        records: Pending records of sources that number them; None if there is no such source.
        files: Pending files of file sources; None if there is no such source.
        seconds: Estimated time until no input is pending; None if it is unknown.
    """

    records: int | None = None
    files: int | None = None
    seconds: float | None = None


class PendingEstimates:
    """Estimates from several measurements when no input will be pending."""

    def __init__(self) -> None:
        self._estimates = CatchUp(), CatchUp(), CatchUp()

    def note(
        self, now_seconds: float, records: int | None, files: int | None, lag_ms: int | None
    ) -> PendingInput:
        """Add a measurement.

        Returns:
            The pending input, with the estimated time.
        """
        lag = None if lag_ms is None else max(lag_ms / 1000 - _NOTABLE_LAG_SECONDS, 0.0)
        lefts = records, files, lag
        pairs = zip(self._estimates, lefts, strict=True)
        times = [estimate.note(now_seconds, left) for estimate, left in pairs]
        # All known counts must reach 0; event time is used only if there are no counts.
        counted = [
            seconds for seconds, left in zip(times[:2], lefts[:2], strict=True) if left is not None
        ]
        if not counted:
            seconds = times[2]
        else:
            seconds = None if None in counted else max(s for s in counted if s is not None)
        return PendingInput(records, files, seconds)


class KnownPendingInput:
    """The pending input of a live run that knows it at every moment.

    Attributes:
        current: The pending input.
    """

    def __init__(self) -> None:
        self._estimates = PendingEstimates()
        self._next_estimate = 0.0
        self.current = PendingInput()

    def note(self, records: int | None, files: int | None, lag_ms: int | None) -> None:
        """Note the pending input after an epoch; the time is estimated every few seconds."""
        now = time.monotonic()
        if now >= self._next_estimate:
            self._next_estimate = now + MEASURE_SECONDS
            self.current = self._estimates.note(now, records, files, lag_ms)
        counts = {records, files} - {None}
        seconds = 0.0 if counts == {0} else self.current.seconds
        self.current = PendingInput(records, files, seconds)
