"""`Trigger`: decides when a window is evaluated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic

from penstock.api.state.descriptors import StateDescriptor
from penstock.metrics.metric_group import MetricGroup
from penstock.program.windows import TriggerResult
from penstock.types.type_parameters import T, W

__all__ = ["Trigger", "TriggerResult"]


class Trigger(ABC, Generic[T, W]):
    """Decides when a window is evaluated, and whether its contents are cleared then.

    One object serves all keys and windows of a subtask: what must be remembered per window
    belongs in `ctx.get_partitioned_state`.

    Example, a window that fires at each record with a large amount:

    >>> class Large(Trigger):
    ...     def on_element(self, element, timestamp, window, ctx):
    ...         return TriggerResult.FIRE if element[1] > 6 else TriggerResult.CONTINUE
    ...     def on_processing_time(self, time, window, ctx):
    ...         return TriggerResult.CONTINUE
    ...     def on_event_time(self, time, window, ctx):
    ...         return TriggerResult.CONTINUE
    ...     def can_merge(self):  # in session windows, too
    ...         return True
    ...     def on_merge(self, window, ctx):
    ...         pass
    ...     def clear(self, window, ctx):
    ...         pass
    >>> windows = orders.window_all(GlobalWindows.create()).trigger(Large())
    >>> collect(windows.reduce(lambda a, b: (a[0], a[1] + b[1], b[2])))
    [('ann', 15, 12000)]
    """

    class TriggerContext(ABC):
        """Time, timers and state of one window of one key."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the wall clock in epoch milliseconds."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """Return the metric group of the operator."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """Return the watermark in epoch milliseconds, Long.MIN before the first."""

        @abstractmethod
        def register_processing_time_timer(self, time: int) -> None:
            """Call `on_processing_time` when the wall clock reaches `time` (epoch milliseconds)."""

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None:
            """Call `on_event_time` when the watermark reaches `time` (epoch milliseconds)."""

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None:
            """Delete the timer at `time`, if there is one."""

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None:
            """Delete the timer at `time`, if there is one."""

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
            """Return the state of this key and window that `state_descriptor` describes."""

    class OnMergeContext(TriggerContext):
        """The context of windows that have just been merged."""

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Merge the state of the merged windows into that of their result.

            Args:
                state_descriptor: Descriptor of list, reducing or aggregating state.

            Raises:
                StateError: It is value or map state, which cannot be merged.
            """

    @abstractmethod
    def on_element(self, element: T, timestamp: int, window: W, ctx: Any) -> TriggerResult:
        """Return the decision for a window to which a record was added.

        Args:
            element: The record.
            timestamp: Its timestamp in epoch milliseconds, Long.MIN if it has none.
            window: The window.
            ctx: A `TriggerContext`.
        """

    @abstractmethod
    def on_processing_time(self, time: int, window: W, ctx: Any) -> TriggerResult:
        """Return the decision when a processing-time timer of the window fires.

        Args:
            time: Time of the timer, in epoch milliseconds.
            window: The window.
            ctx: A `TriggerContext`.
        """

    @abstractmethod
    def on_event_time(self, time: int, window: W, ctx: Any) -> TriggerResult:
        """Return the decision when an event-time timer of the window fires.

        Args:
            time: Time of the timer, in epoch milliseconds.
            window: The window.
            ctx: A `TriggerContext`.
        """

    def can_merge(self) -> bool:
        """Return whether the trigger may be used with windows that merge."""
        return False

    @abstractmethod
    def on_merge(self, window: W, ctx: Any) -> None:
        """Merge the trigger's state of several windows into `window`; called if `can_merge`.

        Args:
            window: The merged window.
            ctx: An `OnMergeContext`.
        """

    @abstractmethod
    def clear(self, window: W, ctx: Any) -> None:
        """Delete the timers and state of a window that has ended.

        Args:
            window: The window.
            ctx: A `TriggerContext`.
        """


class QuietTrigger(Trigger[Any, W]):
    """Continues on every element and timer; subclasses override methods."""

    def on_element(self, element: Any, timestamp: int, window: W, ctx: Any) -> TriggerResult:
        """Do nothing."""
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: W, ctx: Any) -> TriggerResult:
        """Do nothing."""
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: W, ctx: Any) -> TriggerResult:
        """Do nothing."""
        return TriggerResult.CONTINUE

    def on_merge(self, window: W, ctx: Any) -> None:
        """Do nothing."""

    def clear(self, window: W, ctx: Any) -> None:
        """Do nothing."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
