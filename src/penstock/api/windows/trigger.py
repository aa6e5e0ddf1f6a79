"""`Trigger`: decides when a window is evaluated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic

from penstock.api.state.descriptors import StateDescriptor
from penstock.metrics.metric_group import MetricGroup
from penstock.program.window_parameters import W
from penstock.program.windows import TriggerResult
from penstock.types.type_parameters import T

__all__ = ["Trigger", "TriggerResult"]


class Trigger(ABC, Generic[T, W]):
    """Decides when a window is evaluated, and whether its contents are kept then.

    One object serves all keys and windows: what it has to remember belongs into
    `ctx.get_partitioned_state`.
    """

    class TriggerContext(ABC):
        """Time, timers and state of one window of one key."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the wall clock in epoch milliseconds."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """Return where the operator counts and measures."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """Return the watermark in epoch milliseconds, Long.MIN before the first."""

        @abstractmethod
        def register_processing_time_timer(self, time: int) -> None:
            """Have `on_processing_time` called when the wall clock reaches `time`."""

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None:
            """Have `on_event_time` called when the watermark reaches `time`."""

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None:
            """Forget the timer, if there is one."""

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None:
            """Forget the timer, if there is one."""

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
            """Return state of this key and window."""

    class OnMergeContext(TriggerContext):
        """The same for windows that have just been merged."""

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Bring the state of the merged windows into that of their result.

            Raises:
                StateError: It is value or map state, which cannot be merged.
            """

    @abstractmethod
    def on_element(self, element: T, timestamp: int, window: W, ctx: Any) -> TriggerResult:
        """Decide, after a record was added to a window."""

    @abstractmethod
    def on_processing_time(self, time: int, window: W, ctx: Any) -> TriggerResult:
        """Decide, when a processing-time timer of the window fires."""

    @abstractmethod
    def on_event_time(self, time: int, window: W, ctx: Any) -> TriggerResult:
        """Decide, when an event-time timer of the window fires."""

    def can_merge(self) -> bool:
        """Return whether the trigger may be used with windows that merge."""
        return False

    @abstractmethod
    def on_merge(self, window: W, ctx: Any) -> None:
        """React to the merging of several windows into `window`; called if `can_merge`."""

    @abstractmethod
    def clear(self, window: W, ctx: Any) -> None:
        """Forget timers and state of a window that has ended."""
