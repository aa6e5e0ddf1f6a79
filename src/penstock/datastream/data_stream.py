"""The names of `pyflink.datastream.data_stream`."""

from __future__ import annotations

from penstock.api.cached_stream import CachedDataStream
from penstock.api.co_grouped_streams import CoGroupedStreams
from penstock.api.collecting import CloseableIterator
from penstock.api.connected_streams import (
    BroadcastConnectedStream,
    BroadcastStream,
    ConnectedStreams,
)
from penstock.api.data_stream import DataStream
from penstock.api.interval_join import IntervalJoin
from penstock.api.joined_streams import JoinedStreams
from penstock.api.keyed_stream import KeyedStream
from penstock.api.sink_stream import DataStreamSink
from penstock.api.windowed_stream import AllWindowedStream, WindowedStream

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
    "WindowedStream",
]
