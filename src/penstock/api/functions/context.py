"""Contexts of functions, and sorters of records that may exceed memory."""

from __future__ import annotations

from collections.abc import Iterator
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
from penstock.types.time import TimeDomain
from penstock.types.type_parameters import IN, OUT, K, T, V


# FLIP-327, rule 13.
class ExternalSorter(Protocol):
    """Sorts records by key, and those of a key by time; what does not fit in memory is on disk.

    An operator of your own gets one in `open`, from `RuntimeContext.create_external_sorter`, to group
    backlog itself (FLIP-327, `internal_sorter_supported`). First it adds records, then it reads them any
    number of times, then it clears the sorter and may add again.

    Equal keys, by the rules for keys of streams, are adjacent. Whole numbers are in their order, other keys
    in an order that is the same in every run. Records of a key without a timestamp come first. The sort
    is stable: records of equal key and time stay in the order in which they were added.

    A checkpoint does not contain the records. In a live run they must be read before it: emit them, or write
    them to keyed state, in `prepare_snapshot_pre_barrier` at the latest. In a batch run they must be read in
    `end_input`, and when record attributes report the end of backlog. Unread records are an error
    (`USER_FUNCTION`). A sorter is closed with its operator, and its files are removed.

    Example:
        >>> class Sorted(OneInputStreamOperator):
        ...     def open(self, runtime_context):
        ...         self.sorter = runtime_context.create_external_sorter()
        ...     def process_element(self, value, ctx):
        ...         self.sorter.add(value[0], value, ctx.timestamp())
        ...     def prepare_snapshot_pre_barrier(self):
        ...         self.give()
        ...     def end_input(self):
        ...         self.give()
        ...     def give(self):
        ...         for customer, timestamp, order in self.sorter:
        ...             self.output.collect((customer, order[1]), timestamp)
        ...         self.sorter.clear()
        >>> collect(orders.transform("sorted", None, Sorted()))
        [('ann', 5), ('ann', 7), ('bob', 3)]
    """

    def add(self, key: Any, value: Any, timestamp: int | None = None) -> None:
        """Add a record.

        Args:
            key: Its key.
            value: The record. It is pickled if it does not fit in memory, so a value that is read
                may be a copy.
            timestamp: Epoch milliseconds; None is a record without time.

        Raises:
            KeyTypeError: The key cannot be a key of a stream.
            SpillError: A file cannot be written, or the sorter has been read or closed.
        """

    def __iter__(self) -> Iterator[tuple[Any, int | None, Any]]:
        """Yield (key, timestamp, value) in order, and read records from disk lazily.

        Raises:
            SpillError: A file cannot be read, or the sorter is closed.
        """

    def __len__(self) -> int:
        """Return the number of records."""

    def clear(self) -> None:
        """Remove all records; others may be added."""

    def close(self) -> None:
        """Remove all records and files for good. The runtime does so when the operator is closed."""


class KeyedStateStore(Protocol):
    """Returns keyed state for a descriptor; call it in `open`.

    Every method raises `UnkeyedStateError` if the stream has no key, `ArgumentError` if it gets
    no descriptor of its kind or if the operator uses the name for another kind or type, and
    `StateMigrationError` if the stored state cannot be read with the declared type.

    Example:
        >>> class Count(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.n = runtime_context.get_state(ValueStateDescriptor("n", Types.INT()))
        ...     def process_element(self, value, ctx):
        ...         self.n.update((self.n.value() or 0) + 1)
        ...         yield self.n.value()
        >>> collect(numbers.key_by(lambda n: "all").process(Count()))
        [1, 2, 3, 4]

        Every kind of state has its method:

        >>> class Kinds(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         sum_of = ReducingStateDescriptor("sum", lambda a, b: a + b)
        ...         self.all = runtime_context.get_list_state(ListStateDescriptor("all"))
        ...         self.times = runtime_context.get_map_state(MapStateDescriptor("times"))
        ...         self.sum = runtime_context.get_reducing_state(sum_of)
        ...     def process_element(self, value, ctx):
        ...         self.all.add(value)
        ...         self.times.put(value, (self.times.get(value) or 0) + 1)
        ...         self.sum.add(value)
        ...         yield self.all.get(), dict(self.times.items()), self.sum.get()
        >>> collect(env.from_collection([5, 5]).key_by(lambda n: "all").process(Kinds()))[-1]
        ([5, 5], {5: 2}, 10)
    """

    def get_state(self, state_descriptor: ValueStateDescriptor[T]) -> ValueState[T]:
        """Return the keyed value state that `state_descriptor` describes."""

    def get_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        """Return the keyed list state that `state_descriptor` describes."""

    def get_map_state(self, state_descriptor: MapStateDescriptor[K, V]) -> MapState[K, V]:
        """Return the keyed map state that `state_descriptor` describes."""

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor[T]) -> ReducingState[T]:
        """Return the keyed reducing state that `state_descriptor` describes."""

    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor[IN, Any, OUT]
    ) -> AggregatingState[IN, OUT]:
        """Return the keyed aggregating state that `state_descriptor` describes."""


class RuntimeContext(KeyedStateStore, Protocol):
    """The context that `open` of a function gets: state, metrics and the subtask.

    Example:
        >>> class Subtask(MapFunction):
        ...     def open(self, runtime_context):
        ...         self.index = runtime_context.get_index_of_this_subtask()
        ...     def map(self, value):
        ...         return value, self.index
        >>> collect(numbers.map(Subtask()))
        [(1, 0), (2, 0), (3, 0), (4, 0)]
        >>> class Place(MapFunction):
        ...     def open(self, runtime_context):
        ...         self.seen = runtime_context.get_metrics_group().counter("seen")
        ...         self.place = (
        ...             runtime_context.get_task_name(),
        ...             runtime_context.get_task_name_with_subtasks(),
        ...             runtime_context.get_number_of_parallel_subtasks(),
        ...             runtime_context.get_max_number_of_parallel_subtasks(),
        ...             runtime_context.get_attempt_number(),
        ...             runtime_context.get_job_parameter("since", "2026"),
        ...         )
        ...     def map(self, value):
        ...         self.seen.inc()
        ...         return self.place
        >>> collect(numbers.map(Place()).name("places"))[0]
        ('places', 'places (1/1)', 1, 128, 0, '2026')
    """

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
        """Return the number of restarts of the run after a failure, from 0."""

    def get_metrics_group(self) -> MetricGroup:
        """Return the metric group of the function, for counters, gauges and other metrics."""

    def get_job_parameter(self, key: str, default_value: str | None) -> str | None:
        """Return a global job parameter, the option `pipeline.global-job-parameters.KEY`.

        Args:
            key: Its name.
            default_value: Returned if the parameter is not set.
        """

    def create_external_sorter(self, share: float = 1.0) -> ExternalSorter:
        """Return an empty sorter that spills to disk, for operators of your own.

        Args:
            share: Share of `execution.sorted-inputs.memory` that its records may take. Several
                sorters of an operator divide it.

        Raises:
            ArgumentError: `share` is not between 0 and 1, or the caller is a function.
        """


class TimerService(Protocol):
    """Current time and timers of a process function.

    Example:
        >>> class Quiet(KeyedProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         ctx.timer_service().register_event_time_timer(ctx.timestamp() + 5_000)
        ...     def on_timer(self, timestamp, ctx):
        ...         yield ctx.get_current_key(), timestamp
        >>> sorted(collect(orders.key_by(lambda order: order[0]).process(Quiet())))
        [('ann', 6000), ('ann', 17000), ('bob', 7000)]

        A timer can be taken back, and one of the clock fires when the clock has reached it:

        >>> class LastOnly(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.due = runtime_context.get_state(ValueStateDescriptor("due"))
        ...     def process_element(self, value, ctx):
        ...         timers = ctx.timer_service()
        ...         if self.due.value() is not None:
        ...             timers.delete_event_time_timer(self.due.value())
        ...         self.due.update(ctx.timestamp() + 5_000)
        ...         timers.register_event_time_timer(self.due.value())
        ...         soon = timers.current_processing_time() + 60_000
        ...         timers.register_processing_time_timer(soon)
        ...         timers.delete_processing_time_timer(soon)
        ...     def on_timer(self, timestamp, ctx):
        ...         yield ctx.get_current_key(), timestamp, ctx.timer_service().current_watermark() >= timestamp
        >>> sorted(collect(orders.key_by(lambda order: order[0]).process(LastOnly())))
        [('ann', 17000, True), ('bob', 7000, True)]
    """

    def current_processing_time(self) -> int:
        """Return the wall clock in epoch milliseconds."""

    def current_watermark(self) -> int:
        """Return the watermark in epoch milliseconds.

        Long.MIN (-2**63) before the first one and while history is read as a batch;
        Long.MAX (2**63 - 1) after the end of a bounded input.
        """

    def register_event_time_timer(self, timestamp: int) -> None:
        """Call `on_timer` for the current key once the watermark reaches `timestamp`.

        There is one timer per key and timestamp, however often it is registered.

        Args:
            timestamp: Epoch milliseconds.

        Raises:
            UnkeyedStateError: The stream has no key.
        """

    def register_processing_time_timer(self, timestamp: int) -> None:
        """Call `on_timer` for the current key once the wall clock reaches `timestamp`.

        In BATCH mode it fires after the last record of the key, whatever the clock shows; at the
        end of a live input timers that are not due are dropped.

        Args:
            timestamp: Epoch milliseconds.

        Raises:
            UnkeyedStateError: The stream has no key.
        """

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Delete the timer of the current key at `timestamp`, if there is one.

        Raises:
            UnkeyedStateError: The stream has no key.
        """

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Delete the timer of the current key at `timestamp`, if there is one.

        Raises:
            UnkeyedStateError: The stream has no key.
        """


class UnkeyedProcessContext(Protocol):
    """Context of `ProcessFunction.process_element`."""

    def timer_service(self) -> TimerService:
        """Return the timer service; without a key it has the current time but no timers."""

    def timestamp(self) -> int:
        """Return the record's timestamp in epoch milliseconds, Long.MIN if it has none."""


class KeyedProcessContext(UnkeyedProcessContext, Protocol):
    """Context of `KeyedProcessFunction.process_element`."""

    def get_current_key(self) -> Any:
        """Return the key of the record or timer."""


class OnTimerContext(KeyedProcessContext, Protocol):
    """Context of `KeyedProcessFunction.on_timer`."""

    def time_domain(self) -> TimeDomain:
        """Return whether the timer is of event time or processing time."""


class BroadcastBaseContext(Protocol):
    """Time, in the functions of broadcast connected streams."""

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
        """Return the broadcast state that `state_descriptor` describes.

        Raises:
            ArgumentError: The stream was not broadcast with such a state.
        """


class ReadOnlyBroadcastContext(BroadcastBaseContext, Protocol):
    """Context of `process_element`, connected with a broadcast stream."""

    def get_broadcast_state(
        self, state_descriptor: MapStateDescriptor[K, V]
    ) -> ReadOnlyBroadcastState[K, V]:
        """Return a read-only view of the broadcast state that `state_descriptor` describes.

        Raises:
            ArgumentError: The stream was not broadcast with such a state.
        """


class KeyedReadOnlyBroadcastContext(ReadOnlyBroadcastContext, Protocol):
    """Context of `process_element` of a stream with a key."""

    def timer_service(self) -> TimerService:
        """Return the timer service."""

    def get_current_key(self) -> Any:
        """Return the key of the record or timer."""


class KeyedBroadcastOnTimerContext(KeyedReadOnlyBroadcastContext, Protocol):
    """Context of `KeyedBroadcastProcessFunction.on_timer`."""

    def time_domain(self) -> TimeDomain:
        """Return whether the timer is of event time or processing time."""


class OperatorStateStore(Protocol):
    """Returns the broadcast state of an operator.

    Example:
        >>> LIMITS = MapStateDescriptor("limits")
        >>> class Limited(BroadcastProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         yield value, ctx.get_broadcast_state(LIMITS).get("max")
        ...     def process_broadcast_element(self, value, ctx):
        ...         ctx.get_broadcast_state(LIMITS).put(*value)
        >>> with OperatorHarness.of(Limited(), broadcast_states=[LIMITS]) as harness:
        ...     emitted = harness.push(("max", 3), input=1) + harness.push(2)
        >>> emitted
        [(2, 3)]
    """

    def get_broadcast_state(
        self, state_descriptor: MapStateDescriptor[K, V]
    ) -> BroadcastState[K, V]:
        """Return the broadcast state that `state_descriptor` describes.

        Raises:
            ArgumentError: The stream was not broadcast with such a state.
        """
