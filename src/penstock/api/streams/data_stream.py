"""`DataStream`: records without a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, cast, overload

from penstock.api.functions.callables import Predicate, ToKey, ToMany, ToOne
from penstock.api.functions.function_classes import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
)
from penstock.api.functions.key_selectors import typed_selector
from penstock.api.functions.result_types import result_type
from penstock.api.functions.stream_operators import OneInputStreamOperator
from penstock.api.functions.watermark import WatermarkStrategy, checked_strategy
from penstock.api.state.descriptors import MapStateDescriptor
from penstock.api.streams.caching import add_cache
from penstock.api.streams.connected_streams import (
    BroadcastConnectedStream,
    BroadcastStream,
    ConnectedStreams,
)
from penstock.api.streams.repartitioning import Repartitioning
from penstock.api.streams.stream_checks import (
    check_broadcast_states,
    check_side_output,
    projection,
    union_type,
)
from penstock.api.streams.stream_ends import StreamEnds
from penstock.api.streams.stream_pairs import StreamPairs
from penstock.api.user_code import (
    bound_method,
    checked_label,
    checked_type,
    method_of,
    name_of,
)
from penstock.api.windows.assigner import WindowAssigner
from penstock.api.windows.windowed_stream import AllWindowedStream
from penstock.errors import ArgumentError, CallSite
from penstock.graph.endpoints import Source
from penstock.graph.logical import Partitioning
from penstock.program import operators as kinds
from penstock.program.operator_kind import OperatorKind
from penstock.program.partitioning import Partitioner
from penstock.program.window_operation import WindowSpec
from penstock.types import TypeInformation
from penstock.types.output_tag import OutputTag
from penstock.types.type_parameters import T1, K, R, T

if TYPE_CHECKING:
    from penstock.api.environment.environment import StreamExecutionEnvironment
    from penstock.api.streams.cached_stream import CachedDataStream
    from penstock.api.streams.keyed_stream import KeyedStream


class DataStream(Repartitioning[T], StreamPairs[T], StreamEnds[T], Generic[T]):
    """A stream of records of type `T`: a handle to a node of the program."""

    @classmethod
    def of_source(
        cls,
        environment: StreamExecutionEnvironment,
        source: Source,
        strategy: WatermarkStrategy,
        name: str,
        type_info: TypeInformation,
        origin: CallSite | None,
    ) -> DataStream:
        """Return the stream of a source; for the environment."""
        node_id = environment.graph.add(
            kinds.SOURCE, name, (), type_info=type_info, origin=origin, source=source
        )
        stream = environment.stream_of(node_id)
        if checked_strategy(strategy).watermarking() is None:
            return stream
        return stream.assign_timestamps_and_watermarks(strategy)

    def cache(self) -> CachedDataStream[T]:
        """Keep the records, so that this job and those after it compute them only once.

        Raises:
            GraphError: The stream never ends, or has a key.
        """
        return cast("CachedDataStream[T]", self._environment.stream_of(add_cache(self)))

    @property
    def has_key(self) -> bool:
        """Whether records are partitioned by a key that the next operation uses."""
        return False

    @overload
    def map(self, func: ToOne[T, R], output_type: None = None) -> DataStream[R]: ...

    @overload
    def map(self, func: ToOne[T, Any], output_type: TypeInformation[R]) -> DataStream[R]: ...

    def map(self, func: Any, output_type: TypeInformation | None = None) -> DataStream[Any]:
        """Replace each record by the function's result; with a key it may use keyed state.

        Args:
            func: A callable or `MapFunction`.
            output_type: Type the results are brought to; None is any Python object, left as
                it is.

        Raises:
            ArgumentError: `func` is neither, or `output_type` is no type.
        """
        method = method_of(func, MapFunction, "map", "map")
        kind = kinds.KEYED_MAP if self.has_key else kinds.MAP
        return self._apply(kind, "map", func, method, output_type)

    @overload
    def flat_map(self, func: ToMany[T, R], output_type: None = None) -> DataStream[R]: ...

    @overload
    def flat_map(self, func: ToMany[T, Any], output_type: TypeInformation[R]) -> DataStream[R]: ...

    def flat_map(self, func: Any, output_type: TypeInformation | None = None) -> DataStream[Any]:
        """Replace each record by the results the function returns or yields.

        With a key the function may use keyed state.

        Raises:
            ArgumentError: `func` is neither a callable nor a `FlatMapFunction`.
        """
        method = method_of(func, FlatMapFunction, "flat_map", "flat_map")
        kind = kinds.KEYED_FLAT_MAP if self.has_key else kinds.FLAT_MAP
        return self._apply(kind, "flat_map", func, method, output_type)

    def filter(self, func: Predicate[T]) -> DataStream[T]:
        """Keep the records for which the function is true; with a key it may use keyed state.

        Raises:
            ArgumentError: `func` is neither a callable nor a `FilterFunction`.
        """
        method = method_of(func, FilterFunction, "filter", "filter")
        kind = kinds.KEYED_FILTER if self.has_key else kinds.FILTER
        return self._apply(kind, "filter", func, method, self.get_type())

    @overload
    def process(self, func: ProcessFunction[T, R], output_type: None = None) -> DataStream[R]: ...

    @overload
    def process(
        self, func: ProcessFunction[T, Any], output_type: TypeInformation[R]
    ) -> DataStream[R]: ...

    def process(self, func: Any, output_type: TypeInformation | None = None) -> DataStream[Any]:
        """Process each record with access to time.

        Raises:
            ArgumentError: `func` is not a `ProcessFunction`.
        """
        method = method_of(
            func,
            ProcessFunction,
            "process_element",
            "process",
            allow_callable=False,
            hints={KeyedProcessFunction: "Call key_by before process: this function needs a key."},
        )
        return self._apply(kinds.PROCESS, "process", func, method, output_type)

    def transform(
        self,
        operator_name: str,
        type_info: TypeInformation[R] | None,
        operator: OneInputStreamOperator[T, R],
    ) -> DataStream[R]:
        """Process each record with an operator of your own, which also sees what is between them.

        Args:
            operator_name: Name of the operator.
            type_info: Type the results are brought to; None is any Python object.
            operator: With a key it may use keyed state and timers.

        Raises:
            ArgumentError: `operator` is no `OneInputStreamOperator`, or another argument is wrong.
        """
        method = method_of(
            operator, OneInputStreamOperator, "process_element", "transform", allow_callable=False
        )
        kind = kinds.KEYED_CUSTOM if self.has_key else kinds.CUSTOM
        name = checked_label(operator_name, "transform")
        declared = checked_type(type_info, "transform")
        return self._derive(kind, name, declared, function=operator, method=method)

    def assign_timestamps_and_watermarks(
        self, watermark_strategy: WatermarkStrategy
    ) -> DataStream[T]:
        """Give records timestamps and the stream watermarks; replaces earlier ones.

        Raises:
            ArgumentError: `watermark_strategy` is not a strategy.
        """
        marks = checked_strategy(watermark_strategy).watermarking()
        return self._derive(kinds.TIMESTAMPS, "timestamps", self.get_type(), watermarking=marks)

    def union(self, *streams: DataStream[T]) -> DataStream[T]:
        """Return all records of this stream and the others, in no particular order.

        Raises:
            ArgumentError: One of `streams` is no stream.
            GraphError: No other stream, one of another environment, or of another type.
        """
        type_info = union_type(self, streams, CallSite.of_caller())
        inputs = (self._node_id, *(other.node_id for other in streams))
        return self._add(kinds.UNION, "union", inputs, type_info)

    @overload
    def connect(self, ds: DataStream[T1]) -> ConnectedStreams[T, T1]: ...

    @overload
    def connect(self, ds: BroadcastStream[T1]) -> BroadcastConnectedStream[T, T1]: ...

    def connect(
        self, ds: DataStream[T1] | BroadcastStream[T1]
    ) -> ConnectedStreams[T, T1] | BroadcastConnectedStream[T, T1]:
        """Return this stream and another for one function that tells them apart.

        Raises:
            ArgumentError: `ds` is no stream.
            GraphError: The streams belong to different environments, or only one has a key.
        """
        if isinstance(ds, BroadcastStream):
            return BroadcastConnectedStream(self, ds, ds.broadcast_state_descriptors)
        if not isinstance(ds, DataStream):
            raise ArgumentError(
                f"{ds!r} is not a stream",
                hint="Pass a DataStream, or the BroadcastStream that broadcast(…) returned.",
                origin=CallSite.of_caller(),
            )
        return ConnectedStreams(self, ds)

    @overload
    def broadcast(self) -> DataStream[T]: ...

    @overload
    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> BroadcastStream[T]: ...

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> DataStream[T] | BroadcastStream[T]:
        """Send every record to every subtask of the next operator.

        Args:
            broadcast_state_descriptor: State to keep the elements in; then the result is to be
                passed to `connect`.
            other_broadcast_state_descriptors: More of them.

        Raises:
            ArgumentError: A descriptor is not one of a map state.
        """
        everywhere = self._partitioned("broadcast", Partitioning(Partitioner.BROADCAST))
        if broadcast_state_descriptor is None:
            return everywhere
        descriptors = (broadcast_state_descriptor, *other_broadcast_state_descriptors)
        check_broadcast_states(descriptors, CallSite.of_caller())
        return BroadcastStream(everywhere, descriptors)

    def project(self, *field_indexes: int) -> DataStream:
        """Keep some fields of tuples, in the given order.

        Raises:
            ArgumentError: The stream's type is no tuple, or has no such field.
        """
        fields, type_info = projection(self.get_type(), field_indexes, CallSite.of_caller())
        return self._derive(kinds.MAP, "Projection", type_info, function=fields, method=None)

    def get_side_output(self, output_tag: OutputTag[R]) -> DataStream[R]:
        """Return the values this operator emits under a tag.

        Raises:
            ArgumentError: `output_tag` is no `OutputTag`.
            GraphError: The operator has no side outputs: only process functions have, and
                windows for late records.
        """
        check_side_output(self._graph.node(self._node_id), output_tag, CallSite.of_caller())
        return self._add(
            kinds.SIDE_OUTPUT,
            f"side output {output_tag.tag_id}",
            (self._node_id,),
            output_tag.type_info,
            output_tag=output_tag.tag_id,
        )

    @overload
    def key_by(self, key_selector: ToKey[T, K], key_type: None = None) -> KeyedStream[T, K]: ...

    @overload
    def key_by(
        self, key_selector: ToKey[T, Any], key_type: TypeInformation[K]
    ) -> KeyedStream[T, K]: ...

    def key_by(
        self, key_selector: Any, key_type: TypeInformation | None = None
    ) -> KeyedStream[T, Any]:
        """Partition the stream by key; all records of a key are processed together, in order.

        Keys are compared as Python compares them: 1, 1.0 and True are one key.

        Args:
            key_selector: A callable or `KeySelector`; must be deterministic.
            key_type: Type the keys are brought to; a record whose key does not fit is an error.
                None leaves keys as they are.

        Raises:
            ArgumentError: `key_selector` is neither, or `key_type` is no type.
            KeyTypeError: Values of `key_type` cannot be keys.
        """
        select = bound_method(key_selector, KeySelector, "get_key", "key_by")
        selector = typed_selector(select, key_type, "key_by")
        keyed = self._add(
            kinds.KEY_BY, "key_by", (self._unkeyed_id(),), self.get_type(), key_selector=selector
        )
        return cast("KeyedStream[T, Any]", keyed)

    def window_all(self, window_assigner: WindowAssigner[Any, Any]) -> AllWindowedStream[T]:
        """Cut the whole stream into windows, in a single subtask.

        Raises:
            ArgumentError: `window_assigner` is none.
        """
        return AllWindowedStream(self, window_assigner)

    def window_operator(
        self, name: str, type_info: TypeInformation, window: WindowSpec, **fields: Any
    ) -> DataStream[Any]:
        """Return the stream of a window operation on this stream, which has a key."""
        return self._derive(kinds.KEYED_WINDOW, name, type_info, window=window, **fields)

    def _apply(
        self,
        kind: OperatorKind,
        operation: str,
        func: Any,
        method: str | None,
        output_type: TypeInformation | None,
    ) -> DataStream:
        return self._derive(
            kind,
            name_of(func, operation),
            result_type(func, method, operation, output_type),
            function=func,
            method=method,
        )

    def join_with(
        self,
        other: DataStream,
        kind: OperatorKind,
        name: str,
        type_info: TypeInformation,
        **fields: Any,
    ) -> DataStream:
        """Return the stream of an operator that reads this stream and another."""
        return self._add(kind, name, (self._node_id, other.node_id), type_info, **fields)

    def _partitioned(self, name: str, partitioning: Partitioning) -> DataStream:
        inputs = (self._unkeyed_id(),)
        return self._add(kinds.PARTITION, name, inputs, self.get_type(), partitioning=partitioning)

    def _derive(
        self, kind: OperatorKind, name: str, type_info: TypeInformation, **fields: Any
    ) -> DataStream:
        return self._add(kind, name, (self._node_id,), type_info, **fields)

    def _add(
        self,
        kind: OperatorKind,
        name: str,
        inputs: tuple[int, ...],
        type_info: TypeInformation,
        **fields: Any,
    ) -> DataStream:
        origin = CallSite.of_caller()
        node_id = self._graph.add(kind, name, inputs, type_info=type_info, origin=origin, **fields)
        return self._environment.stream_of(node_id)
