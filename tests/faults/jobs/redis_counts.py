"""Counts the entries of every key of one stream of Redis into another one, exactly once.

Arguments: address, the stream that is read up to what is there at the start, the stream that is written.
"""

from __future__ import annotations

import sys

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.redis import RedisSink, RedisSource

ROW = Types.ROW_NAMED(["key", "n"], [Types.STRING(), Types.LONG()])


def main(url: str, stream: str, to: str) -> None:
    source = RedisSource.streams(url, stream).bounded()
    keys = source.map_entries(lambda entry: entry.fields["key"], Types.STRING())
    env = StreamExecutionEnvironment.get_execution_environment()
    read = env.from_source(keys, WatermarkStrategy.no_watermarks(), "keys").uid("keys")
    ones = read.map(lambda key: (key, 1)).key_by(lambda one: one[0])
    sink = RedisSink.to_stream(url, to)
    ones.sum(1).uid("counts").map(lambda r: r, ROW).sink_to(sink).uid("out")
    env.execute("counts")


if __name__ == "__main__":
    main(*sys.argv[1:])
