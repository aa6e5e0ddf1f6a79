"""Python's cyclic garbage collector, out of the way of millions of records and state entries.

Records, state and results hold no cycles: counting references frees them. The collector does not
know that and looks at all of them again and again, the more often the more state there is. So:

    a micro-batch            it is off. What is there at the end is never looked at again, but
                             every `_FULL_EVERY` micro-batches, when cycles that user functions
                             may have made are found and freed
    a task of a batch run,   it starts after many more allocations, so that records, which
    level 0, the sinks       live for a moment, are never looked at. What was there before the task
                             is not looked at either: a worker of PySpark collects after every task,
                             which takes 50 ms if it looks at every module there is
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_FULL_EVERY = 64
_BATCH_THRESHOLDS = (200_000, 20, 50)

_micro_batches = 0
_tasks = 0


@contextmanager
def paused_for_micro_batch() -> Iterator[None]:
    """Keep the collector off inside; outermost call only, if it was on."""
    global _micro_batches  # noqa: PLW0603 - counts what this process did
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        _micro_batches += 1
        if _micro_batches % _FULL_EVERY == 0:
            gc.unfreeze()
            gc.collect()
        gc.freeze()
        gc.enable()


@contextmanager
def rare_for_records() -> Iterator[None]:
    """Let the collector start seldom inside, and look at nothing that was there before.

    Now and then it looks at everything, when cycles that earlier tasks left are freed.
    """
    global _tasks  # noqa: PLW0603 - counts what this process did
    _tasks += 1
    if _tasks % _FULL_EVERY == 0:
        gc.unfreeze()
    else:
        gc.freeze()
    before = gc.get_threshold()
    gc.set_threshold(*_BATCH_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
