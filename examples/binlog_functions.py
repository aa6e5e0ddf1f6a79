"""Functions of `coded_join.sql`: rows of the messages of a binlog reader."""

import json

from penstock.sql.udf import udf, udtf

ORDER = [
    "order_id",
    "buyer_id",
    "seller_id",
    "shop_id",
    "status",
    "pay_status",
    "channel",
    "currency",
    "amount",
    "discount",
    "postage",
    "created_at",
    "paid_at",
    "province",
    "city",
    "district",
    "zip_code",
    "receiver",
    "phone_tail",
    "warehouse",
    "device",
]
REFUND = [
    "refund_id",
    "order_id",
    "reason",
    "status",
    "type",
    "amount",
    "operator_id",
    "created_at",
    "updated_at",
    "channel",
    "stage",
    "remark_code",
]


def row_of(columns):
    """Return the type of an operation and texts."""
    return f"ROW<operation STRING, {', '.join(f'`{name}` STRING' for name in columns)}>"


@udtf(result_types=row_of(ORDER))
def parse_order(message):
    """Yield the operation and the columns of an order."""
    record = json.loads(message)
    yield record["operation"], *map(record["data"].get, ORDER)


@udtf(
    result_types=row_of(REFUND).removesuffix(">")
    + ", old_status STRING, old_stage STRING, version BIGINT>"
)
def parse_refund(message):
    """Yield the operation, the columns of a refund, and two of it before the operation."""
    record = json.loads(message)
    data, old = record["data"], record["old_data"]
    values = map(data.get, REFUND)
    yield record["operation"], *values, old["status"], old["stage"], data["version"]


@udf(result_type="BIGINT")
def binlog_offset(message):
    """Return the number of a message, as its writer counts."""
    return json.loads(message)["offset"]
