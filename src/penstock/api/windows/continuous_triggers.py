"""Triggers that fire at an interval while a window is open."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

from penstock.api.state.descriptors import ReducingStateDescriptor
from penstock.api.windows.assigner import milliseconds, positive
from penstock.api.windows.trigger import QuietTrigger
from penstock.program.windows import TimeWindow, TriggerResult
from penstock.types import Types
from penstock.types.time import Time


class _ContinuousTrigger(QuietTrigger[TimeWindow]):
    """Stores when a window fires next: the earliest time that was registered."""

    def __init__(self, interval: int) -> None:
        """Fire at multiples of `interval` milliseconds.

        Raises:
            ArgumentError: It is not greater than 0.
        """
        self.interval = positive(interval, "interval of a trigger")
        self._next_fire = ReducingStateDescriptor("fire-time", min, Types.LONG())

    @classmethod
    def of(cls, interval: Time) -> Self:
        """Return a trigger that fires every `interval`.

        Raises:
            ArgumentError: It is no `Time`, or not greater than 0.

        Example:
            >>> ContinuousEventTimeTrigger.of(Time.minutes(1)).interval
            60000
        """
        return cls(milliseconds(interval, "interval of a trigger"))

    @abstractmethod
    def _register(self, time: int, ctx: Any) -> None:
        """Register a timer of the trigger's time."""

    @abstractmethod
    def _delete(self, time: int, ctx: Any) -> None:
        """Delete a timer of the trigger's time."""

    def can_merge(self) -> bool:
        """Return True."""
        return True

    def on_merge(self, window: TimeWindow, ctx: Any) -> None:
        """Fire the merged window when the first of the merged ones would have fired."""
        ctx.merge_partitioned_state(self._next_fire)
        time = ctx.get_partitioned_state(self._next_fire).get()
        if time is not None:
            self._register(time, ctx)

    def clear(self, window: TimeWindow, ctx: Any) -> None:
        """Delete the timer and the state."""
        state = ctx.get_partitioned_state(self._next_fire)
        time = state.get()
        if time is not None:
            self._delete(time, ctx)
            state.clear()

    def register_next_fire_timestamp(
        self, time: int, window: TimeWindow, ctx: Any, fire_timestamp_state: Any
    ) -> None:
        """Register a timer one interval after `time`, at the end of the window at the latest.

        Args:
            time: Epoch milliseconds.
            window: The window.
            ctx: A `TriggerContext`.
            fire_timestamp_state: The state that holds the time of the next firing.
        """
        next_fire = min(time + self.interval, window.max_timestamp())
        fire_timestamp_state.add(next_fire)
        self._register(next_fire, ctx)

    def _start(self, time: int, window: TimeWindow, ctx: Any) -> None:
        """Register a timer at the next multiple after `time`, unless there is one."""
        state = ctx.get_partitioned_state(self._next_fire)
        if state.get() is None:
            self.register_next_fire_timestamp(time - time % self.interval, window, ctx, state)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.interval})"


class ContinuousEventTimeTrigger(_ContinuousTrigger):
    """Fires when the watermark passes multiples of an interval, and at the end of the window.

    Example:
        >>> ContinuousEventTimeTrigger.of(Time.seconds(5))
        ContinuousEventTimeTrigger(5000)
    """

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Any
    ) -> TriggerResult:
        """Fire if the window has ended, else register a timer at the next multiple."""
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        self._register(window.max_timestamp(), ctx)
        self._start(timestamp, window, ctx)
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Any) -> TriggerResult:
        """Fire at the end of the window and at multiples of the interval."""
        if time == window.max_timestamp():
            return TriggerResult.FIRE
        state = ctx.get_partitioned_state(self._next_fire)
        if state.get() != time:
            return TriggerResult.CONTINUE
        state.clear()
        self.register_next_fire_timestamp(time, window, ctx, state)
        return TriggerResult.FIRE

    def on_merge(self, window: TimeWindow, ctx: Any) -> None:
        """Fire the merged window when the first of the merged ones would have, and at its end."""
        super().on_merge(window, ctx)
        if window.max_timestamp() > ctx.get_current_watermark():
            self._register(window.max_timestamp(), ctx)

    def clear(self, window: TimeWindow, ctx: Any) -> None:
        """Delete timers and state."""
        super().clear(window, ctx)
        self._delete(window.max_timestamp(), ctx)

    def _register(self, time: int, ctx: Any) -> None:
        ctx.register_event_time_timer(time)

    def _delete(self, time: int, ctx: Any) -> None:
        ctx.delete_event_time_timer(time)


class ContinuousProcessingTimeTrigger(_ContinuousTrigger):
    """Fires when the wall clock passes multiples of an interval while the window is open.

    Example:
        >>> ContinuousProcessingTimeTrigger.of(Time.seconds(5))
        ContinuousProcessingTimeTrigger(5000)
    """

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Any
    ) -> TriggerResult:
        """Register a timer at the next multiple."""
        self._start(ctx.get_current_processing_time(), window, ctx)
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Any) -> TriggerResult:
        """Fire at multiples of the interval."""
        state = ctx.get_partitioned_state(self._next_fire)
        if state.get() != time:
            return TriggerResult.CONTINUE
        state.clear()
        if time < window.max_timestamp():
            self.register_next_fire_timestamp(time, window, ctx, state)
        return TriggerResult.FIRE

    def _register(self, time: int, ctx: Any) -> None:
        ctx.register_processing_time_timer(time)

    def _delete(self, time: int, ctx: Any) -> None:
        ctx.delete_processing_time_timer(time)
