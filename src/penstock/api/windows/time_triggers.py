"""Triggers that fire once, at the end of a window."""

from __future__ import annotations

from typing import Any

from penstock.api.windows.trigger import Trigger
from penstock.program.windows import TimeWindow, TriggerResult


class EventTimeTrigger(Trigger[Any, TimeWindow]):
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

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Any) -> TriggerResult:
        """Do nothing."""
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Any) -> TriggerResult:
        """Fire at the end of the window."""
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        """Return True."""
        return True

    def on_merge(self, window: TimeWindow, ctx: Any) -> None:
        """Register a timer at the end of the merged window, unless it has ended."""
        if window.max_timestamp() > ctx.get_current_watermark():
            ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Any) -> None:
        """Delete the timer."""
        ctx.delete_event_time_timer(window.max_timestamp())

    @staticmethod
    def create() -> EventTimeTrigger:
        """Return the trigger.

        Example:
            >>> EventTimeTrigger.create()
            EventTimeTrigger()
        """
        return EventTimeTrigger()

    def __repr__(self) -> str:
        return "EventTimeTrigger()"


class ProcessingTimeTrigger(Trigger[Any, TimeWindow]):
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

    def on_event_time(self, time: int, window: TimeWindow, ctx: Any) -> TriggerResult:
        """Do nothing."""
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        """Return True."""
        return True

    def on_merge(self, window: TimeWindow, ctx: Any) -> None:
        """Register a timer at the end of the merged window, unless it has ended."""
        if window.max_timestamp() > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Any) -> None:
        """Delete the timer."""
        ctx.delete_processing_time_timer(window.max_timestamp())

    @staticmethod
    def create() -> ProcessingTimeTrigger:
        """Return the trigger.

        Example:
            >>> ProcessingTimeTrigger.create().can_merge()
            True
        """
        return ProcessingTimeTrigger()

    def __repr__(self) -> str:
        return "ProcessingTimeTrigger()"
