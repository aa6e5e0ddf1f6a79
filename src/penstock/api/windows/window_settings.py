"""Operations on windowed streams, with and without a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, overload

from penstock.api.functions.callables import Combination
from penstock.api.functions.function_classes import AggregateFunction, ReduceFunction
from penstock.api.functions.result_types import result_type
from penstock.api.user_code import checked_type, method_of, name_of, promises_of
from penstock.api.windows.assigner import WindowAssigner
from penstock.api.windows.reducer import as_reduce_function
from penstock.api.windows.window_functions import AppliedToWindows, ProcessesWindows, WindowCallee
from penstock.api.windows.window_rules import WindowRules
from penstock.errors import ArgumentError
from penstock.program.folding.fold import NO_PROMISES, Promises
from penstock.program.window_operation import Evaluation, WindowContents
from penstock.types import TypeInformation
from penstock.types.output_tag import OutputTag
from penstock.types.type_parameters import ACC, K, R, T, V

if TYPE_CHECKING:
    from penstock.api.environment.environment import StreamExecutionEnvironment
    from penstock.api.streams.data_stream import DataStream

_METHODS = {
    Evaluation.NONE: None,
    Evaluation.APPLY: "apply",
    Evaluation.APPLY_ALL: "apply",
    Evaluation.PROCESS: "process",
    Evaluation.PROCESS_ALL: "process",
}


class WindowSettings(WindowRules, Generic[T, K]):
    """Base of `WindowedStream` and `AllWindowedStream`, which has None for `K`."""

    _evaluations: ClassVar[tuple[tuple[type, str, Evaluation], ...]]
    _is_of_all: ClassVar[bool] = False

    def __init__(self, stream: DataStream[T], window_assigner: WindowAssigner[Any, Any]) -> None:
        """Assign the records of a stream to windows.

        Raises:
            ArgumentError: `window_assigner` is no window assigner.
        """
        super().__init__(window_assigner)
        self._stream = stream
        self._late_tag: OutputTag | None = None

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment the stream belongs to."""
        return self._stream.get_execution_environment()

    def get_input_type(self) -> TypeInformation:
        """Return the type of the records."""
        return self._stream.get_type()

    def side_output_late_data(self, output_tag: OutputTag[T]) -> Self:
        """Send records that are late for all their windows to a side output; else they are dropped.

        Args:
            output_tag: Tag of the side output; read it with `get_side_output` of the result.

        Returns:
            These windows.

        Raises:
            ArgumentError: `output_tag` is no `OutputTag`.

        Example:
            >>> late = OutputTag("late", orders.get_type())
            >>> windows = orders.window_all(TumblingEventTimeWindows.of(Time.seconds(60)))
            >>> largest = windows.side_output_late_data(late).reduce(max)
            >>> collect(largest.get_side_output(late))
            []
        """
        if not isinstance(output_tag, OutputTag):
            raise ArgumentError.here(
                f"side_output_late_data got {output_tag!r}",
                hint="Pass an OutputTag, and read it with get_side_output of the result.",
            )
        self._late_tag = output_tag
        return self

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

    def aggregate(
        self,
        aggregate_function: Any,
        window_function: Any = None,
        accumulator_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream[Any]:
        """Aggregate the records of each window in an accumulator, as they arrive.

        Args:
            aggregate_function: Its `merge` is used for merging windows, and for sliding ones, which
                share accumulators of parts of a window; a `merge` that raises
                `NotImplementedError`, or returns nothing, costs sliding windows an accumulator
                each.
            window_function: Called with the result as the only element, if given.
            accumulator_type: Type of accumulators; by default any object.
            output_type: Type of the results; by default any object.

        Returns:
            One result per key and window, with the timestamp `window.max_timestamp()`; or the
            results of the window function.

        Raises:
            ArgumentError: A function or a type is none.

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
        wanted = [e for e in self._evaluations if e[1] == operation]
        self._evaluation(function, operation, wanted)
        kept = self.get_input_type()
        return self._windowed(WindowContents.LIST, None, function, operation, kept, output_type)

    def _windowed(
        self,
        contents: WindowContents,
        fold_function: Any,
        function: Any,
        operation: str,
        kept: TypeInformation,
        output_type: TypeInformation | None,
        promises: Promises = NO_PROMISES,
    ) -> DataStream[Any]:
        evaluation = Evaluation.NONE
        if function is not None:
            evaluation = self._evaluation(function, operation, list(self._evaluations))
        spec = self._spec(
            contents,
            evaluation,
            function,
            self.get_input_type(),
            kept,
            fold_function=fold_function,
            late_tag=None if self._late_tag is None else self._late_tag.tag_id,
            is_of_all=self._is_of_all,
        )
        user_function = function if function is not None else fold_function
        method = "get_result" if function is None else _METHODS[evaluation]
        return self._stream.window_operator(
            name_of(user_function, operation),
            result_type(user_function, method, operation, output_type),
            spec,
            function=user_function,
            parallelism=1 if self._is_of_all else None,
            promises=promises,
        )

    def _evaluation(
        self, function: Any, operation: str, wanted: list[tuple[type, str, Evaluation]]
    ) -> Evaluation:
        for base, _, evaluation in wanted:
            if isinstance(function, base):
                return evaluation
        names = " or a ".join(base.__name__ for base, _, _ in wanted)
        forgotten = isinstance(function, type)
        raise ArgumentError.here(
            f"{operation} of this windowed stream got {function!r}",
            hint=f"Pass {function.__name__}() if it is a {names}."
            if forgotten
            else f"Pass an object of a class derived from a {names}.",
        )
