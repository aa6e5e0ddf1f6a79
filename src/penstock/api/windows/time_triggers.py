"""Triggers that fire once, at the end of a window."""

from __future__ import annotations

from typing import Any, Self

from penstock.api.windows.trigger import QuietTrigger
from penstock.program.windows import TimeWindow, TriggerResult


class _EndOfWindowTrigger(QuietTrigger[TimeWindow]):
    @classmethod
    def create(cls) -> Self:
        """Return the trigger.

        Example:
            >>> EventTimeTrigger.create()
            EventTimeTrigger()
        """
        return cls()

    def can_merge(self) -> bool:
        """Return True."""
        return True


class EventTimeTrigger(_EndOfWindowTrigger):
    """Fires when the watermark passes the end of a window, and for every late record after that.

    Example:
        >>> windows = orders.window_all(TumblingEventTimeWindows.of(Time.seconds(60)))
        >>> collect(windows.trigger(EventTimeTrigger.create()).reduce(max))
        [('bob', 3, 2000)]
    """

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Any
    ) -> TriggerResult:
        """Fire if the window has ended, else register a timer at its end."""
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Any) -> TriggerResult:
        """Fire at the end of the window."""
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def on_merge(self, window: TimeWindow, ctx: Any) -> None:
        """Register a timer at the end of the merged window, unless it has ended."""
        if window.max_timestamp() > ctx.get_current_watermark():
            ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Any) -> None:
        """Delete the timer."""
        ctx.delete_event_time_timer(window.max_timestamp())


class ProcessingTimeTrigger(_EndOfWindowTrigger):
    """Fires when the wall clock passes the end of a window.

    Example:
        >>> ProcessingTimeTrigger.create()
        ProcessingTimeTrigger()
    """

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Any
    ) -> TriggerResult:
        """Register a timer at the end of the window."""
        ctx.register_processing_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Any) -> TriggerResult:
        """Fire."""
        return TriggerResult.FIRE

    def on_merge(self, window: TimeWindow, ctx: Any) -> None:
        """Register a timer at the end of the merged window, unless it has ended."""
        if window.max_timestamp() > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Any) -> None:
        """Delete the timer."""
        ctx.delete_processing_time_timer(window.max_timestamp())
