"""Python's cyclic garbage collector, out of the way of millions of records and state entries.

Records, state and results hold no cycles: counting references frees them. The collector does not
know that and looks at all of them again and again, the more often the more state there is. So:

    a micro-batch            it starts after millions of allocations that were not freed again. What
                             is there at the end is not looked at again, but for now and then
    a task of a batch run,   it starts after many more allocations than it does otherwise, so that
    level 0, the sinks       records, which live for a moment, are never looked at. What was there
                             before the task is not looked at either: a worker of PySpark collects
                             after every task, which takes 50 ms if it looks at every module there is

Now and then, when cycles that user functions may have made are found and freed, is when the process
has grown by a quarter since the last time, so that garbage is a part of its memory and no more; and
after a number of micro-batches or tasks, because a small cycle may hold something dear, as a file.
"""

from __future__ import annotations

import ctypes
import gc
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_FULL_EVERY = 64
_BATCH_THRESHOLDS = (200_000, 20, 50)
# Above the records of a micro-batch that are in memory at once; as garbage, some hundred megabytes.
_MICRO_BATCH_THRESHOLDS = (2_000_000, 1_000, 1_000)
_LEAST_GROWTH_BYTES = 32 * 1024 * 1024

_STATM = Path("/proc/self/statm")


class _Growth:
    """How far the process has grown since the collector looked at everything.

    Attributes:
        limit: Bytes from which on it is to look again; None before the first question, and while
            the collector is about to look.
    """

    def __init__(self) -> None:
        self.limit: int | None = None

    def is_due(self) -> bool:
        """Return whether the process has grown too far."""
        if self.limit is None:
            self.start()
            return False
        return resident_bytes() > self.limit

    def start(self) -> None:
        """Count from here on."""
        _give_back_free_memory()
        now = resident_bytes()
        self.limit = now + max(now // 4, _LEAST_GROWTH_BYTES)


_growth = _Growth()
_micro_batches = 0
_tasks = 0
_is_in_micro_batch = False


def resident_bytes() -> int:
    """Return the memory of this process; where the system does not say, the most it ever had."""
    try:
        return int(_STATM.read_bytes().split()[1]) * resource.getpagesize()
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _give_back_free_memory() -> None:
    """Let the allocator return what it holds free, where it can (glibc).

    What was freed between objects that live stays resident. Measured with it, every limit would be
    a quarter above the last one, however little there is.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


@contextmanager
def paused_for_micro_batch() -> Iterator[None]:
    """Let the collector start for garbage only inside; outermost call only, if it was on."""
    global _micro_batches, _is_in_micro_batch  # noqa: PLW0603 - what this process did and does
    if _is_in_micro_batch or not gc.isenabled():
        yield
        return
    before = gc.get_threshold()
    gc.set_threshold(*_MICRO_BATCH_THRESHOLDS)
    _is_in_micro_batch = True
    try:
        yield
    finally:
        _is_in_micro_batch = False
        _micro_batches += 1
        if _is_due(_micro_batches):
            gc.unfreeze()
            gc.collect()
            _growth.start()
        gc.freeze()
        gc.set_threshold(*before)


@contextmanager
def rare_for_records() -> Iterator[None]:
    """Let the collector start seldom inside, and look at nothing that was there before.

    Now and then it looks at everything, when cycles that earlier tasks left are freed.
    """
    global _tasks  # noqa: PLW0603 - counts what this process did
    _tasks += 1
    is_due = _is_due(_tasks)
    if is_due:
        gc.unfreeze()
        # What is garbage now is freed at the end of the task: counted from here, it would be part
        # of what may be there, and the next limit higher by as much.
        _growth.limit = None
    else:
        gc.freeze()
    before = gc.get_threshold()
    gc.set_threshold(*_BATCH_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _is_due(number: int) -> bool:
    return number % _FULL_EVERY == 0 or _growth.is_due()
