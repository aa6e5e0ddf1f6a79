"""Functions of two streams: of pairs, of groups, and of records of either stream."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from penstock.api.functions.context import (
    BroadcastBaseContext,
    BroadcastContext,
    KeyedBroadcastOnTimerContext,
    KeyedProcessContext,
    KeyedReadOnlyBroadcastContext,
    OnTimerContext,
    ReadOnlyBroadcastContext,
    RuntimeContext,
    UnkeyedProcessContext,
)
from penstock.api.functions.function_classes import Emitted, Function
from penstock.types.output_tag import OutputTag
from penstock.types.type_parameters import IN1, IN2, OUT, K

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
        """Wrap a function."""
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


class CoMapFunction(Function, Generic[IN1, IN2, OUT]):
    """Returns one result per record of either input; None is no result.

    Example:
        >>> class Amounts(CoMapFunction):
        ...     def map1(self, value):
        ...         return value
        ...     def map2(self, value):
        ...         return value[1]
        >>> sorted(collect(numbers.connect(orders).map(Amounts())))
        [1, 2, 3, 3, 4, 5, 7]
    """

    @abstractmethod
    def map1(self, value: IN1) -> OUT | None:
        """Return the result for `value`, a record of the first input."""

    @abstractmethod
    def map2(self, value: IN2) -> OUT | None:
        """Return the result for `value`, a record of the second input."""


class CoFlatMapFunction(Function, Generic[IN1, IN2, OUT]):
    """Returns any number of results per record of either input; None is no result.

    Example:
        >>> class Flat(CoFlatMapFunction):
        ...     def flat_map1(self, value):
        ...         yield value
        ...     def flat_map2(self, value):
        ...         yield from value[1:2]
        >>> sorted(collect(numbers.connect(orders).flat_map(Flat())))
        [1, 2, 3, 3, 4, 5, 7]
    """

    @abstractmethod
    def flat_map1(self, value: IN1) -> Iterable[OUT] | None:
        """Return or yield the results for `value`, a record of the first input."""

    @abstractmethod
    def flat_map2(self, value: IN2) -> Iterable[OUT] | None:
        """Return or yield the results for `value`, a record of the second input."""


class CoProcessFunction(Function, Generic[IN1, IN2, OUT]):
    """Returns any number of results per record of either input, with access to time.

    Example:
        >>> class Sides(CoProcessFunction):
        ...     def process_element1(self, value, ctx):
        ...         yield "number", value
        ...     def process_element2(self, value, ctx):
        ...         yield "order", ctx.timestamp()
        >>> sorted(collect(numbers.connect(orders).process(Sides())))[3:5]
        [('number', 4), ('order', 1000)]
    """

    Context: TypeAlias = UnkeyedProcessContext

    @abstractmethod
    def process_element1(self, value: IN1, ctx: Context) -> Iterable[Emitted[OUT]] | None:
        """Return or yield the results for a record of the first input; None is no result.

        Args:
            value: The record.
            ctx: Its timestamp, and the watermark of both inputs.
        """

    @abstractmethod
    def process_element2(self, value: IN2, ctx: Context) -> Iterable[Emitted[OUT]] | None:
        """Return or yield the results for a record of the second input; None is no result.

        Args:
            value: The record.
            ctx: Its timestamp, and the watermark of both inputs.
        """


class KeyedCoProcessFunction(Function, Generic[K, IN1, IN2, OUT]):
    """Processes two streams of one key, with keyed state and timers shared by both inputs.

    Example:
        >>> class Enrich(KeyedCoProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.city = runtime_context.get_state(ValueStateDescriptor("city"))
        ...     def process_element1(self, value, ctx):
        ...         yield value[1], self.city.value()
        ...     def process_element2(self, value, ctx):
        ...         self.city.update(value[1])
        >>> first = lambda record: record[0]
        >>> with OperatorHarness.of(Enrich(), key_selector=(first, first)) as harness:
        ...     harness.push(("ann", "Oslo"), input=1)
        ...     harness.push(("ann", 5))
        []
        [(5, 'Oslo')]

        A timer is of one key, whichever input registered it:

        >>> class Silent(Enrich):
        ...     def process_element1(self, value, ctx):
        ...         ctx.timer_service().register_event_time_timer(1_000)
        ...     def on_timer(self, timestamp, ctx):
        ...         yield ctx.get_current_key(), self.city.value()
        >>> with OperatorHarness.of(Silent(), key_selector=(first, first)) as harness:
        ...     harness.push_all([("ann", "Oslo")], input=1) + harness.push(("ann", 5))
        ...     harness.advance_watermark(1_000)
        []
        [('ann', 'Oslo')]
    """

    Context: TypeAlias = KeyedProcessContext
    OnTimerContext: TypeAlias = OnTimerContext

    @abstractmethod
    def process_element1(self, value: IN1, ctx: Context) -> Iterable[Emitted[OUT]] | None:
        """Return or yield the results for a record of the first input; None is no result.

        Args:
            value: The record.
            ctx: Its timestamp, the current key, and the timer service.
        """

    @abstractmethod
    def process_element2(self, value: IN2, ctx: Context) -> Iterable[Emitted[OUT]] | None:
        """Return or yield the results for a record of the second input; None is no result.

        Args:
            value: The record.
            ctx: Its timestamp, the current key, and the timer service.
        """

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Emitted[OUT]] | None:
        """Return or yield the results of a timer; called once per key and timestamp.

        Args:
            timestamp: Time of the timer, in epoch milliseconds.
            ctx: The key of the timer, its time domain, and the timer service.
        """


class BaseBroadcastProcessFunction(Function, Generic[IN1, IN2, OUT]):
    """Base of the functions on a broadcast connected stream."""

    BaseContext: TypeAlias = BroadcastBaseContext
    Context: TypeAlias = BroadcastContext
    ReadOnlyContext: TypeAlias = ReadOnlyBroadcastContext

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: Any) -> Iterable[Emitted[OUT]] | None:
        """Return or yield the results for a broadcast element; may change broadcast state.

        Every subtask is called with every element. State is equal in all subtasks only if the
        function makes the same changes for the same element.

        Args:
            value: The element.
            ctx: Its timestamp, the watermark, and `get_broadcast_state(descriptor)`.
        """


class BroadcastProcessFunction(BaseBroadcastProcessFunction[IN1, IN2, OUT]):
    """Processes a stream without a key, connected with a broadcast stream.

    Example:
        >>> LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.INT())
        >>> class Limited(BroadcastProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         if value <= (ctx.get_broadcast_state(LIMITS).get("max") or 0):
        ...             yield value
        ...     def process_broadcast_element(self, value, ctx):
        ...         ctx.get_broadcast_state(LIMITS).put(*value)
        >>> with OperatorHarness.of(Limited(), broadcast_states=[LIMITS]) as harness:
        ...     harness.push(("max", 3), input=1)
        ...     harness.push_all([2, 5])
        []
        [2]
    """

    @abstractmethod
    def process_element(self, value: IN1, ctx: Any) -> Iterable[Emitted[OUT]] | None:
        """Return or yield the results for a record; may read broadcast state.

        Args:
            value: The record.
            ctx: Its timestamp, the watermark, and `get_broadcast_state(descriptor)`.
        """


class KeyedBroadcastProcessFunction(
    BaseBroadcastProcessFunction[IN1, IN2, OUT], Generic[K, IN1, IN2, OUT]
):
    """Processes a stream with a key, connected with a broadcast stream; keyed state and timers.

    Example:
        >>> LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.INT())
        >>> class Limited(KeyedBroadcastProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         if value[1] <= (ctx.get_broadcast_state(LIMITS).get(value[0]) or 0):
        ...             yield value
        ...     def process_broadcast_element(self, value, ctx):
        ...         ctx.get_broadcast_state(LIMITS).put(*value)
        >>> with OperatorHarness.of(
        ...     Limited(), key_selector=lambda order: order[0], broadcast_states=[LIMITS]
        ... ) as harness:
        ...     harness.push(("ann", 6), input=1)
        ...     harness.push_all([("ann", 5), ("ann", 7)])
        []
        [('ann', 5)]

        A timer sees the broadcast state as it is when it fires:

        >>> class Waiting(Limited):
        ...     def process_element(self, value, ctx):
        ...         ctx.timer_service().register_event_time_timer(1_000)
        ...     def on_timer(self, timestamp, ctx):
        ...         key = ctx.get_current_key()
        ...         yield key, ctx.get_broadcast_state(LIMITS).get(key)
        >>> with OperatorHarness.of(
        ...     Waiting(), key_selector=lambda order: order[0], broadcast_states=[LIMITS]
        ... ) as harness:
        ...     harness.push(("ann", 5)) + harness.push(("ann", 6), input=1)
        ...     harness.advance_watermark(1_000)
        []
        [('ann', 6)]
    """

    ReadOnlyContext: TypeAlias = KeyedReadOnlyBroadcastContext
    OnTimerContext: TypeAlias = KeyedBroadcastOnTimerContext

    @abstractmethod
    def process_element(self, value: IN1, ctx: Any) -> Iterable[Emitted[OUT]] | None:
        """Return or yield the results for a record; may read broadcast state.

        Args:
            value: The record.
            ctx: Its timestamp, the current key, the timer service, and broadcast state.
        """

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Emitted[OUT]] | None:
        """Return or yield the results of a timer; called once per key and timestamp.

        Args:
            timestamp: Time of the timer, in epoch milliseconds.
            ctx: The key of the timer, its time domain, and broadcast state to read.
        """
