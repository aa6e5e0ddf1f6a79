"""State handles as functions use them, with PyFlink's names. Implemented in `penstock.state`.

All methods of keyed state are about the current key: that of the record or timer being
processed. A value read is the stored object, not a copy. Write it back after changing it, or
the change is lost at the next restart, at the latest.

A missing value reads as None. The annotations do not show that, as PyFlink's do not, so that
programs written for it type-check unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol, TypeVar

T = TypeVar("T")
IN_contra = TypeVar("IN_contra", contravariant=True)
OUT_co = TypeVar("OUT_co", covariant=True)
K = TypeVar("K")
V = TypeVar("V")


class State(Protocol):
    """Base of every state.

    Example:
        >>> class EverySecond(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.INT()))
        ...     def process_element(self, value, ctx):
        ...         if self.last.value() is None:
        ...             self.last.update(value)
        ...         else:
        ...             yield self.last.value(), value
        ...             self.last.clear()
        >>> collect(numbers.key_by(lambda n: "all").process(EverySecond()))
        [(1, 2), (3, 4)]
    """

    def clear(self) -> None:
        """Remove the stored values of the current key."""


class ValueState(State, Protocol[T]):
    """One value per key.

    Example:
        >>> class Last(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.INT()))
        ...     def process_element(self, value, ctx):
        ...         yield self.last.value()
        ...         self.last.update(value)
        >>> collect(numbers.key_by(lambda n: "all").process(Last()))
        [None, 1, 2, 3]
    """

    def value(self) -> T:
        """Return the value, None if there is none."""

    def update(self, value: T | None) -> None:
        """Set the value to `value`; None removes it."""


class AppendingState(State, Protocol[IN_contra, OUT_co]):
    """Base of states to which values are added and from which a result is read.

    Example:
        >>> class Sums(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         sum_of = ReducingStateDescriptor("sum", lambda a, b: a + b, Types.INT())
        ...         self.sum = runtime_context.get_reducing_state(sum_of)
        ...     def process_element(self, value, ctx):
        ...         self.sum.add(value)
        ...         yield self.sum.get()
        >>> collect(numbers.key_by(lambda n: "all").process(Sums()))
        [1, 3, 6, 10]
    """

    def get(self) -> OUT_co:
        """Return the result of the values added."""

    def add(self, value: IN_contra) -> None:
        """Add `value`."""


class MergingState(AppendingState[IN_contra, OUT_co], Protocol[IN_contra, OUT_co]):
    """An appending state of which two can be merged, as session windows are."""


class ReducingState(MergingState[T, T], Protocol[T]):
    """One value per key, combined with each value added; `get` is None before the first.

    Example:
        >>> DESCRIPTOR = ReducingStateDescriptor("sum", lambda a, b: a + b, Types.INT())
        >>> class Total(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.total = runtime_context.get_reducing_state(DESCRIPTOR)
        ...     def process_element(self, value, ctx):
        ...         self.total.add(value)
        ...         yield self.total.get()
        >>> collect(numbers.key_by(lambda n: "all").process(Total()))
        [1, 3, 6, 10]
    """


class AggregatingState(MergingState[IN_contra, OUT_co], Protocol[IN_contra, OUT_co]):
    """The result of an `AggregateFunction` over the values added; None before the first.

    Example:
        >>> class Count(AggregateFunction):
        ...     def create_accumulator(self):
        ...         return 0
        ...     def add(self, value, accumulator):
        ...         return accumulator + 1
        ...     def get_result(self, accumulator):
        ...         return f"{accumulator} values"
        ...     def merge(self, acc_a, acc_b):
        ...         return acc_a + acc_b
        >>> DESCRIPTOR = AggregatingStateDescriptor("count", Count(), Types.INT())
        >>> class Counting(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.count = runtime_context.get_aggregating_state(DESCRIPTOR)
        ...     def process_element(self, value, ctx):
        ...         self.count.add(value)
        ...         yield self.count.get()
        >>> collect(numbers.key_by(lambda n: "all").process(Counting()))[-1]
        '4 values'
    """


class ListState(MergingState[T, list[T]], Protocol[T]):
    """A list per key. `get` returns a copy, empty if there are no elements.

    The cost of adding does not depend on the length of the list.

    Example:
        >>> class Collected(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.seen = runtime_context.get_list_state(ListStateDescriptor("seen"))
        ...     def process_element(self, value, ctx):
        ...         self.seen.add(value)
        ...         yield self.seen.get()
        >>> collect(numbers.key_by(lambda n: "all").process(Collected()))[-1]
        [1, 2, 3, 4]
        >>> class Twice(Collected):
        ...     def process_element(self, value, ctx):
        ...         self.seen.add_all([value, value])
        ...         yield len(self.seen.get())
        >>> collect(numbers.key_by(lambda n: "all").process(Twice()))
        [2, 4, 6, 8]
    """

    def add_all(self, values: Iterable[T]) -> None:
        """Append `values`."""

    def update(self, values: Iterable[T]) -> None:
        """Replace all elements by `values`."""

    def __iter__(self) -> Iterator[T]: ...


class ReadOnlyBroadcastState(Protocol[K, V]):
    """The pairs of a broadcast state, for functions that may not change them.

    Example:
        >>> LIMITS = MapStateDescriptor("limits")
        >>> class Limited(BroadcastProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         yield value, "max" in ctx.get_broadcast_state(LIMITS)
        ...     def process_broadcast_element(self, value, ctx):
        ...         ctx.get_broadcast_state(LIMITS).put(*value)
        >>> with OperatorHarness.of(Limited(), broadcast_states=[LIMITS]) as harness:
        ...     harness.push(2)
        [(2, False)]
        >>> class Shown(Limited):
        ...     def process_element(self, value, ctx):
        ...         limits = ctx.get_broadcast_state(LIMITS)
        ...         yield limits.is_empty(), limits.contains("max"), limits.get("max")
        ...         yield limits.keys(), limits.values(), limits.items()
        >>> with OperatorHarness.of(Shown(), broadcast_states=[LIMITS]) as harness:
        ...     emitted = harness.push(("max", 3), input=1)
        ...     harness.push(2)
        [(False, True, 3), (['max'], [3], [('max', 3)])]
    """

    def get(self, key: K) -> V:
        """Return the value at `key`, None if there is none."""

    def contains(self, key: K) -> bool:
        """Return whether there is a pair at `key`."""

    def items(self) -> list[tuple[K, V]]:
        """Return all pairs, as they are now; their order is not defined."""

    def keys(self) -> list[K]:
        """Return the keys of all pairs."""

    def values(self) -> list[V]:
        """Return the values of all pairs."""

    def is_empty(self) -> bool:
        """Return whether there is no pair."""

    def __getitem__(self, key: K) -> V: ...

    def __contains__(self, key: K) -> bool: ...

    def __iter__(self) -> Iterator[K]: ...


class BroadcastState(ReadOnlyBroadcastState[K, V], State, Protocol[K, V]):
    """Pairs that are equal in every subtask of an operator and do not belong to a key.

    Example:
        >>> LIMITS = MapStateDescriptor("limits")
        >>> class Limited(BroadcastProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         pass
        ...     def process_broadcast_element(self, value, ctx):
        ...         ctx.get_broadcast_state(LIMITS).put(*value)
        >>> with OperatorHarness.of(Limited(), broadcast_states=[LIMITS]) as harness:
        ...     emitted = harness.push(("max", 3), input=1)
        ...     harness.broadcast_state(LIMITS)
        {'max': 3}
        >>> class Replaced(Limited):
        ...     def process_broadcast_element(self, value, ctx):
        ...         limits = ctx.get_broadcast_state(LIMITS)
        ...         limits.put_all(value)
        ...         limits.remove("old")
        >>> with OperatorHarness.of(Replaced(), broadcast_states=[LIMITS]) as harness:
        ...     emitted = harness.push({"max": 3, "old": 2}, input=1)
        ...     harness.broadcast_state(LIMITS)
        {'max': 3}
    """

    def put(self, key: K, value: V) -> None:
        """Set the value at `key` to `value`; None is a value."""

    def put_all(self, dict_value: Mapping[K, V]) -> None:
        """Set the pairs of `dict_value`."""

    def remove(self, key: K) -> None:
        """Remove the pair at `key`, if there is one."""

    def __setitem__(self, key: K, value: V) -> None: ...

    def __delitem__(self, key: K) -> None: ...


class MapState(BroadcastState[K, V], Protocol[K, V]):
    """Pairs per key. The cost of one pair does not depend on how many there are.

    Example:
        >>> class PerAmount(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.counts = runtime_context.get_map_state(MapStateDescriptor("counts"))
        ...     def process_element(self, value, ctx):
        ...         self.counts.put(value[1], (self.counts.get(value[1]) or 0) + 1)
        ...         yield sorted(self.counts.items())
        >>> max(collect(orders.key_by(lambda order: order[0]).process(PerAmount())), key=len)
        [(5, 1), (7, 1)]
    """
