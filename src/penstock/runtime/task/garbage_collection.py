"""Settings of Python's cyclic garbage collector for millions of records and state entries.

Records, state and results have no cycles: reference counting frees them. The collector would still
traverse all of them again and again, more often the more state there is. So:

    a micro-batch            the collector starts only after millions of allocations that were not
                             freed. The objects at its end are frozen: the collector skips them
                             until a full collection
    a task of a batch run,   the collector starts after many more allocations than by default, so that
    level 0, the sinks       it never traverses records, which live shortly. Objects from before the
                             task are frozen too: a worker of PySpark collects after every task, which
                             takes 50 ms if it traverses all modules

A full collection frees the cycles of user functions. It runs when the process has grown by a quarter
since the last one, so that garbage is a small part of its memory; and after a number of micro-batches
or tasks, because a small cycle may refer to a resource such as a file.
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
# More objects than a micro-batch has in memory at once; as garbage they take some hundred megabytes.
_MICRO_BATCH_THRESHOLDS = (2_000_000, 1_000, 1_000)
_LEAST_GROWTH_BYTES = 32 * 1024 * 1024

_STATM = Path("/proc/self/statm")


class _Growth:
    """The growth of the process since the last full collection.

    Attributes:
        limit: Memory in bytes at which the next full collection is due; None before the first call,
            and while a full collection is due.
    """

    def __init__(self) -> None:
        self.limit: int | None = None

    def is_due(self) -> bool:
        """Return whether a full collection is due."""
        if self.limit is None:
            self.start()
            return False
        return resident_bytes() > self.limit

    def start(self) -> None:
        """Measure growth from the current size on."""
        _give_back_free_memory()
        now = resident_bytes()
        self.limit = now + max(now // 4, _LEAST_GROWTH_BYTES)


_growth = _Growth()
_micro_batches = 0
_tasks = 0
_is_in_micro_batch = False


def resident_bytes() -> int:
    """Return the memory of this process, or its greatest memory so far if the system lacks the first."""
    try:
        return int(_STATM.read_bytes().split()[1]) * resource.getpagesize()
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _give_back_free_memory() -> None:
    """Let the allocator return free memory to the system, if it can (glibc).

    Freed memory between live objects stays resident. If it counted, every limit would be a quarter
    above the last one, however little memory is in use.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


@contextmanager
def paused_for_micro_batch() -> Iterator[None]:
    """Let the collector start rarely inside the context; nested calls, and a disabled one, change nothing."""
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
    """Let the collector start rarely inside the context, and freeze all earlier objects.

    When a full collection is due, it first frees the cycles that earlier tasks left.
    """
    global _tasks  # noqa: PLW0603 - counts what this process did
    _tasks += 1
    is_due = _is_due(_tasks)
    if is_due:
        gc.unfreeze()
        # Current garbage is freed at the end of the task. Measuring growth now would include it and
        # raise the next limit.
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
