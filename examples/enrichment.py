"""Orders with the city of their customer, by asynchronous calls with retries and timeouts.

python -m examples.enrichment

The service is a class in this file: slow, with failures, and without an answer for one customer.
"""

import asyncio
from random import Random
from typing import Any

from examples.results import Result, run
from penstock.common import Row, Time, Types, WatermarkStrategy
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    StreamExecutionEnvironment,
)
from penstock.datastream.async_retry_predicates import has_exception_predicate
from penstock.datastream.connectors import CollectionSource, HybridSource

CITIES = {"ann": "Oslo", "bob": "Rome", "joe": "Bern"}
LOST = "eve"
"""The customer for whom the service never answers."""

ORDER = Types.ROW_NAMED(["id", "customer"], [Types.LONG(), Types.STRING()])
PLACED = Types.ROW_NAMED(["id", "customer", "city"], [Types.LONG(), Types.STRING(), Types.STRING()])


class Service:
    """Answers after some milliseconds; the first call for every fifth order fails."""

    def __init__(self) -> None:
        self.failed: set[int] = set()

    async def city(self, order: Row) -> str:
        await asyncio.sleep(60 if order.customer == LOST else 0.002)
        if order.id % 5 == 0 and order.id not in self.failed:
            self.failed.add(order.id)
            raise ConnectionError("the service is busy")
        return CITIES[order.customer]


class Placed(AsyncFunction[Row, Row]):
    """Adds the city to an order; None if the service did not answer in time."""

    def open(self, runtime_context: Any) -> None:
        self.service = Service()  # a client with its connections

    async def async_invoke(self, value: Row) -> list[Row]:
        return [Row(id=value.id, customer=value.customer, city=await self.service.city(value))]

    def timeout(self, value: Row) -> list[Row]:
        return [Row(id=value.id, customer=value.customer, city=None)]


def made_orders(count: int = 12, seed: int = 4) -> list[Row]:
    draw = Random(seed)
    return [Row(id=number, customer=draw.choice([*CITIES, LOST])) for number in range(count)]


def build(env: StreamExecutionEnvironment, count: int = 12) -> dict[str, Result]:
    orders = made_orders(count)
    parts = HybridSource.builder(CollectionSource.of(orders[: count // 2], ORDER))
    source = parts.add_source(CollectionSource.of(orders[count // 2 :], ORDER)).build()
    read = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders").uid("orders")
    placed = AsyncDataStream.unordered_wait_with_retry(
        read,
        Placed(),
        timeout=Time.milliseconds(300),
        async_retry_strategy=AsyncRetryStrategy.fixed_delay(3, 10, None, has_exception_predicate),
        capacity=20,
        output_type=PLACED,
    )
    return {"orders": Result(placed.uid("placed"))}


if __name__ == "__main__":
    run(build, "orders with the city of their customer")
