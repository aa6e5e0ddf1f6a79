"""What has each customer spent? Orders are in a table, which others change; totals are in another one, always right.

    make postgres-demo                                     with a server and orders of its own
    penstock run examples/postgres/totals.py DSN SLOT      with yours

The orders that there are come at batch speed, then every change of them. A change takes what it replaces from the
total of the customer, and adds what is new: the program keeps the newest version of each order.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from penstock.common import RowKind, Types, WatermarkStrategy
from penstock.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.connectors.postgres import PostgresSink, PostgresSource
from penstock.datastream.state import ValueStateDescriptor

ORDER = Types.ROW_NAMED(["id", "customer", "amount"], [Types.INT(), Types.STRING(), Types.LONG()])
SPENT = Types.TUPLE([Types.STRING(), Types.LONG()])


class Differences(KeyedProcessFunction):
    """Makes (customer, amount) of what changes of an order: minus what it was, plus what it is."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get the state: customer and amount of the order as it was."""
        self.before = runtime_context.get_state(ValueStateDescriptor("before", SPENT))

    def process_element(self, value: Any, ctx: Any) -> Iterator[tuple[str, int]]:
        """Yield differences."""
        before = self.before.value()
        if before is not None:
            yield before[0], -before[1]
        if value.get_row_kind() is RowKind.DELETE:
            self.before.clear()
            return
        self.before.update((value.customer, value.amount))
        yield value.customer, value.amount


def orders(dsn: str, slot: str) -> PostgresSource:
    """Return the orders that there are, and their changes."""
    made = PostgresSource.builder().set_dsn(dsn).set_tables("public.orders").set_slot(slot)
    return made.set_upserts(ORDER).build()


def totals(dsn: str) -> PostgresSink:
    """Return the table of totals."""
    made = PostgresSink.builder().set_dsn(dsn).set_table("public.totals")
    return made.set_columns("customer", "amount").set_upsert_keys("customer").build()


def build(
    source: PostgresSource, sink: PostgresSink, env: StreamExecutionEnvironment | None = None
) -> StreamExecutionEnvironment:
    """Return the environment of the program."""
    env = env or StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders").uid("orders")
    changes = stream.key_by(lambda order: order.id).process(Differences(), SPENT).uid("differences")
    spent = changes.key_by(lambda change: change[0]).sum(1).uid("totals")
    spent.sink_to(sink).name("totals").uid("out")
    return env


if __name__ == "__main__":
    dsn, slot = sys.argv[1:]
    build(orders(dsn, slot), totals(dsn)).execute("totals")
