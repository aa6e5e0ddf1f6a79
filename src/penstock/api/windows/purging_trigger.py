"""A trigger that clears windows when they fire."""

from __future__ import annotations

from typing import Any

from penstock.api.windows.trigger import Trigger
from penstock.errors import ArgumentError
from penstock.program.windows import TriggerResult


class PurgingTrigger(Trigger[Any, Any]):
    """Fires when another trigger does, and then clears the contents of the window.

    Example:
        >>> windows = numbers.key_by(lambda n: "all").window(GlobalWindows.create())
        >>> purging = windows.trigger(PurgingTrigger.of(CountTrigger.of(2)))
        >>> collect(purging.reduce(lambda a, b: a + b))
        [3, 7]
    """

    def __init__(self, nested_trigger: Trigger[Any, Any]) -> None:
        """Wrap a trigger.

        Raises:
            ArgumentError: It is none.
        """
        if not isinstance(nested_trigger, Trigger):
            raise ArgumentError.here(
                f"PurgingTrigger got {nested_trigger!r}",
                hint="Pass a Trigger, for example CountTrigger.of(10).",
            )
        self.nested_trigger = nested_trigger

    @staticmethod
    def of(nested_trigger: Trigger[Any, Any]) -> PurgingTrigger:
        """Return a trigger that fires when `nested_trigger` does, and purges.

        Raises:
            ArgumentError: It is no trigger.

        Example:
            >>> PurgingTrigger.of(CountTrigger.of(2))
            PurgingTrigger(CountTrigger(2))
        """
        return PurgingTrigger(nested_trigger)

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        """Return the decision of the nested trigger, with purging."""
        return _purging(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        """Return the decision of the nested trigger, with purging."""
        return _purging(self.nested_trigger.on_processing_time(time, window, ctx))

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        """Return the decision of the nested trigger, with purging."""
        return _purging(self.nested_trigger.on_event_time(time, window, ctx))

    def can_merge(self) -> bool:
        """Return whether the nested trigger can merge."""
        return self.nested_trigger.can_merge()

    def on_merge(self, window: Any, ctx: Any) -> None:
        """Call `on_merge` of the nested trigger."""
        self.nested_trigger.on_merge(window, ctx)

    def clear(self, window: Any, ctx: Any) -> None:
        """Call `clear` of the nested trigger."""
        self.nested_trigger.clear(window, ctx)

    def __repr__(self) -> str:
        return f"PurgingTrigger({self.nested_trigger!r})"


def _purging(result: TriggerResult) -> TriggerResult:
    return TriggerResult.FIRE_AND_PURGE if result.is_fire() else result
