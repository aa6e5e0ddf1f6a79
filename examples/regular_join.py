"""Which refunds belong to which orders? Two streams of change records, joined for ever.

    python -m benchmarks.inputs.binlog binlog-data         writes files of JSON records
    penstock run examples/regular_join.py binlog-data      prints the joined changelog
    penstock run examples/regular_join.py binlog-data none drops it

Every order appears: beside its refunds, or beside None as long as it has none. Lines that start
with -D take back what an earlier +I said.
"""

import json
import sys
from pathlib import Path

from penstock.common import Row, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DiscardingSink, FileSource

ORDER_COLUMNS = [
    *("order_id", "buyer_id", "seller_id", "shop_id", "status", "pay_status", "channel"),
    *("currency", "amount", "discount", "postage", "created_at", "paid_at", "province", "city"),
    *("district", "zip_code", "receiver", "phone_tail", "warehouse", "device"),
]
REFUND_COLUMNS = [
    *("refund_id", "order_id", "reason", "status", "type", "amount", "operator_id"),
    *("created_at", "updated_at", "channel", "stage", "remark_code"),
]
ORDER = Types.ROW_NAMED(
    [*ORDER_COLUMNS, "offset"], [*[Types.STRING()] * len(ORDER_COLUMNS), Types.LONG()]
)
REFUND = Types.ROW_NAMED(
    [*REFUND_COLUMNS, "old_status", "old_stage", "version", "offset"],
    [*[Types.STRING()] * (len(REFUND_COLUMNS) + 2), Types.LONG(), Types.LONG()],
)
SUMMARY = Types.ROW_NAMED(
    ["order_id", "status", "amount", "refund_id", "refunded"], [Types.STRING()] * 5
)
make_order, make_refund, make_summary = (
    Row(*row_type.get_field_names()) for row_type in (ORDER, REFUND, SUMMARY)
)


def parse_order(line):
    record = json.loads(line)
    if record["operation"] != "D":
        yield make_order(*map(record["data"].get, ORDER_COLUMNS), record["offset"])


def parse_refund(line):
    record = json.loads(line)
    if record["operation"] != "D":
        data, old = record["data"], record["old_data"]
        changed = (old.get("status"), old.get("stage"), data["version"])
        yield make_refund(*map(data.get, REFUND_COLUMNS), *changed, record["offset"])


def order_id(record):
    return record.order_id


def joined(orders, refunds):
    """Return the orders of one stream of lines with the refunds of another, as a changelog."""
    left = orders.flat_map(parse_order, ORDER)
    right = refunds.flat_map(parse_refund, REFUND)
    return left.join(right).where(order_id, Types.STRING()).equal_to(order_id).left()


def summary(order, refund):
    refunded = (None, None) if refund is None else (refund.refund_id, refund.amount)
    return make_summary(order.order_id, order.status, order.amount, *refunded)


if __name__ == "__main__":
    data = Path(sys.argv[1] if len(sys.argv) > 1 else "binlog-data").resolve()
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.no_watermarks()
    orders, refunds = (
        env.from_source(FileSource.text(data / table), strategy, table)
        for table in ("orders", "refunds")
    )
    changelog = joined(orders, refunds)
    if sys.argv[2:] == ["none"]:
        changelog.uid("refunds").sink_to(DiscardingSink())
    else:
        changelog.apply(summary, SUMMARY).uid("refunds").print()
    env.execute("regular-join")
