"""Triggers of windows without a natural end."""

from __future__ import annotations

from typing import Any

from penstock.api.windows.trigger import Trigger
from penstock.program.windows import TriggerResult


class NeverTrigger(Trigger[Any, Any]):
    """Never fires."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        """Do nothing."""
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        """Do nothing."""
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        """Do nothing."""
        return TriggerResult.CONTINUE

    def on_merge(self, window: Any, ctx: Any) -> None:
        """Do nothing."""

    def clear(self, window: Any, ctx: Any) -> None:
        """Do nothing."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class EndOfStreamTrigger(NeverTrigger):
    """Fires when the input has ended."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        """Wait for the end."""
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        """Fire at the end."""
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def clear(self, window: Any, ctx: Any) -> None:
        """Forget the timer."""
        ctx.delete_event_time_timer(window.max_timestamp())
