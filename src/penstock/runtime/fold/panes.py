"""Cuts time into panes: stretches that belong to the same windows from one end to the other (`program.windows`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.program.windows import RegularWindows
from penstock.wire.elements import MIN_TIMESTAMP

_SAFE = 1 << 62
"""Timestamps nearer to 0 than this, and their panes, are numbers of 64 bits whatever the offset."""


def pane_starts_of(times: NDArray[np.int64], shape: RegularWindows) -> NDArray[np.int64]:
    """Return the begin of the pane of each timestamp; one that is before Long.MIN + 1 is that.

    Examples:
        >>> pane_starts_of(np.array([0, 9, 10, -1]), RegularWindows(size=20, slide=10, offset=0)).tolist()
        [0, 0, 10, -10]
    """
    if not len(times):
        return times
    first = MIN_TIMESTAMP + 1
    starts = [max(start, first) for start in pane_starts(np.unique(times).tolist(), shape)]
    return np.array(starts, dtype=np.int64)[np.searchsorted(np.unique(times), times)]


def pane_starts(stamps: list[int], shape: RegularWindows) -> list[int]:
    """Return the begin of the pane of each timestamp.

    Examples:
        >>> pane_starts([0, 9, 10, -1], RegularWindows(size=20, slide=10, offset=0))
        [0, 0, 10, -10]
    """
    low, high = min(stamps), max(stamps)
    first = shape.pane_of(low)
    if high < first + shape.width:  # as a batch of a source that goes forward in time usually is
        return [first] * len(stamps)
    if low > -_SAFE and high < _SAFE and abs(shape.offset) < _SAFE:
        starts: list[int] = shape.pane_of(np.array(stamps, dtype=np.int64)).tolist()
        return starts
    return list(map(shape.pane_of, stamps))
