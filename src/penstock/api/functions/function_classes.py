"""Function classes: the object form of user code, with a life cycle.

One instance per operator and subtask, shared by all keys. `open` is called once before the
first record and `close` once after the last. Instance attributes live as long as the worker
process does; they are not restored after a failure. What must survive belongs into state.

The classes are generic for type checkers: `MapFunction[int, str]` takes ints and gives strings. To
derive from `MapFunction` alone is as good; then nothing is known of its records.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeAlias

from penstock.api.functions.context import (
    KeyedProcessContext,
    RuntimeContext,
    UnkeyedProcessContext,
)
from penstock.api.functions.context import (
    OnTimerContext as TimerContext,
)
from penstock.graph.operator_attributes import OperatorAttributes
from penstock.types.output_tag import OutputTag
from penstock.types.type_parameters import ACC, IN, OUT, K, T

Emitted: TypeAlias = OUT | tuple[OutputTag, Any]
"""What process functions yield: results, or a tag with a value for a side output."""


class Function(ABC):  # noqa: B024 - as in PyFlink, both methods are optional
    """Base of all function classes."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Prepare: open connections, get state. Called once, before any record."""

    def close(self) -> None:
        """Clean up. Called once after the last record; not called when the process is killed."""

    def is_output_value_stored(self) -> bool:
        """Return whether the function may use a value again that it has emitted (FLIP-329).

        True unless overridden: an object can keep values in attributes and in state. False is a
        promise neither to change nor to emit a value again once it was emitted; then the next
        operator gets the object itself and not a copy. Asked once, when the job is planned.
        """
        return True

    def get_operator_attributes(self) -> OperatorAttributes:
        """Return what the planner may rely on; called when the job is planned."""
        return OperatorAttributes()


class MapFunction(Function, Generic[IN, OUT]):
    """One result per record."""

    @abstractmethod
    def map(self, value: IN) -> OUT:
        """Return the result for `value`."""


class FlatMapFunction(Function, Generic[IN, OUT]):
    """Any number of results per record."""

    @abstractmethod
    def flat_map(self, value: IN) -> Iterable[OUT]:
        """Return or yield the results for `value`."""


class FilterFunction(Function, Generic[T]):
    """A predicate."""

    @abstractmethod
    def filter(self, value: T) -> bool:
        """Return whether to keep `value`."""


class ReduceFunction(Function, Generic[T]):
    """Combines two values into one of the same type; must be associative."""

    @abstractmethod
    def reduce(self, value1: T, value2: T) -> T:
        """Return the combination of the aggregate so far and a new value."""

    def is_associative(self) -> bool:
        """Return whether the planner may rely on it that the function is associative.

        False unless overridden. True is a promise that `reduce(reduce(a, b), c)` and
        `reduce(a, reduce(b, c))` are equal for any records, to the last digit: sums of floats are
        not. Then a batch run that needs final results only combines the records of a key before
        they are exchanged. Asked once, when the job is planned.
        """
        return False


class AggregateFunction(Function, Generic[IN, ACC, OUT]):
    """Folds values into an accumulator, from which a result is read at any time.

    Values and results need not have the accumulator's type. In `AggregatingStateDescriptor` its
    `open` and `close` are not called.
    """

    @abstractmethod
    def create_accumulator(self) -> ACC:
        """Return a new accumulator, for no values; never one returned before."""

    @abstractmethod
    def add(self, value: IN, accumulator: ACC) -> ACC:
        """Return the accumulator with `value` in it; may change and return the one given."""

    @abstractmethod
    def get_result(self, accumulator: ACC) -> OUT:
        """Return the result, without changing the accumulator."""

    @abstractmethod
    def merge(self, acc_a: ACC, acc_b: ACC) -> ACC:
        """Return one accumulator for the values of both; for windows that merge."""


class KeySelector(Function, Generic[IN, K]):
    """Extracts the key of a record; must give the same key whenever it is asked."""

    @abstractmethod
    def get_key(self, value: IN) -> K:
        """Return the key of `value`."""


class Partitioner(Function):
    """Chooses the subtask that receives a record; must choose the same whenever it is asked."""

    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int:
        """Return the index of a subtask, from 0 to `num_partitions` - 1."""


class ProcessFunction(Function, Generic[IN, OUT]):
    """Any number of results per record, with access to time."""

    Context: TypeAlias = UnkeyedProcessContext

    @abstractmethod
    def process_element(
        self, value: IN, ctx: UnkeyedProcessContext
    ) -> Iterable[Emitted[OUT]] | None:
        """Return or yield the results for `value`; None is no result."""


class KeyedProcessFunction(Function, Generic[K, IN, OUT]):
    """Any number of results per record, with state, timers and access to time.

    A timer fires once the watermark has reached it. How many later records the function has
    seen by then depends on how far the watermark lags, so answer in `on_timer` from what lies
    at or before the timer if the answer must not depend on it.
    """

    Context: TypeAlias = KeyedProcessContext
    OnTimerContext: TypeAlias = TimerContext

    @abstractmethod
    def process_element(self, value: IN, ctx: KeyedProcessContext) -> Iterable[Emitted[OUT]] | None:
        """Return or yield the results for `value`; None is no result."""

    def on_timer(self, timestamp: int, ctx: TimerContext) -> Iterable[Emitted[OUT]] | None:
        """Return or yield the results of a timer; called once per key and timestamp."""
        return None
