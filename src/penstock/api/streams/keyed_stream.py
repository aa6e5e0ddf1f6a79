"""`KeyedStream`: records partitioned by key, with keyed state and timers."""

from __future__ import annotations

from typing import Any, Generic, overload

from penstock.api.functions.aggregations import Aggregation, aggregate_function, associative_because
from penstock.api.functions.function_classes import (
    Combination,
    KeyedProcessFunction,
    ProcessFunction,
    ReduceFunction,
)
from penstock.api.streams.batch_operations import KeyedBatches
from penstock.api.streams.columns.keyed_columns import KeyedColumns
from penstock.api.streams.data_stream import DataStream
from penstock.api.streams.interval_join import IntervalJoin
from penstock.api.streams.operator_settings import NoOperator, refused
from penstock.api.streams.paired_streams import check_pair
from penstock.api.user_code import method_of, name_of, promises_of
from penstock.api.windows.assigner import WindowAssigner
from penstock.api.windows.count import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
)
from penstock.api.windows.windowed_stream import WindowedStream
from penstock.errors import GraphError
from penstock.program.fold import Promises
from penstock.program.operators import KEYED_PROCESS, KEYED_REDUCE
from penstock.types import TypeInformation
from penstock.types.type_parameters import T1, K, R, T


class KeyedStream(NoOperator, KeyedColumns[T], KeyedBatches[T], DataStream[T], Generic[T, K]):
    """A stream of records of type `T`, partitioned by keys of type `K`.

    Rolling aggregations (`reduce`, `sum`, …) emit the aggregate so far for each record; in BATCH
    mode they emit one final value per key. The records of a key are processed in order; records
    of different keys have no order.

    Attributes:
        AccumulateType: The kinds of built-in aggregations.

    Example:
        >>> collect(numbers.key_by(lambda n: n < 9).max())
        [1, 2, 3, 4]
    """

    AccumulateType = Aggregation

    @overload  # type: ignore[override]
    def process(
        self, func: KeyedProcessFunction[K, T, R], output_type: None = None
    ) -> DataStream[R]: ...

    @overload
    def process(
        self, func: KeyedProcessFunction[K, T, Any], output_type: TypeInformation[R]
    ) -> DataStream[R]: ...

    def process(self, func: Any, output_type: TypeInformation | None = None) -> DataStream[Any]:
        """Process each record with keyed state, timers and access to time.

        Args:
            func: A `KeyedProcessFunction`; it yields or returns the results.
            output_type: Type the results are converted to; None leaves them as they are.

        Returns:
            The results, without a key.

        Raises:
            ArgumentError: `func` is not a `KeyedProcessFunction`, or `output_type` is no type.

        Example:
            >>> class Count(KeyedProcessFunction):
            ...     def open(self, runtime_context):
            ...         self.n = runtime_context.get_state(ValueStateDescriptor("n", Types.INT()))
            ...     def process_element(self, value, ctx):
            ...         self.n.update((self.n.value() or 0) + 1)
            ...         yield ctx.get_current_key(), self.n.value()
            >>> sorted(collect(orders.key_by(lambda order: order[0]).process(Count())))
            [('ann', 1), ('ann', 2), ('bob', 1)]
        """
        method = method_of(
            func,
            KeyedProcessFunction,
            "process_element",
            "process",
            allow_callable=False,
            hints={ProcessFunction: "Derive it from KeyedProcessFunction: this stream has a key."},
        )
        return self._apply(KEYED_PROCESS, "process", func, method, output_type)

    def reduce(
        self, func: Combination[T], *, associative: bool = False, commutative: bool = False
    ) -> DataStream[T]:
        """Combine the records of each key, two at a time, and emit each combination.

        In BATCH mode only the last combination of each key is emitted.

        Args:
            func: A callable of (aggregate, record) or a `ReduceFunction`. It must not change
                its arguments.
            associative: Promises what `ReduceFunction.is_associative` does, for a callable: the
                planner may then combine before the exchange.
            commutative: Promises what `ReduceFunction.is_commutative` does, for a callable.

        Returns:
            The combinations, of the type of the records and without a key.

        Raises:
            ArgumentError: `func` is neither.

        Example:
            >>> collect(numbers.key_by(lambda n: "all").reduce(lambda a, b: a * b))
            [1, 2, 6, 24]
        """
        method = method_of(func, ReduceFunction, "reduce", "reduce")
        return self._derive(
            KEYED_REDUCE,
            name_of(func, "reduce"),
            self.get_type(),
            function=func,
            method=method,
            promises=promises_of("reduce", associative=associative, commutative=commutative),
        )

    def interval_join(self, other_stream: KeyedStream[T1, K]) -> IntervalJoin[T, T1, K]:
        """Join records with those of another stream of the same key whose timestamps are close.

        Args:
            other_stream: A keyed stream of the same environment.

        Returns:
            Both streams; `between` and `process` complete the operation.

        Raises:
            ArgumentError: `other_stream` has no key.
            GraphError: It belongs to another environment, or its key has another declared type.

        Example:
            >>> class Amounts(ProcessJoinFunction):
            ...     def process_element(self, left, right, ctx):
            ...         yield left[1], right[1]
            >>> keyed = orders.key_by(lambda order: order[0])
            >>> near = keyed.interval_join(keyed).between(Time.seconds(1), Time.seconds(60))
            >>> collect(near.process(Amounts()))
            [(5, 7)]
        """
        check_pair(self, other_stream, "interval_join", KeyedStream, "KeyedStream")
        return IntervalJoin(self, other_stream)

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> WindowedStream[T, K]:
        """Assign the records of each key to windows.

        Args:
            window_assigner: Assigns each record to windows, such as `TumblingEventTimeWindows`.

        Returns:
            The windows, for an operation such as `reduce` or `process`.

        Raises:
            ArgumentError: `window_assigner` is no window assigner.

        Example:
            >>> keyed = orders.key_by(lambda order: order[0])
            >>> windows = keyed.window(TumblingEventTimeWindows.of(Time.seconds(60)))
            >>> sorted(collect(windows.reduce(lambda a, b: (a[0], a[1] + b[1], b[2]))))
            [('ann', 12, 12000), ('bob', 3, 2000)]
        """
        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream[T, K]:
        """Assign the records of each key to windows of `size` records.

        Args:
            size: Records per window; a window that is not full at the end is not emitted.
            slide: Records after which the next window starts; 0 is `size`.

        Returns:
            The windows, for an operation such as `reduce` or `process`.

        Raises:
            ArgumentError: A number is not whole, or negative, or `size` is 0.

        Example:
            >>> windows = numbers.key_by(lambda n: "all").count_window(2)
            >>> collect(windows.reduce(lambda a, b: a + b))
            [3, 7]
        """
        if slide == 0:
            return WindowedStream(self, CountTumblingWindowAssigner(size))
        return WindowedStream(self, CountSlidingWindowAssigner(size, slide))

    def sum(self, position_to_sum: int | str = 0) -> DataStream[T]:
        """Emit the sum of a field so far; the other fields are those of the key's first record.

        Args:
            position_to_sum: Position or name of the field; 0 also for records that are numbers.

        Returns:
            One record per input record; in BATCH mode one per key.

        Raises:
            ArgumentError: The records have no such field.

        Example:
            >>> sorted(collect(orders.key_by(lambda order: order[0]).sum(1)))
            [('ann', 5, 1000), ('ann', 12, 1000), ('bob', 3, 2000)]
        """
        return self._aggregate(Aggregation.SUM, position_to_sum)

    def min(self, position_to_min: int | str = 0) -> DataStream[T]:
        """Emit the minimum of a field so far; the other fields are those of the key's first record.

        Args:
            position_to_min: As that of `sum`.

        Returns:
            As many records as `sum`.

        Example:
            >>> sorted(collect(orders.key_by(lambda order: "all").min(1)))
            [('ann', 3, 1000), ('ann', 3, 1000), ('ann', 5, 1000)]
        """
        return self._aggregate(Aggregation.MIN, position_to_min)

    def max(self, position_to_max: int | str = 0) -> DataStream[T]:
        """Emit the maximum of a field so far; the other fields are those of the key's first record.

        Args:
            position_to_max: As that of `sum`.

        Returns:
            As many records as `sum`.

        Example:
            >>> collect(orders.key_by(lambda order: "all").max(1))
            [('ann', 5, 1000), ('ann', 5, 1000), ('ann', 7, 1000)]
        """
        return self._aggregate(Aggregation.MAX, position_to_max)

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream[T]:
        """Emit the record with the least value of a field so far; the first of equal ones.

        Args:
            position_to_min_by: As that of `sum`.

        Returns:
            As many records as `sum`.

        Example:
            >>> collect(orders.key_by(lambda order: "all").min_by(1))
            [('ann', 5, 1000), ('bob', 3, 2000), ('bob', 3, 2000)]
        """
        return self._aggregate(Aggregation.MIN_BY, position_to_min_by)

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream[T]:
        """Emit the record with the greatest value of a field so far; the first of equal ones.

        Args:
            position_to_max_by: As that of `sum`.

        Returns:
            As many records as `sum`.

        Example:
            >>> collect(orders.key_by(lambda order: "all").max_by(1))
            [('ann', 5, 1000), ('ann', 5, 1000), ('ann', 7, 12000)]
        """
        return self._aggregate(Aggregation.MAX_BY, position_to_max_by)

    @property
    def has_key(self) -> bool:
        """True if records are partitioned by a key: True."""
        return True

    # `key_by` has decided where records go.
    shuffle = refused("shuffle")
    rebalance = refused("rebalance")
    rescale = refused("rescale")
    forward = refused("forward")
    partition_custom = refused("partition_custom")
    broadcast = refused("broadcast")
    cache = refused("cache")

    def _aggregate(self, aggregation: Aggregation, position: int | str) -> DataStream[T]:
        records = self.get_type()
        function = aggregate_function(aggregation, position, records)
        return self._derive(
            KEYED_REDUCE,
            aggregation.name.lower(),
            records,
            function=function,
            method=None,
            promises=Promises(associative_because(aggregation, position, records)),
        )

    def _unkeyed_id(self) -> int:
        return self._environment.graph.node(self._node_id).inputs[0]

    def _refusal(self, call: str) -> GraphError:
        return GraphError.here(
            f"{call} was called on the result of key_by, which is not an operator",
            hint="Call it on the stream before key_by or after the keyed operation.",
        )
