"""The names of `pyflink.datastream.data_stream`."""

from penstock.api.streams.co_grouped_streams import CoGroupedStreams
from penstock.api.streams.collecting import CloseableIterator
from penstock.api.streams.connected_streams import (
    BroadcastConnectedStream,
    BroadcastStream,
    ConnectedStreams,
)
from penstock.api.streams.data_stream import DataStream
from penstock.api.streams.interval_join import IntervalJoin
from penstock.api.streams.joined_streams import JoinedStreams
from penstock.api.streams.keyed_stream import KeyedStream
from penstock.api.streams.multiple_connected_streams import MultipleConnectedStreams
from penstock.api.streams.stream_ends import DataStreamSink
from penstock.api.streams.stream_handles import CachedDataStream
from penstock.api.windows.windowed_stream import AllWindowedStream, WindowedStream

__all__ = [
    "AllWindowedStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CachedDataStream",
    "CloseableIterator",
    "CoGroupedStreams",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "IntervalJoin",
    "JoinedStreams",
    "KeyedStream",
    "MultipleConnectedStreams",
    "WindowedStream",
]
