"""`KeyedStream`: records partitioned by key, with keyed state and timers."""

from __future__ import annotations

from typing import Any, Generic, NoReturn, overload

from penstock.api.functions.aggregations import Aggregation, aggregate_function, associative_because
from penstock.api.functions.callables import Combination
from penstock.api.functions.function_classes import (
    KeyedProcessFunction,
    ProcessFunction,
    ReduceFunction,
)
from penstock.api.streams.data_stream import DataStream
from penstock.api.streams.interval_join import IntervalJoin
from penstock.api.streams.no_operator import NoOperator
from penstock.api.streams.paired_streams import check_pair
from penstock.api.user_code import method_of, name_of, promise_of
from penstock.api.windows.assigner import WindowAssigner
from penstock.api.windows.count import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
)
from penstock.api.windows.windowed_stream import WindowedStream
from penstock.errors import CallSite, GraphError
from penstock.program.operators import KEYED_PROCESS, KEYED_REDUCE
from penstock.types import TypeInformation
from penstock.types.type_parameters import T1, K, R, T


class KeyedStream(NoOperator, DataStream[T], Generic[T, K]):
    """A stream of records of type `T`, partitioned by keys of type `K`.

    Rolling operations (`reduce`, `sum`, …) emit the aggregate so far for every record; in BATCH
    mode they emit one final value per key.

    Attributes:
        AccumulateType: The kinds of built-in aggregations.
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

        Raises:
            ArgumentError: `func` is not a `KeyedProcessFunction`.
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

    def reduce(self, func: Combination[T], *, associative: bool = False) -> DataStream[T]:
        """Combine the records of each key, two at a time.

        Args:
            func: A callable of (aggregate, record) or a `ReduceFunction`. It must not change
                its arguments.
            associative: What `ReduceFunction.is_associative` promises, for a callable.

        Raises:
            ArgumentError: `func` is neither.
        """
        method = method_of(func, ReduceFunction, "reduce", "reduce")
        return self._derive(
            KEYED_REDUCE,
            name_of(func, "reduce"),
            self.get_type(),
            function=func,
            method=method,
            associative=promise_of(associative, "reduce"),
        )

    def interval_join(self, other_stream: KeyedStream[T1, K]) -> IntervalJoin[T, T1, K]:
        """Pair records with those of another stream of the same key whose times are close.

        Raises:
            ArgumentError: `other_stream` has no key.
            GraphError: It belongs to another environment, or its key to another type.
        """
        check_pair(self, other_stream, "interval_join", KeyedStream, "KeyedStream")
        return IntervalJoin(self, other_stream)

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> WindowedStream[T, K]:
        """Cut the records of each key into windows.

        Raises:
            ArgumentError: `window_assigner` is none.
        """
        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream[T, K]:
        """Cut the records of each key into windows of `size` records.

        Args:
            size: Records per window; a window that is not full at the end is not emitted.
            slide: Records after which the next window starts; 0 is `size`.

        Raises:
            ArgumentError: A number is not whole, or negative, or `size` is 0.
        """
        if slide == 0:
            return WindowedStream(self, CountTumblingWindowAssigner(size))
        return WindowedStream(self, CountSlidingWindowAssigner(size, slide))

    def sum(self, position_to_sum: int | str = 0) -> DataStream[T]:
        """Sum a field; the other fields are those of the key's first record.

        Args:
            position_to_sum: Position or name of the field; 0 also for records that are plain
                numbers.
        """
        return self._aggregate(Aggregation.SUM, position_to_sum)

    def min(self, position_to_min: int | str = 0) -> DataStream[T]:
        """Minimum of a field; the other fields are those of the key's first record."""
        return self._aggregate(Aggregation.MIN, position_to_min)

    def max(self, position_to_max: int | str = 0) -> DataStream[T]:
        """Maximum of a field; the other fields are those of the key's first record."""
        return self._aggregate(Aggregation.MAX, position_to_max)

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream[T]:
        """The record with the least value of a field; the first of equal ones."""
        return self._aggregate(Aggregation.MIN_BY, position_to_min_by)

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream[T]:
        """The record with the greatest value of a field; the first of equal ones."""
        return self._aggregate(Aggregation.MAX_BY, position_to_max_by)

    @property
    def has_key(self) -> bool:
        """True."""
        return True

    def shuffle(self) -> NoReturn:
        """Refuse: key_by is not an operator, and has decided where records go.

        Raises:
            GraphError: Always.
        """
        raise self._refusal("shuffle()")

    def rebalance(self) -> NoReturn:
        """Refuse: key_by is not an operator, and has decided where records go.

        Raises:
            GraphError: Always.
        """
        raise self._refusal("rebalance()")

    def rescale(self) -> NoReturn:
        """Refuse: key_by is not an operator, and has decided where records go.

        Raises:
            GraphError: Always.
        """
        raise self._refusal("rescale()")

    def forward(self) -> NoReturn:
        """Refuse: key_by is not an operator, and has decided where records go.

        Raises:
            GraphError: Always.
        """
        raise self._refusal("forward()")

    def partition_custom(self, partitioner: Any, key_selector: Any) -> NoReturn:
        """Refuse: key_by is not an operator, and has decided where records go.

        Raises:
            GraphError: Always.
        """
        raise self._refusal("partition_custom(…)")

    def broadcast(self, *broadcast_state_descriptors: Any) -> NoReturn:
        """Refuse: key_by is not an operator, and has decided where records go.

        Raises:
            GraphError: Always.
        """
        raise self._refusal("broadcast(…)")

    def cache(self) -> NoReturn:
        """Refuse: key_by is not an operator, and has decided where records go.

        Raises:
            GraphError: Always.
        """
        raise self._refusal("cache()")

    def _aggregate(self, aggregation: Aggregation, position: int | str) -> DataStream[T]:
        records = self.get_type()
        function = aggregate_function(aggregation, position, records)
        return self._derive(
            KEYED_REDUCE,
            aggregation.name.lower(),
            records,
            function=function,
            method=None,
            associative=associative_because(aggregation, position, records),
        )

    def _unkeyed_id(self) -> int:
        return self._environment.graph.node(self._node_id).inputs[0]

    def _refusal(self, call: str) -> GraphError:
        return GraphError(
            f"{call} was called on the result of key_by, which is not an operator",
            hint="Call it on the stream before key_by or after the keyed operation.",
            origin=CallSite.of_caller(),
        )
