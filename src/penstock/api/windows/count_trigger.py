"""A trigger that counts records."""

from __future__ import annotations

from operator import add
from typing import Any

from penstock.api.state.descriptors import ReducingStateDescriptor
from penstock.api.windows.assigner import positive
from penstock.api.windows.trigger import QuietTrigger
from penstock.program.windows import TriggerResult
from penstock.types import Types


class CountTrigger(QuietTrigger[Any]):
    """Fires after every `window_size` records of a window, and does not clear its contents.

    Example:
        >>> windows = numbers.key_by(lambda n: "all").window(GlobalWindows.create())
        >>> collect(windows.trigger(CountTrigger.of(2)).reduce(lambda a, b: a + b))
        [3, 10]
    """

    def __init__(self, window_size: int) -> None:
        """Fire after every `window_size` records.

        Raises:
            ArgumentError: It is not a whole number greater than 0.
        """
        self.count = positive(window_size, "count of a trigger")
        self._seen = ReducingStateDescriptor("count", add, Types.LONG())

    @staticmethod
    def of(window_size: int) -> CountTrigger:
        """Return a trigger that fires after every `window_size` records.

        Raises:
            ArgumentError: It is not a whole number greater than 0.

        Example:
            >>> CountTrigger.of(100)
            CountTrigger(100)
        """
        return CountTrigger(window_size)

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        """Count, and fire when the count is reached."""
        seen = ctx.get_partitioned_state(self._seen)
        seen.add(1)
        if seen.get() < self.count:
            return TriggerResult.CONTINUE
        seen.clear()
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        """Return True."""
        return True

    def on_merge(self, window: Any, ctx: Any) -> None:
        """Add up the counts; a sum beyond the count fires with the next record."""
        ctx.merge_partitioned_state(self._seen)

    def clear(self, window: Any, ctx: Any) -> None:
        """Clear the count."""
        ctx.get_partitioned_state(self._seen).clear()

    def __repr__(self) -> str:
        return f"CountTrigger({self.count})"
