"""Evictors: remove records from a window that fires, before or after its function is called.

Not in PyFlink; the names are those of Flink's Java API. The state of a window with an evictor
holds all its records, even with `reduce` and `aggregate`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from penstock.api.windows.assigner import milliseconds, positive
from penstock.errors import ArgumentError
from penstock.types.time import Time


class Evictor(ABC):
    """Removes records from a window that fires.

    Example, an evictor that removes small orders:

    >>> class Small(Evictor):
    ...     def evict_before(self, elements, size, window, ctx):
    ...         elements[:] = [stamped for stamped in elements if stamped[1][1] > 4]
    ...     def evict_after(self, elements, size, window, ctx):
    ...         pass
    >>> windows = orders.window_all(TumblingEventTimeWindows.of(Time.seconds(60)))
    >>> collect(windows.evictor(Small()).reduce(max))
    [('ann', 7, 12000)]
    """

    @abstractmethod
    def evict_before(self, elements: list[Any], size: int, window: Any, ctx: Any) -> None:
        """Remove records before the function is called.

        Args:
            elements: (timestamp, record) pairs in order of arrival; remove from this list.
            size: Their number.
            window: The window.
            ctx: Has `get_current_processing_time()` and `get_current_watermark()`.
        """

    @abstractmethod
    def evict_after(self, elements: list[Any], size: int, window: Any, ctx: Any) -> None:
        """Remove records after the function was called.

        Args:
            elements: (timestamp, record) pairs in order of arrival; remove from this list.
            size: Their number.
            window: The window.
            ctx: As in `evict_before`.
        """


class _OnOneSide(Evictor):
    def __init__(self, do_evict_after: bool) -> None:  # noqa: FBT001 - Flink's signature
        self._after = do_evict_after

    def evict_before(self, elements: list[Any], size: int, window: Any, ctx: Any) -> None:
        """Evict, unless it is done after the function."""
        if not self._after and elements:
            self._evict(elements)

    def evict_after(self, elements: list[Any], size: int, window: Any, ctx: Any) -> None:
        """Evict, if it is done after the function."""
        if self._after and elements:
            self._evict(elements)

    @abstractmethod
    def _evict(self, elements: list[Any]) -> None:
        """Remove from a list that is not empty."""


class CountEvictor(_OnOneSide):
    """Removes all but the last `max_count` records.

    Example:
        >>> windows = orders.window_all(TumblingEventTimeWindows.of(Time.seconds(60)))
        >>> collect(windows.evictor(CountEvictor.of(1)).reduce(max))
        [('ann', 7, 12000)]
    """

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:  # noqa: FBT001, FBT002
        """Keep `max_count` records.

        Raises:
            ArgumentError: It is not a whole number greater than 0.
        """
        super().__init__(do_evict_after)
        self.max_count = positive(max_count, "count of an evictor")

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor:  # noqa: FBT001, FBT002
        """Return an evictor that removes all but the last `max_count` records.

        Args:
            max_count: A number from 1.
            do_evict_after: Evict after the function is called, not before.

        Raises:
            ArgumentError: `max_count` is not a whole number greater than 0.

        Example:
            >>> CountEvictor.of(100).max_count
            100
        """
        return CountEvictor(max_count, do_evict_after)

    def _evict(self, elements: list[Any]) -> None:
        del elements[: max(0, len(elements) - self.max_count)]


class TimeEvictor(_OnOneSide):
    """Removes the records that are older than a time before the newest.

    Example:
        >>> windows = orders.window_all(TumblingEventTimeWindows.of(Time.seconds(60)))
        >>> collect(windows.evictor(TimeEvictor.of(Time.seconds(5))).reduce(max))
        [('ann', 7, 12000)]
    """

    def __init__(self, window_size: int, do_evict_after: bool = False) -> None:  # noqa: FBT001, FBT002
        """Keep the last `window_size` milliseconds.

        Raises:
            ArgumentError: It is not a whole number greater than 0.
        """
        super().__init__(do_evict_after)
        self.window_size = positive(window_size, "length of an evictor")

    @staticmethod
    def of(window_size: Time, do_evict_after: bool = False) -> TimeEvictor:  # noqa: FBT001, FBT002
        """Return an evictor that keeps the records within `window_size` of the newest.

        Args:
            window_size: A record of exactly that age is removed.
            do_evict_after: Evict after the function is called, not before.

        Raises:
            ArgumentError: It is no `Time`, or not greater than 0.

        Example:
            >>> TimeEvictor.of(Time.seconds(5)).window_size
            5000
        """
        return TimeEvictor(milliseconds(window_size, "length of an evictor"), do_evict_after)

    def _evict(self, elements: list[Any]) -> None:
        oldest = max(timestamp for timestamp, _ in elements) - self.window_size
        elements[:] = [stamped for stamped in elements if stamped[0] > oldest]


class DeltaEvictor(_OnOneSide):
    """Removes the records that differ from the last one by a threshold or more.

    Example:
        >>> difference = lambda record, last: abs(record[1] - last[1])
        >>> windows = orders.window_all(TumblingEventTimeWindows.of(Time.seconds(60)))
        >>> collect(windows.evictor(DeltaEvictor.of(3, difference)).reduce(min))
        [('ann', 5, 1000)]
    """

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
            raise ArgumentError.here(
                f"the delta function of an evictor is {delta_function!r}",
                hint="Pass a function of (record, last record) that returns a number.",
            )
        self._threshold = threshold
        self._delta = delta_function

    @staticmethod
    def of(
        threshold: float,
        delta_function: Callable[[Any, Any], float],
        do_evict_after: bool = False,  # noqa: FBT001, FBT002
    ) -> DeltaEvictor:
        """Return an evictor that keeps records whose delta to the last one is below `threshold`.

        Args:
            threshold: Threshold of the delta.
            delta_function: A callable of (record, last record) that returns a number.
            do_evict_after: Evict after the function is called, not before.

        Raises:
            ArgumentError: `delta_function` cannot be called.

        Example:
            >>> near = DeltaEvictor.of(0.5, lambda record, last: abs(record - last))
        """
        return DeltaEvictor(threshold, delta_function, do_evict_after)

    def _evict(self, elements: list[Any]) -> None:
        last = elements[-1][1]
        elements[:] = [
            stamped for stamped in elements if self._delta(stamped[1], last) < self._threshold
        ]
