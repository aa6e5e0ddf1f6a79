"""Evictors: remove records from a window that fires, before or after its function.

Not in PyFlink; the names are those of Flink's Java API. A window with an evictor keeps all its
records, even with `reduce` and `aggregate`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from penstock.api.windows.assigner import milliseconds, positive
from penstock.errors import ArgumentError, CallSite
from penstock.types.time import Time


class Evictor(ABC):
    """Removes records from a window that fires."""

    @abstractmethod
    def evict_before(self, elements: list[Any], size: int, window: Any, ctx: Any) -> None:
        """Remove records before the function sees them.

        Args:
            elements: (timestamp, record) pairs in order of arrival; remove from this list.
            size: Their number.
            window: The window.
            ctx: Has `get_current_processing_time()` and `get_current_watermark()`.
        """

    @abstractmethod
    def evict_after(self, elements: list[Any], size: int, window: Any, ctx: Any) -> None:
        """Remove records after the function has seen them; arguments as in `evict_before`."""


class _OnOneSide(Evictor):
    def __init__(self, do_evict_after: bool) -> None:  # noqa: FBT001 - Flink's signature
        self._after = do_evict_after

    def evict_before(self, elements: list[Any], size: int, window: Any, ctx: Any) -> None:
        """Evict, unless told to do it afterwards."""
        if not self._after and elements:
            self._evict(elements)

    def evict_after(self, elements: list[Any], size: int, window: Any, ctx: Any) -> None:
        """Evict, if told to."""
        if self._after and elements:
            self._evict(elements)

    @abstractmethod
    def _evict(self, elements: list[Any]) -> None:
        """Remove from a list that is not empty."""


class CountEvictor(_OnOneSide):
    """Keeps the last so many records."""

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:  # noqa: FBT001, FBT002
        """Keep `max_count` records.

        Raises:
            ArgumentError: It is not a whole number greater than 0.
        """
        super().__init__(do_evict_after)
        self.max_count = positive(max_count, "count of an evictor")

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor:  # noqa: FBT001, FBT002
        """Return an evictor that keeps the last `max_count` records."""
        return CountEvictor(max_count, do_evict_after)

    def _evict(self, elements: list[Any]) -> None:
        del elements[: max(0, len(elements) - self.max_count)]


class TimeEvictor(_OnOneSide):
    """Keeps the records not older than so long before the newest."""

    def __init__(self, window_size: int, do_evict_after: bool = False) -> None:  # noqa: FBT001, FBT002
        """Keep the last `window_size` milliseconds.

        Raises:
            ArgumentError: It is not a whole number greater than 0.
        """
        super().__init__(do_evict_after)
        self.window_size = positive(window_size, "length of an evictor")

    @staticmethod
    def of(window_size: Time, do_evict_after: bool = False) -> TimeEvictor:  # noqa: FBT001, FBT002
        """Return an evictor that keeps the last `window_size` before the newest record.

        Raises:
            ArgumentError: It is no `Time`, or not greater than 0.
        """
        return TimeEvictor(milliseconds(window_size, "length of an evictor"), do_evict_after)

    def _evict(self, elements: list[Any]) -> None:
        oldest = max(timestamp for timestamp, _ in elements) - self.window_size
        elements[:] = [stamped for stamped in elements if stamped[0] > oldest]


class DeltaEvictor(_OnOneSide):
    """Keeps the records that differ less than a threshold from the last one."""

    def __init__(
        self,
        threshold: float,
        delta_function: Callable[[Any, Any], float],
        do_evict_after: bool = False,  # noqa: FBT001, FBT002
    ) -> None:
        """Keep records whose delta to the last is less than `threshold`.

        Raises:
            ArgumentError: `delta_function` cannot be called.
        """
        super().__init__(do_evict_after)
        if not callable(delta_function):
            raise ArgumentError(
                f"the delta function of an evictor is {delta_function!r}",
                hint="Pass a function of (record, last record) that returns a number.",
                origin=CallSite.of_caller(),
            )
        self._threshold = threshold
        self._delta = delta_function

    @staticmethod
    def of(
        threshold: float,
        delta_function: Callable[[Any, Any], float],
        do_evict_after: bool = False,  # noqa: FBT001, FBT002
    ) -> DeltaEvictor:
        """Return an evictor that keeps records whose delta to the last is below `threshold`."""
        return DeltaEvictor(threshold, delta_function, do_evict_after)

    def _evict(self, elements: list[Any]) -> None:
        last = elements[-1][1]
        elements[:] = [
            stamped for stamped in elements if self._delta(stamped[1], last) < self._threshold
        ]
