"""A broadcast stream, and a stream connected with one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, overload

from penstock.api.functions.result_types import result_type
from penstock.api.functions.two_input_functions import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from penstock.api.state.descriptors import MapStateDescriptor
from penstock.api.user_code import method_of, name_of
from penstock.program.operators import BROADCAST_PROCESS, KEYED_BROADCAST_PROCESS
from penstock.types import TypeInformation
from penstock.types.type_parameters import T1, T2, R, T

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
