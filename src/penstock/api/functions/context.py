"""What functions see of the runtime. Implemented in `penstock.runtime`."""

from __future__ import annotations

from typing import Any, Protocol

from penstock.api.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.api.state.handles import (
    AggregatingState,
    BroadcastState,
    ListState,
    MapState,
    ReadOnlyBroadcastState,
    ReducingState,
    ValueState,
)
from penstock.metrics.metric_group import MetricGroup
from penstock.types.time_domain import TimeDomain
from penstock.types.type_parameters import IN, OUT, K, T, V


class KeyedStateStore(Protocol):
    """Gives keyed state; call it in `open`.

    Every method raises `UnkeyedStateError` if the stream has no key, `ArgumentError` if it gets
    no descriptor of its kind or if the operator uses the name for another kind or type, and
    `StateMigrationError` if what is stored cannot be read with the declared type.
    """

    def get_state(self, state_descriptor: ValueStateDescriptor[T]) -> ValueState[T]:
        """Return keyed value state."""

    def get_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        """Return keyed list state."""

    def get_map_state(self, state_descriptor: MapStateDescriptor[K, V]) -> MapState[K, V]:
        """Return keyed map state."""

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor[T]) -> ReducingState[T]:
        """Return keyed reducing state."""

    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor[IN, Any, OUT]
    ) -> AggregatingState[IN, OUT]:
        """Return keyed aggregating state."""


class RuntimeContext(KeyedStateStore, Protocol):
    """Handed to `open`."""

    def get_task_name(self) -> str:
        """Return the name of the operator."""

    def get_number_of_parallel_subtasks(self) -> int:
        """Return the parallelism of the operator."""

    def get_max_number_of_parallel_subtasks(self) -> int:
        """Return the number of key groups."""

    def get_index_of_this_subtask(self) -> int:
        """Return the index of this subtask, from 0."""

    def get_task_name_with_subtasks(self) -> str:
        """Return e.g. `totals (3/6)`."""

    def get_attempt_number(self) -> int:
        """Return how often the run was restarted after a failure before, from 0."""

    def get_metrics_group(self) -> MetricGroup:
        """Return the group in which the function makes counters, gauges and other metrics."""

    def get_job_parameter(self, key: str, default_value: str | None) -> str | None:
        """Return a global job parameter (`pipeline.global-job-parameters.KEY`)."""


class TimerService(Protocol):
    """Time and timers of a process function."""

    def current_processing_time(self) -> int:
        """Return the wall clock in epoch milliseconds."""

    def current_watermark(self) -> int:
        """Return the watermark in epoch milliseconds.

        Long.MIN (-2**63) before the first one and while history is read as a batch;
        Long.MAX (2**63 - 1) after the end of a bounded input.
        """

    def register_event_time_timer(self, timestamp: int) -> None:
        """Fire for the current key once the watermark reaches `timestamp` (milliseconds).

        One timer per key and timestamp, however often it is registered.

        Raises:
            UnkeyedStateError: The stream has no key.
        """

    def register_processing_time_timer(self, timestamp: int) -> None:
        """Fire for the current key once the wall clock reaches `timestamp` (milliseconds).

        In BATCH mode it fires after the last record of the key, whatever the clock says; at the
        end of a live input timers that are not due are dropped.

        Raises:
            UnkeyedStateError: The stream has no key.
        """

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Forget the timer of the current key at `timestamp`, if there is one.

        Raises:
            UnkeyedStateError: The stream has no key.
        """

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Forget the timer of the current key at `timestamp`, if there is one.

        Raises:
            UnkeyedStateError: The stream has no key.
        """


class UnkeyedProcessContext(Protocol):
    """Context of `ProcessFunction.process_element`."""

    def timer_service(self) -> TimerService:
        """Return the timer service; without a key it only tells the time."""

    def timestamp(self) -> int:
        """Return the record's timestamp in epoch milliseconds, Long.MIN if it has none."""


class KeyedProcessContext(UnkeyedProcessContext, Protocol):
    """Context of `KeyedProcessFunction.process_element`."""

    def get_current_key(self) -> Any:
        """Return the key of the record or timer."""


class OnTimerContext(KeyedProcessContext, Protocol):
    """Context of `KeyedProcessFunction.on_timer`."""

    def time_domain(self) -> TimeDomain:
        """Return which clock the timer followed."""


class BroadcastBaseContext(Protocol):
    """Time, as the functions of broadcast connected streams see it."""

    def timestamp(self) -> int:
        """Return the timestamp of the record in epoch milliseconds, Long.MIN if it has none."""

    def current_processing_time(self) -> int:
        """Return the wall clock in epoch milliseconds."""

    def current_watermark(self) -> int:
        """Return the watermark in epoch milliseconds."""


class BroadcastContext(BroadcastBaseContext, Protocol):
    """Context of `process_broadcast_element`."""

    def get_broadcast_state(
        self, state_descriptor: MapStateDescriptor[K, V]
    ) -> BroadcastState[K, V]:
        """Return broadcast state.

        Raises:
            ArgumentError: The stream was not broadcast with such a state.
        """


class ReadOnlyBroadcastContext(BroadcastBaseContext, Protocol):
    """Context of `process_element` beside a broadcast stream."""

    def get_broadcast_state(
        self, state_descriptor: MapStateDescriptor[K, V]
    ) -> ReadOnlyBroadcastState[K, V]:
        """Return a view of broadcast state.

        Raises:
            ArgumentError: The stream was not broadcast with such a state.
        """


class KeyedReadOnlyBroadcastContext(ReadOnlyBroadcastContext, Protocol):
    """The same with a key."""

    def timer_service(self) -> TimerService:
        """Return the timer service."""

    def get_current_key(self) -> Any:
        """Return the key of the record or timer."""


class KeyedBroadcastOnTimerContext(KeyedReadOnlyBroadcastContext, Protocol):
    """Context of `KeyedBroadcastProcessFunction.on_timer`."""

    def time_domain(self) -> TimeDomain:
        """Return which clock the timer followed."""


class OperatorStateStore(Protocol):
    """Gives the state of an operator that is not kept by key."""

    def get_broadcast_state(
        self, state_descriptor: MapStateDescriptor[K, V]
    ) -> BroadcastState[K, V]:
        """Return broadcast state.

        Raises:
            ArgumentError: The stream was not broadcast with such a state.
        """
