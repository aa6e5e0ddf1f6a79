"""Function classes: user code as objects, with `open` and `close`.

There is one instance per operator and subtask, shared by all keys. `open` is called once before
the first record and `close` once after the last. Instance attributes live as long as the worker
process does; they are not restored after a failure. Values to restore belong in state.

The classes are generic for type checkers: `MapFunction[int, str]` takes ints and returns strings.
A class may also derive from `MapFunction` alone; type checkers then take its records as `Any`.
"""

from __future__ import annotations

import inspect
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeAlias

from penstock.api.functions.context import (
    KeyedProcessContext,
    RuntimeContext,
    UnkeyedProcessContext,
)
from penstock.api.functions.context import (
    OnTimerContext as TimerContext,
)
from penstock.errors import ArgumentError
from penstock.graph.operator_attributes import OperatorAttributes
from penstock.types.batch_forms import FORMS, Form, arrow_form
from penstock.types.output_tag import OutputTag
from penstock.types.type_parameters import ACC, IN, OUT, K, R, T

Emitted: TypeAlias = OUT | tuple[OutputTag, Any]
"""The results of process functions: records, or a tag with a value for a side output."""


class Function(ABC):  # noqa: B024 - as in PyFlink, both methods are optional
    """Base of all function classes.

    Example:
        >>> class Tens(MapFunction):
        ...     def open(self, runtime_context):
        ...         self.factor = 10
        ...     def map(self, value):
        ...         return value * self.factor
        >>> collect(numbers.map(Tens()))
        [10, 20, 30, 40]

        It closes its resources in `close`, and may promise not to use an emitted value again:

        >>> class Sizes(MapFunction):
        ...     def open(self, runtime_context):
        ...         self.log = []
        ...     def map(self, value):
        ...         self.log.append(value)
        ...         return [value]
        ...     def close(self):
        ...         self.log.clear()
        ...     def is_output_value_stored(self):
        ...         return False
        >>> collect(numbers.map(Sizes()))[:2]
        [[1], [2]]

        The planner reads more attributes, each with a default:

        >>> Sizes().get_operator_attributes().is_output_only_after_end_of_stream()
        False
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        """Prepare: open connections, get state. Called once, before any record.

        Args:
            runtime_context: Gives state, metrics, and the index of the subtask.
        """

    def close(self) -> None:
        """Release resources. Called once after the last record or a failure, and not if the process is killed."""

    def is_output_value_stored(self) -> bool:
        """Return whether the function may use a value again that it has emitted (FLIP-329).

        True unless overridden: an object can store values in attributes and in state. False is a
        promise neither to change nor to emit a value again once it was emitted; then the next
        operator gets the object itself and not a copy. Called once, when the job is planned.
        """
        return True

    def get_operator_attributes(self) -> OperatorAttributes:
        """Return the properties that the planner may rely on; called when the job is planned."""
        return OperatorAttributes()


class MapFunction(Function, Generic[IN, OUT]):
    """Returns one result per record.

    Example:
        >>> class Square(MapFunction):
        ...     def map(self, value):
        ...         return value * value
        >>> collect(numbers.map(Square()))
        [1, 4, 9, 16]
    """

    @abstractmethod
    def map(self, value: IN) -> OUT:
        """Return the result for `value`."""


class FlatMapFunction(Function, Generic[IN, OUT]):
    """Returns any number of results per record.

    Example:
        >>> class Repeat(FlatMapFunction):
        ...     def flat_map(self, value):
        ...         for _ in range(value):
        ...             yield value
        >>> collect(numbers.flat_map(Repeat()))
        [1, 2, 2, 3, 3, 3, 4, 4, 4, 4]
    """

    @abstractmethod
    def flat_map(self, value: IN) -> Iterable[OUT]:
        """Return or yield the results for `value`."""


class FilterFunction(Function, Generic[T]):
    """Decides which records remain.

    Example:
        >>> class Even(FilterFunction):
        ...     def filter(self, value):
        ...         return value % 2 == 0
        >>> collect(numbers.filter(Even()))
        [2, 4]
    """

    @abstractmethod
    def filter(self, value: T) -> bool:
        """Return whether `value` remains."""


class ReduceFunction(Function, Generic[T]):
    """Combines two values into one of the same type; must be associative.

    Example:
        >>> class Product(ReduceFunction):
        ...     def reduce(self, value1, value2):
        ...         return value1 * value2
        >>> collect(numbers.key_by(lambda n: "all").reduce(Product()))
        [1, 2, 6, 24]

        A class may declare more properties: then parts may be reduced where the records are.

        >>> class Greatest(ReduceFunction):
        ...     def reduce(self, value1, value2):
        ...         return max(value1, value2)
        ...     def is_associative(self):
        ...         return True
        ...     def is_commutative(self):
        ...         return True
        >>> collect(numbers.window_all(EndOfStreamWindows.get()).reduce(Greatest()))
        [4]
    """

    @abstractmethod
    def reduce(self, value1: T, value2: T) -> T:
        """Return the combination of two values, without changing them.

        Args:
            value1: The aggregate so far.
            value2: A new value.
        """

    def is_associative(self) -> bool:
        """Return whether the planner may rely on the function being associative.

        False unless overridden. True is a promise that `reduce(reduce(a, b), c)` and
        `reduce(a, reduce(b, c))` are equal for any records, to the last digit: sums of floats are
        not. Then a batch run that needs only final results combines the records of a key before
        they are exchanged. Called once, when the job is planned.
        """
        return False

    def is_commutative(self) -> bool:
        """Return whether the planner may rely on the function being commutative.

        False unless overridden. True is a promise that `reduce(a, b)` and `reduce(b, a)` are equal
        for any records of one key. Records with timestamps come from several tasks in any order, so
        a batch run combines them before the exchange only if the function is associative, too.
        """
        return False


class AggregateFunction(Function, Generic[IN, ACC, OUT]):
    """Adds values to an accumulator, from which a result is computed at any time.

    Values and results need not have the accumulator's type. In `AggregatingStateDescriptor` its
    `open` and `close` are not called.

    Example:
        >>> class Mean(AggregateFunction):
        ...     def create_accumulator(self):
        ...         return 0, 0
        ...     def add(self, value, accumulator):
        ...         return accumulator[0] + value, accumulator[1] + 1
        ...     def get_result(self, accumulator):
        ...         return accumulator[0] / accumulator[1]
        ...     def merge(self, acc_a, acc_b):
        ...         return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]
        >>> collect(numbers.window_all(EndOfStreamWindows.get()).aggregate(Mean()))
        [2.5]

        A class may declare that its accumulators may be merged in any order:

        >>> class AnyOrder(Mean):
        ...     def is_associative(self):
        ...         return True
        ...     def is_commutative(self):
        ...         return True
        >>> collect(numbers.window_all(EndOfStreamWindows.get()).aggregate(AnyOrder()))
        [2.5]
    """

    @abstractmethod
    def create_accumulator(self) -> ACC:
        """Return a new accumulator without values; never one returned before."""

    @abstractmethod
    def add(self, value: IN, accumulator: ACC) -> ACC:
        """Return `accumulator` with `value` added; may change and return the one given."""

    @abstractmethod
    def get_result(self, accumulator: ACC) -> OUT:
        """Return the result, without changing `accumulator`."""

    @abstractmethod
    def merge(self, acc_a: ACC, acc_b: ACC) -> ACC:
        """Return one accumulator for the values of both, for windows that merge.

        Args:
            acc_a: An accumulator; may be changed and returned.
            acc_b: Another one.
        """

    def is_associative(self) -> bool:
        """Return whether the planner may add values to several accumulators and merge those.

        False unless overridden. True is a promise that it makes no difference to the results, to
        the last digit, into which accumulators values that follow each other are added before these
        are merged in order. See `ReduceFunction.is_associative`.
        """
        return False

    def is_commutative(self) -> bool:
        """Return whether the order of values, and of accumulators, makes no difference.

        False unless overridden. See `ReduceFunction.is_commutative`.
        """
        return False


class KeySelector(Function, Generic[IN, K]):
    """Extracts the key of a record; must return the same key for the same record.

    Example:
        >>> class Customer(KeySelector):
        ...     def get_key(self, value):
        ...         return value[0]
        >>> sorted(collect(orders.key_by(Customer()).max(1)))
        [('ann', 5, 1000), ('ann', 7, 1000), ('bob', 3, 2000)]
    """

    @abstractmethod
    def get_key(self, value: IN) -> K:
        """Return the key of `value`."""


class Partitioner(Function):
    """Chooses the subtask that receives a record; must choose the same one for the same key.

    Example:
        >>> class ByRemainder(Partitioner):
        ...     def partition(self, key, num_partitions):
        ...         return key % num_partitions
        >>> partitioned = numbers.partition_custom(ByRemainder(), lambda n: n)
        >>> sorted(collect(partitioned.map(lambda n: n + 1).set_parallelism(2)))
        [2, 3, 4, 5]
    """

    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int:
        """Return the index of a subtask, from 0 to `num_partitions` - 1.

        Args:
            key: Result of the key selector for the record.
            num_partitions: Number of subtasks of the next operator.
        """


class ProcessFunction(Function, Generic[IN, OUT]):
    """Returns any number of results per record, with access to time and side outputs.

    Example:
        >>> class WithTime(ProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         yield value[0], ctx.timestamp()
        >>> collect(orders.process(WithTime()))
        [('ann', 1000), ('bob', 2000), ('ann', 12000)]
    """

    Context: TypeAlias = UnkeyedProcessContext

    @abstractmethod
    def process_element(
        self, value: IN, ctx: UnkeyedProcessContext
    ) -> Iterable[Emitted[OUT]] | None:
        """Return or yield the results for a record; None is no result.

        Args:
            value: The record.
            ctx: Its timestamp, and the watermark.
        """


class KeyedProcessFunction(Function, Generic[K, IN, OUT]):
    """Returns any number of results per record, with keyed state, timers and access to time.

    A timer fires once the watermark has reached it. How many later records the function has
    received by then depends on how far the watermark lags. For a result that does not depend on
    that, `on_timer` must use only records at or before the time of the timer.

    Example:
        >>> class Quiet(KeyedProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         ctx.timer_service().register_event_time_timer(ctx.timestamp() + 5_000)
        ...     def on_timer(self, timestamp, ctx):
        ...         yield ctx.get_current_key(), timestamp
        >>> sorted(collect(orders.key_by(lambda order: order[0]).process(Quiet())))
        [('ann', 6000), ('ann', 17000), ('bob', 7000)]
    """

    Context: TypeAlias = KeyedProcessContext
    OnTimerContext: TypeAlias = TimerContext

    @abstractmethod
    def process_element(self, value: IN, ctx: KeyedProcessContext) -> Iterable[Emitted[OUT]] | None:
        """Return or yield the results for a record; None is no result.

        Args:
            value: The record.
            ctx: Its timestamp, the current key, and the timer service.
        """

    def on_timer(self, timestamp: int, ctx: TimerContext) -> Iterable[Emitted[OUT]] | None:
        """Return or yield the results of a timer; called once per key and timestamp.

        Args:
            timestamp: Time of the timer, in epoch milliseconds.
            ctx: The key of the timer, its time domain, and the timer service.
        """
        return None


class MapBatchFunction(Function):
    """Returns one row per row of a batch; for `map_batches`.

    `open` is called once per worker and subtask: load a model there.

    Example:
        >>> class Score(MapBatchFunction):
        ...     def open(self, runtime_context):
        ...         self.weights = np.array([2.0])
        ...     def map_batch(self, batch: dict[str, np.ndarray]):
        ...         return {"score": batch["f1"] * self.weights[0]}
        >>> scores = orders.map_batches(Score(), Types.ROW_NAMED(["score"], [Types.DOUBLE()]))
        >>> collect(scores)
        [Row(score=10.0), Row(score=6.0), Row(score=14.0)]
    """

    @abstractmethod
    def map_batch(self, batch: Any) -> Any:
        """Return as many rows as the batch has, in the same order. It may be a coroutine (`async def`).

        The number of records of a batch depends on the run, so a result must depend on its own row only. After a
        failure of the job it may be called again for the same records.

        Args:
            batch: A `pyarrow.RecordBatch`, or the annotated class: `pandas.DataFrame`, `polars.DataFrame`
                or `dict[str, numpy.ndarray]`. It must not be changed.
        """


class MapGroupFunction(Function):
    """Returns rows for a batch of records of one key; for `map_groups`.

    `open` gets the keyed state. Values that the next batch of the key needs must be in state.

    Example:
        >>> class Running(MapGroupFunction):
        ...     def open(self, runtime_context):
        ...         self.total = runtime_context.get_state(ValueStateDescriptor("total"))
        ...     def map_group(self, batch: dict[str, np.ndarray]):
        ...         totals = (self.total.value() or 0) + np.cumsum(batch["f1"])
        ...         self.total.update(int(totals[-1]))
        ...         return {"who": batch["f0"], "total": totals}
        >>> kind = Types.ROW_NAMED(["who", "total"], [Types.STRING(), Types.LONG()])
        >>> totals = collect(orders.key_by(col.f0).map_groups(Running(), kind))
        >>> [row.total for row in totals if row.who == "ann"]
        [5, 12]
    """

    @abstractmethod
    def map_group(self, batch: Any) -> Any:
        """Return the results for some records of one key.

        The division of the records of a key into batches depends on the run. So the results of two batches, one after
        the other, must be those of one batch that has the records of both.

        Args:
            batch: A `pyarrow.RecordBatch`, or the annotated class: `pandas.DataFrame`, `polars.DataFrame`
                or `dict[str, numpy.ndarray]`. It has at least one row, and must not be changed.
        """


def form_of(function: Callable[..., Any], operation: str) -> Form:
    """Return the form of batches that the annotation of a function requires."""
    annotation = _first_annotation(function)
    if annotation is None or annotation is Any:
        return arrow_form
    form = _form(annotation)
    if form is None:
        raise ArgumentError.here(
            f"{operation} got a function of {annotation!r}",
            hint="Annotate its parameter with pyarrow.RecordBatch, pandas.DataFrame, polars.DataFrame or "
            "dict[str, numpy.ndarray].",
        )
    return form


def _first_annotation(function: Callable[..., Any]) -> Any:
    """Return the annotation of the first parameter, also of a partial function and of an object's `__call__`."""
    try:
        signature = inspect.signature(function, eval_str=True)
    except NameError:  # a name that is imported for type checkers only
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a built-in
        return None
    first = next(iter(signature.parameters.values()), None)
    return None if first is None or first.annotation is first.empty else first.annotation


def _form(annotation: Any) -> Form | None:
    if isinstance(annotation, str):
        last = annotation.partition("[")[0].rpartition(".")[2]
        heads = {"pd": "pandas", "pl": "polars", "pa": "pyarrow"}
        head = annotation.partition(".")[0] if "." in annotation.partition("[")[0] else "builtins"
        return FORMS.get(f"{heads.get(head, head)}.{last}")
    kind = typing.get_origin(annotation) or annotation
    module = getattr(kind, "__module__", "").partition(".")[0]
    return FORMS.get(f"{module}.{getattr(kind, '__name__', '')}")


ToOne: TypeAlias = Callable[[T], R] | MapFunction[T, R]
"""One result per record."""

ToMany: TypeAlias = Callable[[T], Iterable[R]] | FlatMapFunction[T, R]
"""Any number of results per record."""

Predicate: TypeAlias = Callable[[T], object] | FilterFunction[T]
"""True if to keep a record; anything true will do."""

ToKey: TypeAlias = Callable[[T], K] | KeySelector[T, K]
"""The key of a record."""

Combination: TypeAlias = Callable[[T, T], T | tuple[Any, ...] | dict[str, Any]] | ReduceFunction[T]
"""Two records to one; a tuple or a dict may stand for a row."""

ToBatch: TypeAlias = Callable[[Any], Any] | MapBatchFunction
"""Columns of records to columns of results."""

ToGroup: TypeAlias = Callable[[Any], Any] | MapGroupFunction
"""Columns of records of one key to columns of results."""

ToSubtask: TypeAlias = Callable[[K, int], int] | Partitioner
"""(key, number of subtasks) to a subtask."""
