"""Verbs that group or pair the records of a stream with those of another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, cast

from penstock.api.streams.co_grouped_streams import CoGroupedStreams
from penstock.api.streams.joined_streams import JoinedStreams
from penstock.api.streams.paired_streams import check_pair
from penstock.types.type_parameters import T1, T

if TYPE_CHECKING:
    from penstock.api.streams.data_stream import DataStream


class StreamPairs(Generic[T]):
    """Base of `DataStream`."""

    def co_group(self, other_stream: DataStream[T1]) -> CoGroupedStreams[T, T1]:
        """Group the records of this stream and another by key and window, side by side.

        Raises:
            ArgumentError: `other_stream` is no stream.
            GraphError: It belongs to another environment.
        """
        check_pair(self, other_stream, "co_group", StreamPairs, "DataStream")
        return CoGroupedStreams(cast("DataStream[T]", self), other_stream)

    def join(self, other_stream: DataStream[T1]) -> JoinedStreams[T, T1]:
        """Pair the records of this stream with those of another that have the same key.

        Raises:
            ArgumentError: `other_stream` is no stream.
            GraphError: It belongs to another environment.
        """
        check_pair(self, other_stream, "join", StreamPairs, "DataStream")
        return JoinedStreams(cast("DataStream[T]", self), other_stream)
