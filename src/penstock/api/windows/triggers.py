"""The triggers that PyFlink has: by time, at an interval, by count, of windows without an end, and purging ones."""

from __future__ import annotations

from abc import abstractmethod
from operator import add
from typing import Any, Self

from penstock.api.state.descriptors import ReducingStateDescriptor
from penstock.api.windows.assigner import milliseconds, positive
from penstock.api.windows.trigger import QuietTrigger, Trigger
from penstock.errors import ArgumentError
from penstock.program.windows import TimeWindow, TriggerResult
from penstock.types import Types
from penstock.types.time import Time


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
