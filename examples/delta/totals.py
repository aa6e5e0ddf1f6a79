"""What has each customer spent? Orders are in a Delta table, which grows; totals are merged into another one.

    make delta-demo                                    with tables of its own
    penstock run examples/delta/totals.py ORDERS TOTALS    with yours

What the table has at the start is read at batch speed, then each new version. A reader sees each total once, whatever fails
and however often the program is started again.
"""

from __future__ import annotations

import sys

from penstock.common import WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import HybridSource
from penstock.datastream.connectors.delta import DeltaSink, DeltaSource


def build(
    orders: str, totals: str, env: StreamExecutionEnvironment | None = None
) -> StreamExecutionEnvironment:
    """Return the environment of the program."""
    env = env or StreamExecutionEnvironment.get_execution_environment()
    source = HybridSource.until_head(DeltaSource.table(orders).columns("customer", "amount"))
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders").uid("orders")
    spent = stream.key_by(lambda order: order.customer).sum("amount").uid("totals")
    spent.sink_to(DeltaSink.upsert(totals, keys=["customer"])).name("totals").uid("out")
    return env


if __name__ == "__main__":
    orders, totals = sys.argv[1:]
    build(orders, totals).execute("totals")
