"""Operations of a single stream, and how its records are partitioned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, overload

from penstock.api.functions.function_classes import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    Predicate,
    ProcessFunction,
    ToKey,
    ToMany,
    ToOne,
    ToSubtask,
)
from penstock.api.functions.result_types import result_type
from penstock.api.functions.stream_operators import (
    OneInputStreamOperator,
    StreamOperatorFactory,
    creating_method,
)
from penstock.api.functions.watermark import WatermarkStrategy, watermarking_of
from penstock.api.state.descriptors import MapStateDescriptor
from penstock.api.streams.connected_streams import BroadcastStream
from penstock.api.streams.stream_base import (
    StreamBase,
    check_broadcast_states,
    check_side_output,
    projection,
)
from penstock.api.user_code import bound_method, checked_label, checked_type, method_of, name_of
from penstock.graph.logical import Partitioning
from penstock.program import operators as kinds
from penstock.program.channel import StreamPartitioner
from penstock.program.operator_kind import OperatorKind
from penstock.program.operators import PARTITION
from penstock.types import TypeInformation
from penstock.types.output_tag import OutputTag
from penstock.types.type_parameters import K, R, T

if TYPE_CHECKING:
    from penstock.api.streams.data_stream import DataStream


class StreamOperations(StreamBase[T], Generic[T]):
    """Base of `DataStream`: operations that are applied record by record."""

    @overload
    def map(self, func: ToOne[T, R], output_type: None = None) -> DataStream[R]: ...

    @overload
    def map(self, func: ToOne[T, Any], output_type: TypeInformation[R]) -> DataStream[R]: ...

    def map(self, func: Any, output_type: TypeInformation | None = None) -> DataStream[Any]:
        """Replace each record by the result of a function; with a key it may use keyed state.

        Args:
            func: A callable or `MapFunction`. It is called once per record, in order within a
                subtask; a micro-batch repeated after a failure calls it again.
            output_type: Type the results are converted to; None leaves them as they are.

        Returns:
            The results, with the timestamps of their records and without a key.

        Raises:
            ArgumentError: `func` is neither, or `output_type` is no type.

        Example:
            >>> collect(numbers.map(lambda n: n / 2, Types.FLOAT()))
            [0.5, 1.0, 1.5, 2.0]
        """
        method = method_of(func, MapFunction, "map", "map")
        kind = kinds.KEYED_MAP if self.has_key else kinds.MAP
        return self._apply(kind, "map", func, method, output_type)

    @overload
    def flat_map(self, func: ToMany[T, R], output_type: None = None) -> DataStream[R]: ...

    @overload
    def flat_map(self, func: ToMany[T, Any], output_type: TypeInformation[R]) -> DataStream[R]: ...

    def flat_map(self, func: Any, output_type: TypeInformation | None = None) -> DataStream[Any]:
        """Replace each record by any number of results; with a key `func` may use keyed state.

        Args:
            func: A callable or `FlatMapFunction` that returns or yields the results of one record.
                Returning None gives no result.
            output_type: Type the results are converted to; None leaves them as they are.

        Returns:
            The results, with the timestamps of their records and without a key.

        Raises:
            ArgumentError: `func` is neither, or `output_type` is no type.

        Example:
            >>> collect(numbers.flat_map(lambda n: range(n)))
            [0, 0, 1, 0, 1, 2, 0, 1, 2, 3]
        """
        method = method_of(func, FlatMapFunction, "flat_map", "flat_map")
        kind = kinds.KEYED_FLAT_MAP if self.has_key else kinds.FLAT_MAP
        return self._apply(kind, "flat_map", func, method, output_type)

    def filter(self, func: Predicate[T]) -> DataStream[T]:
        """Drop the records for which a function is false; with a key it may use keyed state.

        Args:
            func: A callable or `FilterFunction`; its result is tested for truth.

        Returns:
            The other records, of the same type and without a key.

        Raises:
            ArgumentError: `func` is neither.

        Example:
            >>> collect(numbers.filter(lambda n: n % 2))
            [1, 3]
        """
        method = method_of(func, FilterFunction, "filter", "filter")
        kind = kinds.KEYED_FILTER if self.has_key else kinds.FILTER
        return self._apply(kind, "filter", func, method, self.get_type())

    @overload
    def process(self, func: ProcessFunction[T, R], output_type: None = None) -> DataStream[R]: ...

    @overload
    def process(
        self, func: ProcessFunction[T, Any], output_type: TypeInformation[R]
    ) -> DataStream[R]: ...

    def process(self, func: Any, output_type: TypeInformation | None = None) -> DataStream[Any]:
        """Process each record with access to its timestamp, the watermark and side outputs.

        State and timers need a key: call `key_by` first and pass a `KeyedProcessFunction`.

        Args:
            func: A `ProcessFunction`; it yields or returns the results of a record.
            output_type: Type the results are converted to; None leaves them as they are.

        Returns:
            The results, with the timestamps of their records.

        Raises:
            ArgumentError: `func` is not a `ProcessFunction`, or `output_type` is no type.

        Example:
            >>> class WithTime(ProcessFunction):
            ...     def process_element(self, value, ctx):
            ...         yield value[0], ctx.timestamp()
            >>> collect(orders.process(WithTime()))
            [('ann', 1000), ('bob', 2000), ('ann', 12000)]
        """
        method = method_of(
            func,
            ProcessFunction,
            "process_element",
            "process",
            allow_callable=False,
            hints={KeyedProcessFunction: "Call key_by before process: this function needs a key."},
        )
        return self._apply(kinds.PROCESS, "process", func, method, output_type)

    def transform(
        self,
        operator_name: str,
        type_info: TypeInformation[R] | None,
        operator: OneInputStreamOperator[T, R] | StreamOperatorFactory[R],
    ) -> DataStream[R]:
        """Process each record with an operator of your own, which also sees watermarks.

        Args:
            operator_name: Name of the operator in plans and messages.
            type_info: Type the results are converted to; None leaves them as they are.
            operator: An operator, or a factory of operators. On a keyed stream it may use keyed
                state and timers.

        Returns:
            The output of the operator, without a key.

        Raises:
            ArgumentError: `operator` is no `OneInputStreamOperator` and no factory, or another
                argument is wrong.

        Example:
            >>> class Twice(OneInputStreamOperator):
            ...     def process_element(self, value, ctx):
            ...         self.output.collect(value)
            ...         self.output.collect(value)
            >>> collect(numbers.transform("twice", Types.INT(), Twice()))
            [1, 1, 2, 2, 3, 3, 4, 4]
        """
        method = creating_method(operator, OneInputStreamOperator, "process_element")
        kind = kinds.KEYED_CUSTOM if self.has_key else kinds.CUSTOM
        name = checked_label(operator_name, "transform")
        declared = checked_type(type_info, "transform")
        return self._derive(kind, name, declared, function=operator, method=method)

    def assign_timestamps_and_watermarks(
        self, watermark_strategy: WatermarkStrategy
    ) -> DataStream[T]:
        """Assign timestamps to records and generate watermarks; both replace those from before.

        Args:
            watermark_strategy: Strategy for timestamps and watermarks.

        Returns:
            The same records, with timestamps.

        Raises:
            ArgumentError: `watermark_strategy` is not a strategy.

        Example:
            >>> strategy = WatermarkStrategy.for_monotonous_timestamps()
            >>> by_value = strategy.with_timestamp_assigner(lambda n, _: n * 1000)
            >>> timed = numbers.assign_timestamps_and_watermarks(by_value)
            >>> windows = timed.window_all(TumblingEventTimeWindows.of(Time.seconds(2)))
            >>> collect(windows.reduce(lambda a, b: a + b))
            [1, 5, 4]
        """
        marks = watermarking_of(watermark_strategy, self.get_type())
        return self._derive(kinds.TIMESTAMPS, "timestamps", self.get_type(), watermarking=marks)

    def project(self, *field_indexes: int) -> DataStream:
        """Select fields of tuples, in the given order.

        Args:
            field_indexes: Positions from 0. A position may be given twice.

        Returns:
            Tuples of these fields.

        Raises:
            ArgumentError: The stream's type is no tuple, or has no such field.

        Example:
            >>> collect(orders.project(1, 0))
            [(5, 'ann'), (3, 'bob'), (7, 'ann')]
        """
        fields, type_info = projection(self.get_type(), field_indexes)
        return self._derive(kinds.MAP, "Projection", type_info, function=fields, method=None)

    def get_side_output(self, output_tag: OutputTag[R]) -> DataStream[R]:
        """Return the values this operator emits under a tag.

        Args:
            output_tag: The tag the function yields values with, as `(tag, value)`.

        Raises:
            ArgumentError: `output_tag` is no `OutputTag`.
            GraphError: The operator has no side outputs: only process functions have, and
                windows for late records.

        Example:
            >>> odd = OutputTag("odd", Types.INT())
            >>> class Split(ProcessFunction):
            ...     def process_element(self, value, ctx):
            ...         yield (odd, value) if value % 2 else value
            >>> even = numbers.process(Split(), Types.INT())
            >>> collect(even), collect(even.get_side_output(odd))
            ([2, 4], [1, 3])
        """
        check_side_output(self._graph.node(self._node_id), output_tag)
        return self._add(
            kinds.SIDE_OUTPUT,
            f"side output {output_tag.tag_id}",
            (self._node_id,),
            output_tag.type_info,
            output_tag=output_tag.tag_id,
        )

    def _apply(
        self,
        kind: OperatorKind,
        operation: str,
        func: Any,
        method: str | None,
        output_type: TypeInformation | None,
    ) -> DataStream:
        return self._derive(
            kind,
            name_of(func, operation),
            result_type(func, method, operation, output_type),
            function=func,
            method=method,
        )


class Repartitioning(StreamBase[T], Generic[T]):
    """Base of `DataStream`: every method returns the same records, partitioned anew."""

    def rebalance(self) -> DataStream[T]:
        """Send records to all subtasks of the next operator in turns.

        Returns:
            The same records. Those of different subtasks have no order.

        Example:
            >>> sorted(collect(numbers.rebalance().map(lambda n: n + 1).set_parallelism(2)))
            [2, 3, 4, 5]
        """
        return self._partitioned("rebalance", Partitioning(StreamPartitioner.REBALANCE))

    def rescale(self) -> DataStream[T]:
        """Send records to a few subtasks of the next operator in turns.

        Each sending subtask has its share of the receiving subtasks, as in Flink.

        Returns:
            The same records. Those of different subtasks have no order.

        Example:
            >>> sorted(collect(numbers.rescale().map(lambda n: n + 1).set_parallelism(2)))
            [2, 3, 4, 5]
        """
        return self._partitioned("rescale", Partitioning(StreamPartitioner.RESCALE))

    def shuffle(self) -> DataStream[T]:
        """Send each record to a random subtask of the next operator.

        Returns:
            The same records. Those of different subtasks have no order.

        Example:
            >>> sorted(collect(numbers.shuffle().map(lambda n: n + 1).set_parallelism(2)))
            [2, 3, 4, 5]
        """
        return self._partitioned("shuffle", Partitioning(StreamPartitioner.SHUFFLE))

    def forward(self) -> DataStream[T]:
        """Send records to the subtask of the same index, which is the default.

        Returns:
            The same records, in the same order.

        Example:
            >>> collect(numbers.forward().map(lambda n: n + 1))
            [2, 3, 4, 5]
        """
        return self._partitioned("forward", Partitioning(StreamPartitioner.FORWARD))

    def partition_custom(
        self, partitioner: ToSubtask[K], key_selector: ToKey[T, K]
    ) -> DataStream[T]:
        """Send each record to the subtask whose index a function returns.

        Args:
            partitioner: A callable of (key, number of subtasks) or a `Partitioner`; returns the
                index of a subtask, from 0.
            key_selector: A callable or `KeySelector`; returns the key passed to `partitioner`.

        Returns:
            The same records, without a key: the next operator has no keyed state.

        Raises:
            ArgumentError: One of them is neither.

        Example:
            >>> to_subtask = lambda key, subtasks: key % subtasks
            >>> partitioned = numbers.partition_custom(to_subtask, lambda n: n)
            >>> sorted(collect(partitioned.map(lambda n: n + 1).set_parallelism(2)))
            [2, 3, 4, 5]
        """
        choose = bound_method(partitioner, Partitioner, "partition", "partition_custom")
        select = bound_method(key_selector, KeySelector, "get_key", "partition_custom")
        return self._partitioned(
            "partition_custom", Partitioning(StreamPartitioner.CUSTOM, choose, select)
        )

    @overload
    def broadcast(self) -> DataStream[T]: ...

    @overload
    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> BroadcastStream[T]: ...

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> DataStream[T] | BroadcastStream[T]:
        """Send every record to every subtask of the next operator.

        Args:
            broadcast_state_descriptor: Describes the map state that stores the elements. With it
                the result is to be passed to `connect`; without it any operator may follow.
            other_broadcast_state_descriptors: Descriptors of more such states.

        Returns:
            A `BroadcastStream`; without a descriptor a `DataStream` that has each record once per
            subtask of the operator that reads it.

        Raises:
            ArgumentError: A descriptor is not one of a map state.

        Example:
            >>> twice = numbers.broadcast().map(lambda n: n).set_parallelism(2)
            >>> sorted(collect(twice))
            [1, 1, 2, 2, 3, 3, 4, 4]
        """
        everywhere = self._partitioned("broadcast", Partitioning(StreamPartitioner.BROADCAST))
        if broadcast_state_descriptor is None:
            return everywhere
        descriptors = (broadcast_state_descriptor, *other_broadcast_state_descriptors)
        check_broadcast_states(descriptors)
        return BroadcastStream(everywhere, descriptors)

    def _partitioned(self, name: str, partitioning: Partitioning) -> DataStream:
        inputs = (self._unkeyed_id(),)
        return self._add(PARTITION, name, inputs, self.get_type(), partitioning=partitioning)
