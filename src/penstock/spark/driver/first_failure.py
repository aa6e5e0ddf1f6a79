"""Cleanup that does not hide the failure before it.

In a `finally`, an exception of the cleanup replaces that of the work. The cleanup of a run uses the
same JVM and the same executors as the run, so it often fails for the same reason, with a less useful
message.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_logger = logging.getLogger("penstock")


@contextmanager
def cleaned_up(clean: Callable[[], object], what: str) -> Iterator[None]:
    """Call `clean` at the end of the context.

    Raises:
        BaseException: The exception of the context, or else that of `clean`.
    """
    try:
        yield
    except BaseException:
        try:
            clean()
        except Exception as second:  # noqa: BLE001 - it is logged; the first exception has the cause
            _logger.warning("%s failed as well, after the failure: %s", what, second)
        raise
    clean()
