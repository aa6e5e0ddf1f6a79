"""Triggers of windows without an end."""

from __future__ import annotations

from typing import Any

from penstock.api.windows.trigger import QuietTrigger
from penstock.program.windows import TriggerResult


class NeverTrigger(QuietTrigger[Any]):
    """Never fires.

    Example:
        >>> collect(numbers.window_all(GlobalWindows(NeverTrigger())).reduce(max))
        []
    """


class EndOfStreamTrigger(QuietTrigger[Any]):
    """Fires at the end of the input.

    Example:
        >>> collect(numbers.window_all(GlobalWindows(EndOfStreamTrigger())).reduce(max))
        [4]
    """

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        """Register a timer at the end of the input."""
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        """Fire at the end of the input."""
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def clear(self, window: Any, ctx: Any) -> None:
        """Delete the timer."""
        ctx.delete_event_time_timer(window.max_timestamp())
