"""Keeps how many orders of each key a table has in another table, exactly once, and appends every count to a third.

Arguments: connection string, slot. It ends with the orders that there are; `slot` without a name is no slot.
"""

from __future__ import annotations

import sys
from typing import Any

from penstock.common import WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.postgres import Change, PostgresSink, PostgresSource


def one(change: Change) -> tuple[str, int] | None:
    return None if change.after is None else (change.after["key"], 1)


def main(dsn: str, slot: str) -> None:
    source = PostgresSource.builder().set_dsn(dsn).set_tables("orders").set_deserializer(one)
    made = source.set_slot(slot).build() if slot != "none" else source.set_bounded().build()
    env = StreamExecutionEnvironment.get_execution_environment()
    ones = env.from_source(made, WatermarkStrategy.no_watermarks(), "orders").uid("orders")
    counts: Any = ones.key_by(lambda each: each[0]).sum(1).uid("counts")
    for table, keys in (("totals", ["key"]), ("history", [])):
        sink = PostgresSink.builder().set_dsn(dsn).set_table(table).set_columns("key", "n")
        if keys:
            sink.set_upsert_keys(*keys)
        counts.sink_to(sink.build()).uid(table)
    env.execute("totals")


if __name__ == "__main__":
    main(*sys.argv[1:])
