"""The contexts of triggers and assigners."""

from __future__ import annotations

from typing import Any

from penstock.runtime.functions.context import OperatorContext
from penstock.runtime.operators.windows.scoped_states import ScopedStates
from penstock.runtime.time.timers import InternalTimerService


class InternalTriggerContext:
    """Implements `TriggerContext` and `OnMergeContext` of the API, for the current window.

    Attributes:
        merged: (key, stored window) of the merged windows, while `on_merge` runs.
    """

    def __init__(
        self, timers: InternalTimerService, states: ScopedStates, context: OperatorContext
    ) -> None:
        self._states = states
        self.merged: list[Any] = []
        self.get_current_processing_time = timers.current_processing_time
        self.get_current_watermark = timers.current_watermark
        self.register_processing_time_timer = timers.register_processing_time_timer
        self.register_event_time_timer = timers.register_event_time_timer
        self.delete_processing_time_timer = timers.delete_processing_time_timer
        self.delete_event_time_timer = timers.delete_event_time_timer
        self.get_partitioned_state = states.of
        self.get_metric_group = context.get_metrics_group

    def merge_partitioned_state(self, state_descriptor: Any) -> None:
        """Merge the state of the merged windows into that of their result.

        Raises:
            StateError: It is value or map state.
        """
        self._states.merge(state_descriptor, self.merged)


class AssignerContext:
    """Implements `WindowAssignerContext` of the API."""

    def __init__(self, timers: InternalTimerService, context: OperatorContext) -> None:
        self._context = context
        self.get_current_processing_time = timers.current_processing_time

    def get_runtime_context(self) -> OperatorContext:
        """Return the runtime context."""
        return self._context
