"""Connected streams: two streams, or a stream and a broadcast one, that share an operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, overload

from penstock.api.functions.function_classes import KeySelector, ToKey
from penstock.api.functions.result_types import result_type
from penstock.api.functions.stream_operators import (
    StreamOperatorFactory,
    TwoInputStreamOperator,
    creating_method,
)
from penstock.api.functions.two_input_functions import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
)
from penstock.api.state.descriptors import MapStateDescriptor
from penstock.api.streams.stream_base import check_one_environment
from penstock.api.user_code import checked_label, checked_type, method_of, name_of
from penstock.errors import GraphError
from penstock.program.operator_kind import OperatorKind
from penstock.program.operators import (
    BROADCAST_PROCESS,
    CO_CUSTOM,
    CO_FLAT_MAP,
    CO_MAP,
    CO_PROCESS,
    KEYED_BROADCAST_PROCESS,
    KEYED_CO_CUSTOM,
    KEYED_CO_FLAT_MAP,
    KEYED_CO_MAP,
    KEYED_CO_PROCESS,
)
from penstock.types import TypeInformation
from penstock.types.type_parameters import T1, T2, K, R, T

if TYPE_CHECKING:
    from penstock.api.streams.data_stream import DataStream


class BroadcastStream(Generic[T]):
    """A stream sent to every subtask, and the descriptors of the states that store it.

    Example:
        >>> limits = env.from_collection([("max", 3)])
        >>> broadcast = limits.broadcast(MapStateDescriptor("limits"))
        >>> [descriptor.get_name() for descriptor in broadcast.broadcast_state_descriptors]
        ['limits']
    """

    def __init__(
        self,
        input_stream: DataStream[T],
        broadcast_state_descriptors: MapStateDescriptor | Sequence[MapStateDescriptor],
    ) -> None:
        self.input_stream = input_stream
        self.broadcast_state_descriptors = _several(broadcast_state_descriptors)


class BroadcastConnectedStream(Generic[T1, T2]):
    """A stream, with or without a key, connected with a broadcast stream.

    Example:
        >>> LIMITS = MapStateDescriptor("limits")
        >>> connected = numbers.connect(env.from_collection([1]).broadcast(LIMITS))
        >>> type(connected).__name__
        'BroadcastConnectedStream'
    """

    def __init__(
        self,
        non_broadcast_stream: DataStream[T1],
        broadcast_stream: BroadcastStream[T2],
        broadcast_state_descriptors: MapStateDescriptor | Sequence[MapStateDescriptor],
    ) -> None:
        self.non_broadcast_stream = non_broadcast_stream
        self.broadcast_stream = broadcast_stream
        self.broadcast_state_descriptors = _several(broadcast_state_descriptors)

    @overload
    def process(
        self,
        func: BroadcastProcessFunction[T1, T2, R] | KeyedBroadcastProcessFunction[Any, T1, T2, R],
        output_type: None = None,
    ) -> DataStream[R]: ...

    @overload
    def process(
        self,
        func: BroadcastProcessFunction[T1, T2, Any]
        | KeyedBroadcastProcessFunction[Any, T1, T2, Any],
        output_type: TypeInformation[R],
    ) -> DataStream[R]: ...

    def process(self, func: Any, output_type: TypeInformation | None = None) -> DataStream[Any]:
        """Process both streams; the broadcast elements reach every subtask.

        Records and broadcast elements have no order: a record may arrive before an element that
        was written earlier.

        Args:
            func: A `BroadcastProcessFunction`, or a `KeyedBroadcastProcessFunction` if the stream
                that is not broadcast has a key.
            output_type: Type the results are converted to; None leaves them as they are.

        Returns:
            The results of both streams, without a key.

        Raises:
            ArgumentError: `func` is no such function, or `output_type` is no type.

        Example:
            >>> class Both(BroadcastProcessFunction):
            ...     def process_element(self, value, ctx):
            ...         yield value
            ...     def process_broadcast_element(self, value, ctx):
            ...         yield -value
            >>> negative = env.from_collection([9]).broadcast(MapStateDescriptor("limits"))
            >>> sorted(collect(numbers.connect(negative).process(Both())))
            [-9, 1, 2, 3, 4]
        """
        keyed = self.non_broadcast_stream.has_key
        base, other = (
            (KeyedBroadcastProcessFunction, BroadcastProcessFunction)
            if keyed
            else (BroadcastProcessFunction, KeyedBroadcastProcessFunction)
        )
        hint = (
            "Derive it from KeyedBroadcastProcessFunction: the stream has a key."
            if keyed
            else "Call key_by on the stream that is not broadcast: this function needs a key."
        )
        method = method_of(
            func, base, "process_element", "process", allow_callable=False, hints={other: hint}
        )
        kind = KEYED_BROADCAST_PROCESS if keyed else BROADCAST_PROCESS
        descriptors = self.broadcast_state_descriptors
        return self.non_broadcast_stream.join_with(
            self.broadcast_stream.input_stream,
            kind,
            name_of(func, "process"),
            result_type(func, method, "process", output_type),
            function=func,
            method=method,
            broadcast_states=tuple(descriptor.get_name() for descriptor in descriptors),
        )


def _several(
    descriptors: MapStateDescriptor | Sequence[MapStateDescriptor],
) -> tuple[MapStateDescriptor, ...]:
    return (descriptors,) if isinstance(descriptors, MapStateDescriptor) else tuple(descriptors)


class ConnectedStreams(Generic[T1, T2]):
    """Two streams, of types that may differ, read by one function with a method for each.

    Records of different streams have no order. If both streams have a key, keyed state and
    timers belong to the key, whichever stream a record is of.

    Example:
        >>> class Amounts(CoMapFunction):
        ...     def map1(self, value):
        ...         return value
        ...     def map2(self, value):
        ...         return value[1]
        >>> sorted(collect(numbers.connect(orders).map(Amounts(), Types.INT())))
        [1, 2, 3, 3, 4, 5, 7]
    """

    def __init__(self, stream1: DataStream[T1], stream2: DataStream[T2]) -> None:
        """Connect two streams.

        Raises:
            GraphError: They belong to different environments.
        """
        check_one_environment(stream1, stream2)
        self.stream1 = stream1
        self.stream2 = stream2

    def key_by(
        self,
        key_selector1: ToKey[T1, K],
        key_selector2: ToKey[T2, K],
        key_type: TypeInformation | None = None,
    ) -> ConnectedStreams[T1, T2]:
        """Partition both streams by key; equal keys of both are processed by the same subtask.

        Args:
            key_selector1: Key of the records of the first stream: a callable or `KeySelector`.
            key_selector2: Key of the records of the second.
            key_type: As in `DataStream.key_by`, for both.

        Returns:
            Both streams with their keys.

        Raises:
            ArgumentError: A selector is neither a callable nor a `KeySelector`.

        Example:
            >>> class CountBoth(KeyedCoProcessFunction):
            ...     def open(self, runtime_context):
            ...         self.n = runtime_context.get_state(ValueStateDescriptor("n", Types.INT()))
            ...     def process_element1(self, value, ctx):
            ...         self.n.update((self.n.value() or 0) + 1)
            ...         yield ctx.get_current_key(), self.n.value()
            ...     process_element2 = process_element1
            >>> even = lambda n: n % 2 == 0
            >>> keyed = numbers.connect(numbers).key_by(even, even)
            >>> max(collect(keyed.process(CountBoth())))
            (True, 4)
        """
        method_of(key_selector1, KeySelector, "get_key", "key_by")
        return ConnectedStreams(
            self.stream1.key_by(key_selector1, key_type),
            self.stream2.key_by(key_selector2, key_type),
        )

    @overload
    def map(self, func: CoMapFunction[T1, T2, R], output_type: None = None) -> DataStream[R]: ...

    @overload
    def map(
        self, func: CoMapFunction[T1, T2, Any], output_type: TypeInformation[R]
    ) -> DataStream[R]: ...

    def map(self, func: Any, output_type: TypeInformation | None = None) -> DataStream[Any]:
        """Replace each record by the result of `map1` or `map2`; None is no result.

        Args:
            func: A `CoMapFunction`.
            output_type: Type the results are converted to; None leaves them as they are.

        Returns:
            The results of both streams, without a key.

        Raises:
            ArgumentError: `func` is not a `CoMapFunction`, or `output_type` is no type.

        Example:
            >>> class Amounts(CoMapFunction):
            ...     def map1(self, value):
            ...         return value
            ...     def map2(self, value):
            ...         return value[1]
            >>> sorted(collect(numbers.connect(orders).map(Amounts())))
            [1, 2, 3, 3, 4, 5, 7]
        """
        method = method_of(func, CoMapFunction, "map1", "map", allow_callable=False)
        kind = KEYED_CO_MAP if self._has_key() else CO_MAP
        return self._apply(kind, func, method, output_type)

    @overload
    def flat_map(
        self, func: CoFlatMapFunction[T1, T2, R], output_type: None = None
    ) -> DataStream[R]: ...

    @overload
    def flat_map(
        self, func: CoFlatMapFunction[T1, T2, Any], output_type: TypeInformation[R]
    ) -> DataStream[R]: ...

    def flat_map(self, func: Any, output_type: TypeInformation | None = None) -> DataStream[Any]:
        """Return the records that `flat_map1` and `flat_map2` of a `CoFlatMapFunction`, `func`, return or yield.

        Otherwise as `map`: `output_type` is the type the results are converted to.

        Example:
            >>> class Flat(CoFlatMapFunction):
            ...     def flat_map1(self, value):
            ...         yield value
            ...     def flat_map2(self, value):
            ...         yield from value[1:]
            >>> sorted(collect(numbers.connect(orders).flat_map(Flat())))[:6]
            [1, 2, 3, 3, 4, 5]
        """
        method = method_of(func, CoFlatMapFunction, "flat_map1", "flat_map", allow_callable=False)
        kind = KEYED_CO_FLAT_MAP if self._has_key() else CO_FLAT_MAP
        return self._apply(kind, func, method, output_type)

    @overload
    def process(
        self,
        func: CoProcessFunction[T1, T2, R] | KeyedCoProcessFunction[Any, T1, T2, R],
        output_type: None = None,
    ) -> DataStream[R]: ...

    @overload
    def process(
        self,
        func: CoProcessFunction[T1, T2, Any] | KeyedCoProcessFunction[Any, T1, T2, Any],
        output_type: TypeInformation[R],
    ) -> DataStream[R]: ...

    def process(self, func: Any, output_type: TypeInformation | None = None) -> DataStream[Any]:
        """Process each record with access to time, and with a key also to state and timers.

        Args:
            func: A `CoProcessFunction`, or a `KeyedCoProcessFunction` if both streams have a key.
            output_type: Type the results are converted to; None leaves them as they are.

        Returns:
            The results of both streams, without a key.

        Raises:
            ArgumentError: `func` is no such function, or `output_type` is no type.
            GraphError: Only one of the streams has a key.

        Example:
            >>> class Sides(CoProcessFunction):
            ...     def process_element1(self, value, ctx):
            ...         yield "number", value
            ...     def process_element2(self, value, ctx):
            ...         yield "order", ctx.timestamp()
            >>> sorted(collect(numbers.connect(orders).process(Sides())))[3:5]
            [('number', 4), ('order', 1000)]
        """
        keyed = self._has_key()
        base, other = (
            (KeyedCoProcessFunction, CoProcessFunction)
            if keyed
            else (CoProcessFunction, KeyedCoProcessFunction)
        )
        hint = (
            "Derive it from KeyedCoProcessFunction: these streams have a key."
            if keyed
            else "Call key_by before process: this function needs a key."
        )
        method = method_of(
            func, base, "process_element1", "process", allow_callable=False, hints={other: hint}
        )
        kind = KEYED_CO_PROCESS if keyed else CO_PROCESS
        return self._apply(kind, func, method, output_type)

    def transform(
        self,
        operator_name: str,
        type_info: TypeInformation[R] | None,
        operator: TwoInputStreamOperator[T1, T2, R] | StreamOperatorFactory[R],
    ) -> DataStream[R]:
        """Process both streams with an operator of your own, which also sees watermarks.

        Args:
            operator_name: Name of the operator in plans and messages.
            type_info: Type the results are converted to; None leaves them as they are.
            operator: An operator, or a factory of operators. With a key it may use keyed state and
                timers, shared by both inputs.

        Returns:
            The output of the operator, without a key.

        Raises:
            ArgumentError: `operator` is no `TwoInputStreamOperator` and no factory, or another
                argument is wrong.
            GraphError: Only one of the streams has a key.

        Example:
            >>> class Merge(TwoInputStreamOperator):
            ...     def process_element1(self, value, ctx):
            ...         self.output.collect(value)
            ...     def process_element2(self, value, ctx):
            ...         self.output.collect(-value)
            >>> merged = numbers.connect(numbers).transform("merge", Types.INT(), Merge())
            >>> sorted(collect(merged))
            [-4, -3, -2, -1, 1, 2, 3, 4]
        """
        method = creating_method(operator, TwoInputStreamOperator, "process_element1")
        return self.stream1.join_with(
            self.stream2,
            KEYED_CO_CUSTOM if self._has_key() else CO_CUSTOM,
            checked_label(operator_name, "transform"),
            checked_type(type_info, "transform"),
            function=operator,
            method=method,
        )

    def _has_key(self) -> bool:
        if self.stream1.has_key is not self.stream2.has_key:
            raise GraphError.here(
                "one of the connected streams has a key and the other has none",
                hint="Call key_by on both, or on neither; or on what connect returned.",
            )
        return self.stream1.has_key

    def _apply(
        self, kind: OperatorKind, func: Any, method: str | None, output_type: TypeInformation | None
    ) -> DataStream[Any]:
        return self.stream1.join_with(
            self.stream2,
            kind,
            name_of(func, "connect"),
            result_type(func, method, "connect", output_type),
            function=func,
            method=method,
        )
