"""`WindowedStream` and `AllWindowedStream`: windows of a stream with and without a key, and their operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, overload

from penstock.api.functions.function_classes import AggregateFunction, Combination, ReduceFunction
from penstock.api.user_code import called_as, checked_type, method_of, promises_of
from penstock.api.windows.assigner import WindowAssigner
from penstock.api.windows.window_functions import (
    AllWindowFunction,
    AppliedToWindows,
    ProcessAllWindowFunction,
    ProcessesWindows,
    ProcessWindowFunction,
    WindowCallee,
    WindowFunction,
)
from penstock.api.windows.windows_base import WindowsBase
from penstock.errors import GraphError
from penstock.expressions.aggregates import AggregateExpression
from penstock.expressions.column import ColumnExpression
from penstock.program.window_operation import Evaluation, WindowContents
from penstock.types import TypeInformation
from penstock.types.row import Row
from penstock.types.type_parameters import ACC, K, R, T, V

if TYPE_CHECKING:
    from penstock.api.streams.data_stream import DataStream
    from penstock.api.streams.keyed_stream import KeyedStream


def as_reduce_function(function: Any) -> ReduceFunction[Any]:
    """Return a callable of two values as a function object of the same name."""
    return _Reducer(function)


class _Reducer(ReduceFunction):
    """A callable as a `ReduceFunction`."""

    def __init__(self, function: Any) -> None:
        self.reduce = function  # type: ignore[method-assign]
        self.__name__ = getattr(function, "__name__", "<lambda>")

    def reduce(self, value1: Any, value2: Any) -> Any:
        """Never called: replaced by the callable."""
        raise AssertionError


class WindowSettings(WindowsBase[T, K], Generic[T, K]):
    """Base of `WindowedStream` and `AllWindowedStream`, which has None for `K`."""

    @overload
    def reduce(
        self,
        reduce_function: Combination[T],
        window_function: None = None,
        output_type: None = None,
        *,
        associative: bool = False,
        commutative: bool = False,
    ) -> DataStream[T]: ...

    @overload
    def reduce(
        self,
        reduce_function: Combination[T],
        window_function: WindowCallee[T, R, K],
        output_type: None = None,
        *,
        associative: bool = False,
        commutative: bool = False,
    ) -> DataStream[R]: ...

    @overload
    def reduce(
        self,
        reduce_function: Combination[T],
        window_function: WindowCallee[T, Any, K] | None = None,
        *,
        output_type: TypeInformation[R],
        associative: bool = False,
        commutative: bool = False,
    ) -> DataStream[R]: ...

    @overload
    def reduce(
        self,
        reduce_function: Combination[T],
        window_function: WindowCallee[T, Any, K] | None,
        output_type: TypeInformation[R],
        *,
        associative: bool = False,
        commutative: bool = False,
    ) -> DataStream[R]: ...

    def reduce(
        self,
        reduce_function: Any,
        window_function: Any = None,
        output_type: TypeInformation | None = None,
        *,
        associative: bool = False,
        commutative: bool = False,
    ) -> DataStream[Any]:
        """Combine the records of each window, two at a time, as they arrive.

        Args:
            reduce_function: A callable of two values or a `ReduceFunction`; must be
                associative, and for merging and sliding windows commutative.
            window_function: Called with the combination as the only element, if given.
            output_type: Type of the results; by default that of the records, or with a window
                function any object.
            associative: Promises what `ReduceFunction.is_associative` does, for a callable: the
                planner may then combine before the exchange, if it is commutative, too.
            commutative: Promises what `ReduceFunction.is_commutative` does, for a callable.

        Returns:
            One combination per key and window, with the timestamp `window.max_timestamp()`; or the
            results of the window function.

        Raises:
            ArgumentError: A function or the type is none.

        Example:
            >>> windows = orders.window_all(TumblingEventTimeWindows.of(Time.seconds(10)))
            >>> collect(windows.reduce(lambda a, b: (a[0], a[1] + b[1], b[2])))
            [('ann', 8, 2000), ('ann', 7, 12000)]
        """
        method = method_of(reduce_function, ReduceFunction, "reduce", "reduce")
        function = reduce_function if method else as_reduce_function(reduce_function)
        kept = self.get_input_type()
        out = output_type or (kept if window_function is None else None)
        return self._windowed(
            WindowContents.REDUCE,
            function,
            window_function,
            "reduce",
            kept,
            out,
            promises_of("reduce", associative=associative, commutative=commutative),
        )

    @overload
    def aggregate(
        self,
        aggregate_function: AggregateFunction[T, ACC, R],
        window_function: None = None,
        accumulator_type: TypeInformation | None = None,
        output_type: None = None,
    ) -> DataStream[R]: ...

    @overload
    def aggregate(
        self,
        aggregate_function: AggregateFunction[T, ACC, V],
        window_function: WindowCallee[V, R, K],
        accumulator_type: TypeInformation | None = None,
        output_type: None = None,
    ) -> DataStream[R]: ...

    @overload
    def aggregate(
        self,
        aggregate_function: AggregateFunction[T, ACC, V],
        window_function: WindowCallee[V, Any, K] | None = None,
        accumulator_type: TypeInformation | None = None,
        *,
        output_type: TypeInformation[R],
    ) -> DataStream[R]: ...

    @overload
    def aggregate(
        self,
        aggregate_function: AggregateFunction[T, ACC, V],
        window_function: WindowCallee[V, Any, K] | None,
        accumulator_type: TypeInformation | None,
        output_type: TypeInformation[R],
    ) -> DataStream[R]: ...

    @overload
    def aggregate(
        self,
        aggregate_function: ColumnExpression,
        window_function: ColumnExpression | None = None,
        **aggregates: AggregateExpression | ColumnExpression,
    ) -> DataStream[Row]: ...

    @overload
    def aggregate(
        self, **aggregates: AggregateExpression | ColumnExpression
    ) -> DataStream[Row]: ...

    @called_as("aggregate(col.window_start, n=col.count()), or aggregate(function)")
    def aggregate(
        self,
        aggregate_function: Any = None,
        window_function: Any = None,
        accumulator_type: Any = None,
        output_type: Any = None,
        **aggregates: Any,
    ) -> DataStream[Any]:
        """Aggregate the records of each window, as they arrive: by a function, or by expressions of columns.

        With expressions, `aggregate(col.window_start, n=col.count(), total=col.amount.sum())`, a result is a row of the columns
        of the key, the selected bounds of the window, as TIMESTAMP_LTZ, and the aggregates. The stream must have
        rows, and a key of columns. Late records go to no side output then, because they are parts of aggregates.

        Args:
            aggregate_function: Its `merge` is used for merging windows, and for sliding ones, which
                share accumulators of parts of a window; a `merge` that raises
                `NotImplementedError`, or returns nothing, costs sliding windows an accumulator
                each.
            window_function: Called with the result as the only element, if given.
            accumulator_type: Type of accumulators; by default any object.
            output_type: Type of the results; by default any object.
            aggregates: In place of all others: names of results with aggregates of columns. `col.window_start` and
                `col.window_end` may have no name.

        Returns:
            One result per key and window, with the timestamp `window.max_timestamp()`; or the
            results of the window function.

        Raises:
            ArgumentError: A function or a type is none; or the key is no column, or an aggregate does not take values
                of its column.
            UnknownFieldError: There is no such column; it names the near ones.

        Example:
            >>> class Total(AggregateFunction):
            ...     def create_accumulator(self):
            ...         return 0
            ...     def add(self, value, accumulator):
            ...         return accumulator + value[1]
            ...     def get_result(self, accumulator):
            ...         return accumulator
            ...     def merge(self, acc_a, acc_b):
            ...         return acc_a + acc_b
            >>> windows = orders.window_all(TumblingEventTimeWindows.of(Time.seconds(10)))
            >>> collect(windows.aggregate(Total()))
            [8, 7]
        """
        if aggregates or isinstance(aggregate_function, ColumnExpression):
            return self._aggregated_columns(
                (aggregate_function, window_function, accumulator_type, output_type), aggregates
            )
        method_of(aggregate_function, AggregateFunction, "add", "aggregate", allow_callable=False)
        kept = checked_type(accumulator_type, "aggregate")
        return self._windowed(
            WindowContents.AGGREGATE,
            aggregate_function,
            window_function,
            "aggregate",
            kept,
            output_type,
        )

    @overload
    def apply(
        self, window_function: AppliedToWindows[T, R, K], output_type: None = None
    ) -> DataStream[R]: ...

    @overload
    def apply(
        self, window_function: AppliedToWindows[T, Any, K], output_type: TypeInformation[R]
    ) -> DataStream[R]: ...

    def apply(
        self, window_function: Any, output_type: TypeInformation | None = None
    ) -> DataStream[Any]:
        """Call a window function with all records of each window.

        Args:
            window_function: A `WindowFunction`, or an `AllWindowFunction` for a stream without a
                key.
            output_type: Type the results are converted to; None leaves them as they are.

        Returns:
            The results, with the timestamp `window.max_timestamp()`.

        Raises:
            ArgumentError: `window_function` is no window function for this stream.

        Example:
            >>> class Count(AllWindowFunction):
            ...     def apply(self, window, inputs):
            ...         yield window.start, len(list(inputs))
            >>> windows = orders.window_all(TumblingEventTimeWindows.of(Time.seconds(10)))
            >>> collect(windows.apply(Count()))
            [(0, 2), (10000, 1)]
        """
        return self._listed(window_function, "apply", output_type)

    @overload
    def process(
        self, process_window_function: ProcessesWindows[T, R, K], output_type: None = None
    ) -> DataStream[R]: ...

    @overload
    def process(
        self, process_window_function: ProcessesWindows[T, Any, K], output_type: TypeInformation[R]
    ) -> DataStream[R]: ...

    def process(
        self, process_window_function: Any, output_type: TypeInformation | None = None
    ) -> DataStream[Any]:
        """Call a function with all records of each window, and with time and state.

        Args:
            process_window_function: A `ProcessWindowFunction`, or a `ProcessAllWindowFunction` for
                a stream without a key.
            output_type: As in `apply`.

        Returns:
            The results, as those of `apply`.

        Example:
            >>> class Count(ProcessWindowFunction):
            ...     def process(self, key, context, elements):
            ...         yield key, context.window().start, len(list(elements))
            >>> keyed = orders.key_by(lambda order: order[0])
            >>> windows = keyed.window(TumblingEventTimeWindows.of(Time.seconds(10)))
            >>> sorted(collect(windows.process(Count())))
            [('ann', 0, 1), ('ann', 10000, 1), ('bob', 0, 1)]
        """
        return self._listed(process_window_function, "process", output_type)

    def _listed(
        self, function: Any, operation: str, output_type: TypeInformation | None
    ) -> DataStream[Any]:
        evaluations = [e for e in self._evaluations if e[1] == operation]
        self._evaluation(function, operation, evaluations)
        kept = self.get_input_type()
        return self._windowed(WindowContents.LIST, None, function, operation, kept, output_type)


class WindowedStream(WindowSettings[T, K], Generic[T, K]):
    """The windows of each key, of type `K`.

    Example:
        >>> keyed = orders.key_by(lambda order: order[0])
        >>> windows = keyed.window(TumblingEventTimeWindows.of(Time.seconds(60)))
        >>> sorted(collect(windows.reduce(lambda a, b: (a[0], a[1] + b[1], b[2]))))
        [('ann', 12, 12000), ('bob', 3, 2000)]
        >>> windows.get_input_type(), windows.get_execution_environment() is env
        (Tuple(String, Integer, Long), True)
    """

    _evaluations = (
        (WindowFunction, "apply", Evaluation.APPLY),
        (ProcessWindowFunction, "process", Evaluation.PROCESS),
    )

    def __init__(
        self, keyed_stream: KeyedStream[T, K], window_assigner: WindowAssigner[Any, Any]
    ) -> None:
        """Assign the records of each key to windows.

        Raises:
            ArgumentError: `window_assigner` is no window assigner.
            GraphError: The stream has no key.
        """
        super().__init__(keyed_stream, window_assigner)
        if not keyed_stream.has_key:
            raise GraphError.here(
                "a WindowedStream was made of a stream without a key",
                hint="Call key_by first, or use window_all.",
            )


class AllWindowedStream(WindowSettings[T, None], Generic[T]):
    """The windows of a whole stream, in a single subtask.

    Example:
        >>> windows = orders.window_all(TumblingEventTimeWindows.of(Time.seconds(10)))
        >>> collect(windows.reduce(lambda a, b: (a[0], a[1] + b[1], b[2])))
        [('ann', 8, 2000), ('ann', 7, 12000)]
        >>> windows.get_input_type(), windows.get_execution_environment() is env
        (Tuple(String, Integer, Long), True)
    """

    _evaluations = (
        (AllWindowFunction, "apply", Evaluation.APPLY_ALL),
        (ProcessAllWindowFunction, "process", Evaluation.PROCESS_ALL),
    )
    _is_of_all = True

    def __init__(
        self, data_stream: DataStream[T], window_assigner: WindowAssigner[Any, Any]
    ) -> None:
        """Assign the records of a whole stream to windows.

        Raises:
            ArgumentError: `window_assigner` is no window assigner.
        """
        super().__init__(data_stream.key_by(_one_key), window_assigner)


def _one_key(_: object) -> int:
    return 0
