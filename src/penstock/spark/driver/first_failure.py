"""What is done at the end of work, without hiding why the work failed.

In a `finally`, what the cleaning raises takes the place of what the work raised. The cleaning of a
run asks the same JVM and the same executors as the run, so it is likely to fail for the same reason
and in worse words.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_logger = logging.getLogger("penstock")


@contextmanager
def cleaned_up(clean: Callable[[], object], what: str) -> Iterator[None]:
    """Call `clean` at the end of what is inside.

    Args:
        clean: Called once.
        what: It does, for the log.

    Raises:
        BaseException: What was raised inside; if nothing was, what `clean` raised.
    """
    try:
        yield
    except BaseException:
        try:
            clean()
        except Exception as second:  # noqa: BLE001 - told in the log; the first one says why
            _logger.warning("%s failed as well, after the failure: %s", what, second)
        raise
    clean()
