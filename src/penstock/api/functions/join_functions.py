"""Function classes of co-groups and joins. Not in PyFlink; as in Flink's Java API."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from penstock.api.functions.context import RuntimeContext
from penstock.api.functions.function_classes import Emitted, Function
from penstock.types.output_tag import OutputTag
from penstock.types.type_parameters import IN1, IN2, OUT

V = TypeVar("V")


class JoinContext(Protocol):
    """The timestamps of a pair, for the function of an interval join."""

    def get_left_timestamp(self) -> int:
        """Return the timestamp of the left record in epoch milliseconds."""

    def get_right_timestamp(self) -> int:
        """Return the timestamp of the right record in epoch milliseconds."""

    def get_timestamp(self) -> int:
        """Return the timestamp of the results: the greater of the two."""

    def output(self, output_tag: OutputTag[V], value: V) -> None:
        """Emit to a side output; the same as to yield `(output_tag, value)`.

        Raises:
            ArgumentError: `output_tag` is no `OutputTag`.
        """


class CoGroupFunction(Function, Generic[IN1, IN2, OUT]):
    """Returns any number of results per key and window of two streams.

    Example:
        >>> class Sizes(CoGroupFunction):
        ...     def co_group(self, first, second):
        ...         yield len(first), len(second)
        >>> by_customer = lambda order: order[0]
        >>> pairs = orders.co_group(orders).where(by_customer).equal_to(by_customer)
        >>> windows = pairs.window(TumblingEventTimeWindows.of(Time.seconds(60)))
        >>> sorted(collect(windows.apply(Sizes())))
        [(1, 1), (2, 2)]
    """

    @abstractmethod
    def co_group(self, first: Iterable[IN1], second: Iterable[IN2]) -> Iterable[OUT] | None:
        """Return or yield the results of a key and window; None is no result.

        Called once per key and window that has a record.

        Args:
            first: The records of the first stream; empty if it has none. Has a length, and can be
                iterated any number of times.
            second: Those of the second.
        """


class JoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Returns one result per pair of records.

    Example:
        >>> class Amounts(JoinFunction):
        ...     def join(self, first, second):
        ...         return first[1], second[1]
        >>> pairs = orders.join(orders).where(lambda o: o[2]).equal_to(lambda o: o[2])
        >>> windows = pairs.window(TumblingEventTimeWindows.of(Time.seconds(60)))
        >>> sorted(collect(windows.apply(Amounts())))
        [(3, 3), (5, 5), (7, 7)]
    """

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> OUT:
        """Return the result for a pair, `first` and `second`; in outer joins one may be None."""


class FlatJoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Returns any number of results per pair of records.

    Example:
        >>> class Larger(FlatJoinFunction):
        ...     def join(self, first, second):
        ...         if first[1] < second[1]:
        ...             yield first[1], second[1]
        >>> pairs = orders.join(orders).where(lambda o: "all").equal_to(lambda o: "all")
        >>> windows = pairs.window(TumblingEventTimeWindows.of(Time.seconds(60)))
        >>> sorted(collect(windows.apply(Larger())))
        [(3, 5), (3, 7), (5, 7)]
    """

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> Iterable[OUT] | None:
        """Return or yield the results for a pair, `first` and `second`; None is no result.

        In outer joins one of the two may be None.
        """


class ProcessJoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Returns any number of results per pair of records, with access to time and side outputs.

    Example:
        >>> class Delay(ProcessJoinFunction):
        ...     def process_element(self, left, right, ctx):
        ...         yield left[0], ctx.get_right_timestamp() - ctx.get_left_timestamp()
        >>> keyed = orders.key_by(lambda order: order[0])
        >>> join = keyed.interval_join(keyed).between(Time.seconds(1), Time.seconds(60))
        >>> collect(join.process(Delay()))
        [('ann', 11000)]
    """

    Context: TypeAlias = JoinContext

    @abstractmethod
    def process_element(self, left: IN1, right: IN2, ctx: Context) -> Iterable[Emitted[OUT]] | None:
        """Return or yield the results for a pair; None is no result.

        Args:
            left: The record of the left stream.
            right: The record of the right stream.
            ctx: The timestamps of both, and `output` for side outputs.
        """


class WrappedJoin(Function):
    """Base of functions of ours that call the user's function of two records."""

    def __init__(self, function: Any, method: str | None) -> None:
        """Wrap a function.

        Args:
            function: The user's function or object.
            method: Its method; None calls it directly.
        """
        self._function = function
        self._method = method

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the function, if it is an object."""
        if self._method is not None:
            self._function.open(runtime_context)

    def close(self) -> None:
        """Close the function, if it is an object."""
        if self._method is not None:
            self._function.close()
