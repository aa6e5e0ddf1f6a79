"""Operations that read a stream together with others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, cast, overload

from penstock.api.streams.co_grouped_streams import CoGroupedStreams
from penstock.api.streams.columns.column_joins import joined_by_columns
from penstock.api.streams.connected_streams import (
    BroadcastConnectedStream,
    BroadcastStream,
    ConnectedStreams,
)
from penstock.api.streams.joined_streams import JoinedStreams
from penstock.api.streams.paired_streams import check_pair
from penstock.api.streams.stream_base import StreamBase, union_type
from penstock.api.user_code import called_as
from penstock.errors import ArgumentError
from penstock.expressions.column import ColumnExpression
from penstock.program.operators import UNION
from penstock.types.row import Row
from penstock.types.type_parameters import T1, T

if TYPE_CHECKING:
    from penstock.api.environment.setting_values import Length
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

    @overload
    def join(self, other_stream: DataStream[T1]) -> JoinedStreams[T, T1]: ...

    @overload
    def join(
        self,
        other_stream: DataStream[Any],
        *,
        on: ColumnExpression | Sequence[ColumnExpression],
        how: str = "inner",
        between: tuple[Length, Length] | None = None,
    ) -> DataStream[Row]: ...

    @called_as("join(other, on=col.name)")
    def join(
        self,
        other_stream: DataStream[Any],
        *,
        on: ColumnExpression | Sequence[ColumnExpression] | None = None,
        how: str = "inner",
        between: tuple[Length, Length] | None = None,
    ) -> JoinedStreams[T, Any] | DataStream[Row]:
        """Join the records of this stream with those of another that have the same key, or equal columns.

        With `on` the result is a stream of rows: all columns of this stream, then those of the other without `on`. Over
        all records it is a changelog, whose rows are `+I`, and `-D` where a row without a match gets one, or where a
        side takes a row back; rows stay in state, unless `table.exec.state.ttl` is set, and have no timestamps. With
        `between` it is the pairs within an interval of time, which have the later timestamp; late records are dropped. A row
        without a match comes once nothing can match it any more, with that time, so no row is taken back.

        Args:
            other_stream: A stream of the same environment.
            on: Columns that must be equal, of the same name and type on both sides. NULL equals nothing.
            how: `inner`, or which rows without a match are there, beside NULL: `left`, `right` or `full`.
            between: Least and greatest difference of times, right minus left, both included.

        Returns:
            With `on`, the rows. Otherwise both streams; `where` and `equal_to` select the keys. Then `window`
            joins within windows, and `inner`, `left`, `right` or `full` over all records.

        Raises:
            ArgumentError: `other_stream` is no stream, a stream has no columns, one is on both sides, or an argument is
                wrong.
            GraphError: It belongs to another environment.
            UnknownFieldError: A side has no such column; it names the near ones.

        Example:
            >>> cities = env.from_collection([("ann", "Oslo")])
            >>> pairs = orders.join(cities).where(lambda o: o[0]).equal_to(lambda c: c[0]).inner()
            >>> [(row.left[1], row.right[1]) for row in collect(pairs)]
            [(5, 'Oslo'), (7, 'Oslo')]
            >>> amounts = orders.select(who=col.f0, amount=col.f1)
            >>> times = orders.select(who=col.f0, time=col.f2).where(col.time < 2000)
            >>> sorted(collect(amounts.join(times, on=col.who, how="left")), key=str)[0]
            Row(who='ann', amount=5, time=1000)
        """
        check_pair(self, other_stream, "join", StreamPairs, "DataStream")
        if on is not None:
            return joined_by_columns(cast("DataStream[T]", self), other_stream, on, how, between)
        for name, value, default in (("how", how, "inner"), ("between", between, None)):
            if value != default:
                raise ArgumentError.here(
                    f"join got {name}={value!r} without on", hint="Pass on=col.name."
                )
        return JoinedStreams(cast("DataStream[T]", self), other_stream)
