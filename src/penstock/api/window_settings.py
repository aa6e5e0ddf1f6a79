"""What both kinds of windowed stream have: their settings, checked, and the window operation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from penstock.api.functions import AggregateFunction, ReduceFunction
from penstock.api.result_types import result_type
from penstock.api.user_code import checked_type, method_of, name_of
from penstock.api.windows.assigner import MergingWindowAssigner, WindowAssigner
from penstock.api.windows.evictors import Evictor
from penstock.api.windows.global_triggers import EndOfStreamTrigger
from penstock.api.windows.global_windows import END_OF_STREAM, EndOfStreamWindows, GlobalWindows
from penstock.api.windows.sliding import SlidingEventTimeWindows, SlidingProcessingTimeWindows
from penstock.api.windows.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from penstock.api.windows.trigger import Trigger
from penstock.api.windows.tumbling import TumblingEventTimeWindows, TumblingProcessingTimeWindows
from penstock.errors import ArgumentError, CallSite, GraphError
from penstock.types import TypeInformation
from penstock.types.output_tag import OutputTag
from penstock.types.window_spec import Evaluation, Fold, PaneShape, WindowSpec
from penstock.types.windows import GlobalWindow, Window

if TYPE_CHECKING:
    from penstock.api.data_stream import DataStream
    from penstock.api.environment import StreamExecutionEnvironment

_REGULAR: dict[type, type] = {
    TumblingEventTimeWindows: EventTimeTrigger,
    SlidingEventTimeWindows: EventTimeTrigger,
    TumblingProcessingTimeWindows: ProcessingTimeTrigger,
    SlidingProcessingTimeWindows: ProcessingTimeTrigger,
}
"""Assigners of windows at regular distances, to the trigger that lets them be kept in panes."""

_METHODS = {
    Evaluation.NONE: None,
    Evaluation.APPLY: "apply",
    Evaluation.APPLY_ALL: "apply",
    Evaluation.PROCESS: "process",
    Evaluation.PROCESS_ALL: "process",
}


class WindowSettings:
    """Base of `WindowedStream` and `AllWindowedStream`."""

    _evaluations: ClassVar[tuple[tuple[type, str, Evaluation], ...]]
    _settings: ClassVar[dict[str, Any]] = {}

    def __init__(self, stream: DataStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        """Cut a stream into windows.

        Raises:
            ArgumentError: `window_assigner` is none.
        """
        if not isinstance(window_assigner, WindowAssigner):
            raise ArgumentError(
                f"{window_assigner!r} is not a window assigner",
                hint="Pass for example TumblingEventTimeWindows.of(Time.minutes(1)).",
                origin=CallSite.of_caller(),
            )
        self._stream = stream
        self._assigner = window_assigner
        self._trigger: Trigger[Any, Any] | None = None
        self._evictor: Evictor | None = None
        self._lateness = 0
        self._late_tag: OutputTag | None = None

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment the stream belongs to."""
        return self._stream.get_execution_environment()

    def get_input_type(self) -> TypeInformation:
        """Return the type of the records."""
        return self._stream.get_type()

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """Decide otherwise than the assigner does when windows fire.

        Raises:
            ArgumentError: `trigger` is none.
            GraphError: The windows merge and the trigger cannot, or they are
                `EndOfStreamWindows`.
        """
        if not isinstance(trigger, Trigger):
            raise ArgumentError(
                f"{trigger!r} is not a trigger",
                hint="Pass for example CountTrigger.of(10).",
                origin=CallSite.of_caller(),
            )
        if isinstance(self._assigner, EndOfStreamWindows):
            raise GraphError(
                f"EndOfStreamWindows got the trigger {trigger!r}, but fire at the end only",
                hint="Use GlobalWindows.create() with a trigger.",
                origin=CallSite.of_caller(),
            )
        if isinstance(self._assigner, MergingWindowAssigner) and not trigger.can_merge():
            raise GraphError(
                f"{self._assigner!r} merges windows, which the trigger {trigger!r} cannot",
                hint="Use a trigger whose can_merge returns True.",
                origin=CallSite.of_caller(),
            )
        self._trigger = trigger
        return self

    def evictor(self, evictor: Evictor) -> Self:
        """Remove records from windows that fire. All records of a window are kept then.

        Raises:
            ArgumentError: `evictor` is none.
            GraphError: The windows are `EndOfStreamWindows`.
        """
        if not isinstance(evictor, Evictor):
            raise ArgumentError(
                f"{evictor!r} is not an evictor",
                hint="Pass for example CountEvictor.of(10).",
                origin=CallSite.of_caller(),
            )
        if isinstance(self._assigner, EndOfStreamWindows):
            raise GraphError(
                "EndOfStreamWindows got an evictor",
                hint="Use GlobalWindows.create_with_end_of_stream_trigger().",
                origin=CallSite.of_caller(),
            )
        self._evictor = evictor
        return self

    def allowed_lateness(self, time_ms: int) -> Self:
        """Keep windows for a while after their end; every late record fires them again.

        Args:
            time_ms: Milliseconds, from 0.

        Raises:
            ArgumentError: It is no such number.
        """
        if type(time_ms) is not int or time_ms < 0:
            raise ArgumentError(
                f"allowed_lateness got {time_ms!r}",
                hint="Pass milliseconds as an int, 0 or more.",
                origin=CallSite.of_caller(),
            )
        self._lateness = time_ms
        return self

    def side_output_late_data(self, output_tag: OutputTag) -> Self:
        """Send records that are too late for all their windows to a side output.

        Raises:
            ArgumentError: `output_tag` is no `OutputTag`.
        """
        if not isinstance(output_tag, OutputTag):
            raise ArgumentError(
                f"side_output_late_data got {output_tag!r}",
                hint="Pass an OutputTag, and read it with get_side_output of the result.",
                origin=CallSite.of_caller(),
            )
        self._late_tag = output_tag
        return self

    def reduce(
        self,
        reduce_function: Any,
        window_function: Any = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Combine the records of each window, two at a time, as they arrive.

        Args:
            reduce_function: A callable of two values or a `ReduceFunction`; must be
                associative, and for merging and sliding windows commutative.
            window_function: Called with the combination as the only element, if given.
            output_type: Type of the results; by default that of the records, or with a window
                function any object.

        Raises:
            ArgumentError: A function or the type is none.
        """
        method = method_of(reduce_function, ReduceFunction, "reduce", "reduce")
        function = reduce_function if method else _Reducer(reduce_function)
        kept = self.get_input_type()
        out = output_type or (kept if window_function is None else None)
        return self._windowed(Fold.REDUCE, function, window_function, "reduce", kept, out)

    def aggregate(
        self,
        aggregate_function: AggregateFunction,
        window_function: Any = None,
        accumulator_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Fold the records of each window into an accumulator, as they arrive.

        Args:
            aggregate_function: The fold. Its `merge` is used for merging windows, and for
                sliding ones, which share the work between them; a `merge` that raises
                `NotImplementedError`, or returns nothing, costs sliding windows an accumulator
                each.
            window_function: Called with the result as the only element, if given.
            accumulator_type: Type of accumulators; by default any object.
            output_type: Type of the results; by default any object.

        Raises:
            ArgumentError: A function or a type is none.
        """
        method_of(aggregate_function, AggregateFunction, "add", "aggregate", allow_callable=False)
        kept = checked_type(accumulator_type, "aggregate")
        return self._windowed(
            Fold.AGGREGATE, aggregate_function, window_function, "aggregate", kept, output_type
        )

    def apply(self, window_function: Any, output_type: TypeInformation | None = None) -> DataStream:
        """Call a window function with all records of each window.

        Raises:
            ArgumentError: `window_function` is no window function for this stream.
        """
        return self._listed(window_function, "apply", output_type)

    def process(
        self, process_window_function: Any, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Call a process window function with all records of each window.

        Raises:
            ArgumentError: `process_window_function` is none for this stream.
        """
        return self._listed(process_window_function, "process", output_type)

    def _listed(
        self, function: Any, operation: str, output_type: TypeInformation | None
    ) -> DataStream:
        wanted = [e for e in self._evaluations if e[1] == operation]
        self._evaluation(function, operation, wanted)
        kept = self.get_input_type()
        return self._windowed(Fold.LIST, None, function, operation, kept, output_type)

    def _windowed(
        self,
        fold: Fold,
        fold_function: Any,
        function: Any,
        operation: str,
        kept: TypeInformation,
        output_type: TypeInformation | None,
    ) -> DataStream:
        evaluation = Evaluation.NONE
        if function is not None:
            evaluation = self._evaluation(function, operation, list(self._evaluations))
        trigger = self._trigger or self._assigner.get_default_trigger(
            self.get_execution_environment()
        )
        assigner = self._assigner
        spec = WindowSpec(
            assigner=assigner,
            trigger=trigger,
            fold=fold,
            fold_function=fold_function,
            evaluation=evaluation,
            function=function,
            evictor=self._evictor,
            allowed_lateness=self._lateness,
            late_tag=None if self._late_tag is None else self._late_tag.tag_id,
            element_type=self.get_input_type(),
            kept_type=kept,
            panes=None if self._evictor else _panes(assigner, trigger, fold),
            end_of_stream=None if self._evictor else _end_of_stream(assigner, trigger),
            merges_neighbours=getattr(assigner, "merges_neighbours", False),
            is_merging=isinstance(assigner, MergingWindowAssigner),
        )
        user_function = function if function is not None else fold_function
        method = "get_result" if function is None else _METHODS[evaluation]
        return self._stream.window_operator(
            name_of(user_function, operation),
            result_type(user_function, method, operation, output_type),
            spec,
            function=user_function,
            **self._settings,
        )

    def _evaluation(
        self, function: Any, operation: str, wanted: list[tuple[type, str, Evaluation]]
    ) -> Evaluation:
        for base, _, evaluation in wanted:
            if isinstance(function, base):
                return evaluation
        names = " or a ".join(base.__name__ for base, _, _ in wanted)
        forgotten = isinstance(function, type)
        raise ArgumentError(
            f"{operation} of this windowed stream got {function!r}",
            hint=f"Pass {function.__name__}() if it is a {names}."
            if forgotten
            else f"Pass an object of a class derived from a {names}.",
            origin=CallSite.of_caller(),
        )


class _Reducer(ReduceFunction):
    """A callable as a `ReduceFunction`."""

    def __init__(self, function: Any) -> None:
        self.reduce = function  # type: ignore[method-assign]
        self.__name__ = getattr(function, "__name__", "<lambda>")

    def reduce(self, value1: Any, value2: Any) -> Any:
        """Never called: replaced by the callable."""
        raise AssertionError


def _panes(assigner: Any, trigger: Any, fold: Fold) -> PaneShape | None:
    """Return the shape of windows that may be kept in panes.

    Lists are kept so for tumbling windows only, so that elements stay in order of arrival.
    """
    if _REGULAR.get(type(assigner)) is not type(trigger):
        return None
    slide = getattr(assigner, "slide", assigner.size)
    if fold is Fold.LIST and slide != assigner.size:
        return None
    return PaneShape(assigner.size, slide, assigner.offset)


def _end_of_stream(assigner: Any, trigger: Any) -> Window | None:
    if type(trigger) is not EndOfStreamTrigger:
        return None
    windows: dict[type, Window] = {
        EndOfStreamWindows: END_OF_STREAM,
        GlobalWindows: GlobalWindow.get(),
    }
    return windows.get(type(assigner))
