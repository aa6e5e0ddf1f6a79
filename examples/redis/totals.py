"""What has each customer spent? Orders are in a stream, and every customer's total is a hash.

    make redis-demo                                with a server and orders of its own
    penstock run examples/redis/totals.py URL      with yours

What is in the stream at the start is read at batch speed, then each entry as it comes. A reader sees each total once, whatever
fails and however often the program is started again.
"""

from __future__ import annotations

import sys
from typing import Any

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import HybridSource
from penstock.datastream.connectors.redis import RedisEntry, RedisSink, RedisSource
from penstock.types.row import Row

ORDER = Types.ROW_NAMED(["customer", "amount"], [Types.STRING(), Types.LONG()])


def order(entry: RedisEntry) -> Row:
    """Return the order of an entry."""
    return Row(customer=entry.fields["customer"], amount=int(entry.fields["amount"]))


def key(total: Any) -> str:
    """Return the name of the hash of a total."""
    return f"total:{total.customer}"


def build(
    url: str, stream: str = "orders", env: StreamExecutionEnvironment | None = None
) -> StreamExecutionEnvironment:
    """Return the environment of the program."""
    env = env or StreamExecutionEnvironment.get_execution_environment()
    source = HybridSource.until_head(RedisSource.streams(url, stream).map_entries(order, ORDER))
    orders = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders").uid("orders")
    spent = orders.key_by(lambda order: order.customer).sum("amount").uid("totals")
    spent.sink_to(RedisSink.to_hashes(url, key)).name("totals").uid("out")
    return env


if __name__ == "__main__":
    build(sys.argv[1]).execute("totals")
