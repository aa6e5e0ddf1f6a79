"""Two streams whose records one function sees: connected, and connected with a broadcast one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, overload

from penstock.api.functions.callables import ToKey
from penstock.api.functions.function_classes import KeySelector
from penstock.api.functions.result_types import result_type
from penstock.api.functions.stream_operators import TwoInputStreamOperator
from penstock.api.functions.two_input_functions import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
)
from penstock.api.state.descriptors import MapStateDescriptor
from penstock.api.user_code import checked_label, checked_type, method_of, name_of
from penstock.errors import CallSite, GraphError
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


class ConnectedStreams(Generic[T1, T2]):
    """Two streams, of types that may differ, for one function that tells them apart.

    The two have no order against each other. If both have a key, it is shared: state and timers
    of a key are the same for records of either.
    """

    def __init__(self, stream1: DataStream[T1], stream2: DataStream[T2]) -> None:
        """Connect two streams.

        Raises:
            GraphError: They belong to different environments.
        """
        if stream1.get_execution_environment() is not stream2.get_execution_environment():
            raise GraphError(
                "the streams belong to different environments",
                hint="Create all streams of a job in one environment.",
                origin=CallSite.of_caller(),
            )
        self.stream1 = stream1
        self.stream2 = stream2

    def key_by(
        self,
        key_selector1: ToKey[T1, K],
        key_selector2: ToKey[T2, K],
        key_type: TypeInformation | None = None,
    ) -> ConnectedStreams[T1, T2]:
        """Partition both streams by key.

        Args:
            key_selector1: Key of the records of the first stream.
            key_selector2: Key of the records of the second.
            key_type: As in `DataStream.key_by`, for both.

        Raises:
            ArgumentError: A selector is neither a callable nor a `KeySelector`.
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

        Raises:
            ArgumentError: `func` is not a `CoMapFunction`.
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
        """Replace each record by the results of `flat_map1` or `flat_map2`.

        Raises:
            ArgumentError: `func` is not a `CoFlatMapFunction`.
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

        Raises:
            ArgumentError: `func` is not a `CoProcessFunction`, or with a key a
                `KeyedCoProcessFunction`.
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
        operator: TwoInputStreamOperator[T1, T2, R],
    ) -> DataStream[R]:
        """Process both streams with an operator of your own.

        Args:
            operator_name: Name of the operator.
            type_info: Type the results are brought to; None is any Python object.
            operator: With a key it may use keyed state and timers, shared by both inputs.

        Raises:
            ArgumentError: `operator` is no `TwoInputStreamOperator`, or another argument is wrong.
            GraphError: Only one of the streams has a key.
        """
        method = method_of(
            operator, TwoInputStreamOperator, "process_element1", "transform", allow_callable=False
        )
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
            raise GraphError(
                "one of the connected streams has a key and the other has none",
                hint="Call key_by on both, or on neither; or on what connect returned.",
                origin=CallSite.of_caller(),
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


class BroadcastStream(Generic[T]):
    """A stream whose every element reaches every subtask, with the states to keep them in."""

    def __init__(
        self,
        input_stream: DataStream[T],
        broadcast_state_descriptors: MapStateDescriptor | Sequence[MapStateDescriptor],
    ) -> None:
        self.input_stream = input_stream
        self.broadcast_state_descriptors = _several(broadcast_state_descriptors)


class BroadcastConnectedStream(Generic[T1, T2]):
    """A stream, with or without a key, connected with a broadcast one."""

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
        """Process both streams.

        Raises:
            ArgumentError: `func` is not a `BroadcastProcessFunction`, or with a key a
                `KeyedBroadcastProcessFunction`.
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
