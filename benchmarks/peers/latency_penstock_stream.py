"""`latency`, our job over a streaming DataFrame: the source of the empty query of Spark."""

from __future__ import annotations

from latency_clock import events
from latency_penstock import PenstockCount

from benchmarks.systems.serve import serve
from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.connectors import SparkSource
from penstock.spark.session.factory import get_session


class StreamCount(PenstockCount):
    """A rolling count per key; a row per event."""

    def events(self, env: StreamExecutionEnvironment, configuration: Configuration) -> DataStream:
        """Return the events, as numbers."""
        rows = SparkSource(events(get_session(configuration), self.rate))
        stream = env.from_source(rows, WatermarkStrategy.no_watermarks(), "events")
        return stream.map(lambda row: row[0])


if __name__ == "__main__":
    serve(StreamCount)
