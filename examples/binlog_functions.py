"""Functions of `coded_join.sql` and `coded_join_seed.sql`: rows of the messages of a binlog reader."""

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


ROWS = ("data", "old_data")


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


@udtf(
    result_types="ROW<data STRING, old_data STRING, flag STRING, db_name STRING, table_name STRING,"
    " before_flag STRING, after_flag STRING>"
)
def binlog_parser(message):
    """Yield what `coded_join_seed.sql` reads of a message: the row, the row before, the operation, names, flags."""
    record = json.loads(message)
    rows = [None if record.get(key) is None else json.dumps(record[key]) for key in ROWS]
    yield *rows, *map(record.get, ("operation", "database", "table", "before_flag", "after_flag"))


@udf(result_type="STRING")
def json_value(document, path):
    """Return a field of a document as text, by `$.name` or `name`."""
    value = None if document is None else json.loads(document).get(path.removeprefix("$."))
    return value if value is None or isinstance(value, str) else json.dumps(value)
