"""Count windows: of a number of records of a key."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from penstock.api.state.descriptors import ValueStateDescriptor
from penstock.api.windows.assigner import WindowAssigner, positive
from penstock.api.windows.trigger import Trigger
from penstock.api.windows.triggers import CountTrigger, PurgingTrigger
from penstock.program.windows import CountWindow
from penstock.types import Types


class _Counting(WindowAssigner[Any, CountWindow]):
    """Numbers the records of a key. Windows that lack records at the end are not emitted."""

    def __init__(self, window_size: int, window_slide: int) -> None:
        self.size = positive(window_size, "size of count windows")
        self.slide = positive(window_slide, "slide of count windows")
        self._count = ValueStateDescriptor("_window_count", Types.LONG())

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[CountWindow]:
        """Return the windows of the key's next record, the latest first."""
        state = context.get_runtime_context().get_state(self._count)
        number = state.value() or 0
        state.update(number + 1)
        last = number // self.slide
        # Window i holds the records from i * slide on, `size` of them.
        first = max(0, (number - self.size) // self.slide + 1)
        return [CountWindow(window) for window in range(last, first - 1, -1)]

    def get_default_trigger(self, env: Any) -> Trigger[Any, Any]:
        """Return a trigger that fires when a window is full, and forgets it."""
        return PurgingTrigger(CountTrigger(self.size))

    def is_event_time(self) -> bool:
        """Return False."""
        return False


class CountTumblingWindowAssigner(_Counting):
    """Windows of a number of records of a key, without overlap; used by `count_window(size)`.

    Example:
        >>> windows = numbers.key_by(lambda n: "all").window(CountTumblingWindowAssigner.of(2))
        >>> collect(windows.reduce(lambda a, b: a + b))
        [3, 7]
    """

    def __init__(self, window_size: int) -> None:
        """Make windows of `window_size` records.

        Raises:
            ArgumentError: It is not a whole number greater than 0.
        """
        super().__init__(window_size, window_size)

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner:
        """Return windows of `window_size` records.

        Example:
            >>> CountTumblingWindowAssigner.of(100)
            CountTumblingWindowAssigner(100)
        """
        return CountTumblingWindowAssigner(window_size)

    def __repr__(self) -> str:
        return f"CountTumblingWindowAssigner({self.size})"


class CountSlidingWindowAssigner(_Counting):
    """Overlapping windows of a number of records of a key; used by `count_window(size, slide)`.

    Example:
        >>> windows = numbers.key_by(lambda n: "all").window(CountSlidingWindowAssigner.of(2, 1))
        >>> collect(windows.reduce(lambda a, b: a + b))
        [3, 5, 7]
    """

    def __init__(self, window_size: int, window_slide: int) -> None:
        """Start a window of `window_size` records every `window_slide` records.

        Raises:
            ArgumentError: A number is not whole or not greater than 0.
        """
        super().__init__(window_size, window_slide)

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner:
        """Return windows of `window_size` records, one every `window_slide` records.

        Example:
            >>> CountSlidingWindowAssigner.of(100, 10)
            CountSlidingWindowAssigner(100, 10)
        """
        return CountSlidingWindowAssigner(window_size, window_slide)

    def __repr__(self) -> str:
        return f"CountSlidingWindowAssigner({self.size}, {self.slide})"
