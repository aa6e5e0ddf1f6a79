"""Operations that read a stream together with others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, cast, overload

from penstock.api.streams.co_grouped_streams import CoGroupedStreams
from penstock.api.streams.connected.broadcast_streams import (
    BroadcastConnectedStream,
    BroadcastStream,
)
from penstock.api.streams.connected.connected_streams import ConnectedStreams
from penstock.api.streams.joined_streams import JoinedStreams
from penstock.api.streams.paired_streams import check_pair
from penstock.api.streams.stream_base import StreamBase
from penstock.api.streams.stream_checks import union_type
from penstock.errors import ArgumentError
from penstock.program.operators import UNION
from penstock.types.type_parameters import T1, T

if TYPE_CHECKING:
    from penstock.api.streams.data_stream import DataStream


class StreamPairs(StreamBase[T], Generic[T]):
    """Base of `DataStream`: operations that read another stream as well."""

    def union(self, *streams: DataStream[T]) -> DataStream[T]:
        """Return all records of this stream and others. Records of different streams have no order.

        Args:
            streams: Streams of the same environment and type; at least one.

        Raises:
            ArgumentError: One of `streams` is no stream.
            GraphError: No other stream, one of another environment, or of another type.

        Example:
            >>> more = env.from_collection([8, 9], Types.INT())
            >>> sorted(collect(numbers.union(more)))
            [1, 2, 3, 4, 8, 9]
        """
        type_info = union_type(cast("DataStream[T]", self), streams)
        inputs = (self._node_id, *(other.node_id for other in streams))
        return self._add(UNION, "union", inputs, type_info)

    @overload
    def connect(self, ds: DataStream[T1]) -> ConnectedStreams[T, T1]: ...

    @overload
    def connect(self, ds: BroadcastStream[T1]) -> BroadcastConnectedStream[T, T1]: ...

    def connect(
        self, ds: DataStream[T1] | BroadcastStream[T1]
    ) -> ConnectedStreams[T, T1] | BroadcastConnectedStream[T, T1]:
        """Connect this stream with another, of a type that may differ, to be read by one function.

        Args:
            ds: A stream, or what `broadcast(descriptor)` returned.

        Returns:
            Both streams, for `map`, `flat_map`, `process` or `transform`.

        Raises:
            ArgumentError: `ds` is no stream.
            GraphError: The streams belong to different environments.

        Example:
            >>> class Labels(CoMapFunction):
            ...     def map1(self, value):
            ...         return f"number {value}"
            ...     def map2(self, value):
            ...         return f"order of {value[0]}"
            >>> sorted(collect(numbers.connect(orders).map(Labels(), Types.STRING())))[3:5]
            ['number 4', 'order of ann']
        """
        this = cast("DataStream[T]", self)
        if isinstance(ds, BroadcastStream):
            return BroadcastConnectedStream(this, ds, ds.broadcast_state_descriptors)
        if not isinstance(ds, StreamPairs):
            raise ArgumentError.here(
                f"{ds!r} is not a stream",
                hint="Pass a DataStream, or the BroadcastStream that broadcast(…) returned.",
            )
        return ConnectedStreams(this, ds)

    def co_group(self, other_stream: DataStream[T1]) -> CoGroupedStreams[T, T1]:
        """Group the records of this stream and another by key and window, one list per stream.

        Args:
            other_stream: A stream of the same environment.

        Returns:
            Both streams; `where`, `equal_to`, `window` and `apply` complete the operation.

        Raises:
            ArgumentError: `other_stream` is no stream.
            GraphError: It belongs to another environment.

        Example:
            >>> by_customer = lambda order: order[0]
            >>> pairs = orders.co_group(orders).where(by_customer).equal_to(by_customer)
            >>> windows = pairs.window(TumblingEventTimeWindows.of(Time.seconds(60)))
            >>> sorted(collect(windows.apply(lambda first, second: [(len(first), len(second))])))
            [(1, 1), (2, 2)]
        """
        check_pair(self, other_stream, "co_group", StreamPairs, "DataStream")
        return CoGroupedStreams(cast("DataStream[T]", self), other_stream)

    def join(self, other_stream: DataStream[T1]) -> JoinedStreams[T, T1]:
        """Join the records of this stream with those of another that have the same key.

        Args:
            other_stream: A stream of the same environment.

        Returns:
            Both streams; `where` and `equal_to` select the keys. Then `window` joins within
            windows, and `inner`, `left`, `right` or `full` over all records.

        Raises:
            ArgumentError: `other_stream` is no stream.
            GraphError: It belongs to another environment.

        Example:
            >>> cities = env.from_collection([("ann", "Oslo")])
            >>> pairs = orders.join(cities).where(lambda o: o[0]).equal_to(lambda c: c[0]).inner()
            >>> [(row.left[1], row.right[1]) for row in collect(pairs)]
            [(5, 'Oslo'), (7, 'Oslo')]
        """
        check_pair(self, other_stream, "join", StreamPairs, "DataStream")
        return JoinedStreams(cast("DataStream[T]", self), other_stream)
