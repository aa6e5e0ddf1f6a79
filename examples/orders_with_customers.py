"""A denormalised table of two tables that change, from their change data capture.

python -m examples.orders_with_customers

Lines are JSON with `op` (c, u, d), `before` and `after`. An order appears beside its customer, or beside None.
"""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from examples.results import Result, run
from penstock.common import Row, RowKind, Types, WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.connectors import CollectionSource, HybridSource

OP = {"insert": "c", "update": "u", "delete": "d"}
ORDERED = Types.ROW_NAMED(
    ["order", "amount", "name", "city", "deleted"],
    [Types.LONG(), Types.LONG(), Types.STRING(), Types.STRING(), Types.BOOLEAN()],
)


def changes(line: str) -> Iterator[Row]:
    """Yield what a change removes and what it adds, as rows of a changelog."""
    change = json.loads(line)
    if change["before"] is not None:
        yield Row.of_kind(RowKind.DELETE, **change["before"])
    if change["after"] is not None:
        yield Row(**change["after"])


def joined(order: Row, customer: Row | None) -> Row:
    name, city = (None, None) if customer is None else (customer.name, customer.city)
    return Row(order=order.id, amount=order.amount, name=name, city=city)


def with_deleted(row: Row) -> Row:
    """Say in a field what the kind of a row says, for a table that is written by key."""
    return Row(**row.as_dict(), deleted=row.get_row_kind() is RowKind.DELETE)


class Table:
    """A table in memory that tells its changes as lines."""

    def __init__(self) -> None:
        self.rows: dict[int, dict[str, Any]] = {}
        self.lines: list[str] = []

    def put(self, row: dict[str, Any]) -> None:
        before = self.rows.get(row["id"])
        self.rows[row["id"]] = row
        self.tell("insert" if before is None else "update", before, row)

    def delete(self, key: int) -> None:
        self.tell("delete", self.rows.pop(key), None)

    def tell(self, op: str, before: Any, after: Any) -> None:
        self.lines.append(json.dumps({"op": OP[op], "before": before, "after": after}))


def made_tables(steps: int = 40, seed: int = 6) -> tuple[Table, Table]:
    """Return tables of orders and customers after some steps, with the lines of their changes."""
    draw, orders, customers = Random(seed), Table(), Table()
    for _ in range(steps):
        customer = draw.randrange(4)
        step = draw.random()
        if step < 0.4:
            city = draw.choice(["Oslo", "Rome", "Bern"])
            customers.put({"id": customer, "name": f"customer-{customer}", "city": city})
        elif step < 0.5 and customer in customers.rows:
            customers.delete(customer)
        elif step < 0.9:
            order = {
                "id": draw.randrange(12),
                "customer": customer,
                "amount": draw.randrange(1, 90),
            }
            orders.put(order)
        elif orders.rows:
            orders.delete(draw.choice(sorted(orders.rows)))
    return orders, customers


def build(env: StreamExecutionEnvironment, steps: int = 40) -> dict[str, Result]:
    def captured(lines: list[str], name: str) -> DataStream[Row]:
        history, live = lines[: len(lines) // 2], lines[len(lines) // 2 :]
        source = HybridSource.builder(CollectionSource.of(history)).add_source(
            CollectionSource.of(live)
        )
        read = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), name).uid(name)
        return read.flat_map(changes)

    orders, customers = (table.lines for table in made_tables(steps))
    sides = captured(orders, "orders").join(captured(customers, "customers"))
    both = sides.where(lambda order: order.customer).equal_to(lambda customer: customer.id).left()
    table = both.apply(joined).uid("joined").map(with_deleted, ORDERED)
    return {"orders with customers": Result(table, key="order")}


if __name__ == "__main__":
    run(build, "orders with their customers")
