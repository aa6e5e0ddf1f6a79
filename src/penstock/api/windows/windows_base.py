"""Shared parts of all operations on windowed streams: the stream, late records, and the operator."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self

from penstock.api.functions.result_types import result_type
from penstock.api.streams.stream_base import key_selector_of, keyed_parts
from penstock.api.user_code import name_of
from penstock.api.windows.assigner import WindowAssigner
from penstock.api.windows.column_aggregates import (
    bounds_function,
    check_bounds,
    checked_aggregates,
    key_columns,
    split_bounds,
)
from penstock.api.windows.time_assigners import RegularAssigner
from penstock.api.windows.window_rules import WindowRules
from penstock.errors import ArgumentError
from penstock.expressions.keyed_aggregate import KeyedAggregate, keyed_aggregate
from penstock.expressions.steps import ExpressionChain
from penstock.expressions.typing import record_type
from penstock.program.fold import NO_PROMISES, Promises
from penstock.program.window_operation import Evaluation, WindowContents
from penstock.types import TypeInformation
from penstock.types.output_tag import OutputTag
from penstock.types.row import Row
from penstock.types.type_parameters import K, T

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


class WindowsBase(WindowRules, Generic[T, K]):
    """Base of `WindowSettings`: the stream, and the operator of its windows."""

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

    def _aggregated_columns(
        self, columns: tuple[Any, ...], named: dict[str, Any]
    ) -> DataStream[Row]:
        """Return aggregates of columns; `columns` are bounds of windows, or None."""
        records = record_type(self.get_input_type(), "aggregate")
        selector = key_selector_of(self._stream)
        keys = () if self._is_of_all else key_columns(selector, records.field_names)
        given = [column for column in columns if column is not None]
        bounds, aggregates = split_bounds(given, named)
        check_bounds(bounds, self._assigner, keys)
        if self._late_tag is not None:
            raise ArgumentError.here(
                "side_output_late_data was called before aggregate of columns, which has no late records",
                hint="Leave it out, or aggregate by an AggregateFunction.",
            )
        chain, function = keyed_aggregate(
            records, keys, checked_aggregates(aggregates, keys), bounds
        )
        if keys:
            selector = itemgetter(*range(len(keys)))
        return self._merged_parts(chain, function, selector, has_bounds=bool(bounds))

    def _merged_parts(
        self, chain: ExpressionChain, function: KeyedAggregate, selector: Any, *, has_bounds: bool
    ) -> DataStream[Row]:
        """Return the results of parts that are merged per key and window."""
        regular = self._assigner.regular if isinstance(self._assigner, RegularAssigner) else None
        add_bounds, evaluation = None, Evaluation.NONE
        if has_bounds and regular is None:
            add_bounds = bounds_function(function, is_of_all=self._is_of_all)
            evaluation = Evaluation.APPLY_ALL if self._is_of_all else Evaluation.APPLY
        spec = self._spec(
            WindowContents.REDUCE,
            evaluation,
            add_bounds,
            function.parts,
            function.parts,
            fold_function=function,
            is_of_all=self._is_of_all,
            results=function.results,
            bounds=regular if has_bounds else None,
        )
        exact = function.exact_because
        return keyed_parts(self._stream, chain, selector).window_operator(
            "aggregate",
            function.results.type_info,
            spec,
            function=function,
            parallelism=1 if self._is_of_all else None,
            promises=Promises(associative=exact, commutative=exact),
        )

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
        self, function: Any, operation: str, evaluations: list[tuple[type, str, Evaluation]]
    ) -> Evaluation:
        for base, _, evaluation in evaluations:
            if isinstance(function, base):
                return evaluation
        names = " or a ".join(base.__name__ for base, _, _ in evaluations)
        forgotten = isinstance(function, type)
        raise ArgumentError.here(
            f"{operation} of this windowed stream got {function!r}",
            hint=f"Pass {function.__name__}() if it is a {names}."
            if forgotten
            else f"Pass an object of a class derived from a {names}.",
        )
