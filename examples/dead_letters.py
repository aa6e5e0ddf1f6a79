"""Totals of orders, and a side output of unreadable lines with the reason.

python -m examples.dead_letters
"""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from examples.results import Result, run
from penstock.common import Row, Types, WatermarkStrategy
from penstock.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment
from penstock.datastream.connectors import CollectionSource, HybridSource

TOTAL = Types.ROW_NAMED(["customer", "amount"], [Types.STRING(), Types.LONG()])
LETTER = Types.ROW_NAMED(["line", "reason"], [Types.STRING(), Types.STRING()])
DEAD: OutputTag[Row] = OutputTag("dead letters", LETTER)


class Parsed(ProcessFunction[str, Row]):
    """Makes orders of lines, and letters of those that are none."""

    def process_element(self, value: str, ctx: Any) -> Iterator[Any]:
        try:
            order = json.loads(value)
            yield Row(customer=order["customer"], amount=int(order["amount"]))
        except (ValueError, KeyError, TypeError) as error:
            yield DEAD, Row(line=value, reason=f"{type(error).__name__}: {error}")


def made_lines(count: int = 50, seed: int = 2) -> list[str]:
    """Return lines, of which some are broken in one of three ways."""
    draw = Random(seed)
    lines = []
    for _ in range(count):
        order = {"customer": draw.choice(["ann", "bob", "joe"]), "amount": draw.randrange(1, 30)}
        broken = draw.random()
        if broken < 0.03:
            del order["customer"]
        elif broken < 0.06:
            order["amount"] = "a lot"
        line = json.dumps(order)
        lines.append(line[:-5] if 0.06 <= broken < 0.1 else line)
    return lines


def build(env: StreamExecutionEnvironment, count: int = 50) -> dict[str, Result]:
    lines = made_lines(count)
    parts = HybridSource.builder(CollectionSource.of(lines[: count // 2]))
    source = parts.add_source(CollectionSource.of(lines[count // 2 :])).build()
    read = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines").uid("lines")
    orders = read.process(Parsed(), TOTAL).uid("parsed")
    totals = orders.key_by(lambda order: order.customer).sum("amount").uid("totals")
    return {
        "totals": Result(totals, key="customer"),
        "dead letters": Result(orders.get_side_output(DEAD)),
    }


if __name__ == "__main__":
    run(build, "totals, and lines that are no orders")
