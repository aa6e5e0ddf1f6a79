"""Shows `totals` with a broker of its own: `make kafka-demo`.

It writes an hour of orders to files, starts a broker, and adds orders to it while the program runs. It prints the
totals that a reader of committed records sees, and says at the end whether they are right.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from examples.kafka.broker import BrokerProcess
from examples.kafka.totals import build, orders, totals
from examples.showing import environment, say

CUSTOMERS = ("ann", "bob", "cid", "dee")
IN_FILES = 20_000
LIVE = 60
LONGEST_SECONDS = 120.0
QUIET = {"log_level": 0}
"""The broker ends before the clients, which would remark on it."""


class Shop:
    """Makes orders, and knows what each customer has spent."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()
        self._chance = random.Random(7)  # noqa: S311 - orders of nobody

    def order(self) -> str:
        """Return the next order."""
        customer, amount = self._chance.choice(CUSTOMERS), self._chance.randint(1, 99)
        self.spent[customer] += amount
        return json.dumps({"customer": customer, "amount": amount})


def sell(shop: Shop, servers: str) -> None:
    """Add orders to Kafka, ten a second."""
    producer = Producer({"bootstrap.servers": servers, **QUIET})
    for number in range(LIVE):
        producer.produce("orders", shop.order().encode(), partition=number % 2)
        producer.flush(10)
        time.sleep(0.1)


def watch(servers: str, shop: Shop, selling: threading.Thread, client: Any) -> bool:
    """Print totals as they come; return whether they are right in the end."""
    settings = {"group.id": "watch", "isolation.level": "read_committed", **QUIET}
    consumer = Consumer({"bootstrap.servers": servers, "enable.auto.commit": False, **settings})
    consumer.assign([TopicPartition("totals", 0, 0)])
    found: dict[str, int] = {}
    until, shown = time.monotonic() + LONGEST_SECONDS, 0.0
    result = client.get_job_execution_result()
    while time.monotonic() < until and not result.done():
        message = consumer.poll(0.2)
        key, value = (None, None) if message is None else (message.key(), message.value())
        if isinstance(key, bytes) and isinstance(value, bytes):
            found[key.decode()] = int(value)
        is_right = not selling.is_alive() and found == dict(shop.spent)
        if found and (is_right or time.monotonic() - shown > 1):
            shown = time.monotonic()
            say("  ".join(f"{name} {found.get(name, 0):>9,}" for name in CUSTOMERS))
        if is_right:
            break
    consumer.close()
    if result.done():
        result.result()  # raises what the job failed for
    return found == dict(shop.spent)


def main() -> int:
    """Run the demo; return the status of the process."""
    with tempfile.TemporaryDirectory(prefix="penstock-kafka-") as name:
        directory, shop = Path(name), Shop()
        for below in ("files", "broker"):
            (directory / below).mkdir()
        lines = "".join(f"{shop.order()}\n" for _ in range(IN_FILES))
        (directory / "files" / "orders.json").write_text(lines)
        since_ms = time.time_ns() // 1_000_000
        broker = BrokerProcess(directory / "broker")
        broker.start()
        try:
            made = [NewTopic("orders", 2, 1), NewTopic("totals", 1, 1)]
            admin = AdminClient({"bootstrap.servers": broker.servers, **QUIET})
            for future in admin.create_topics(made).values():
                future.result(10)
            source = orders(broker.servers, str(directory / "files"), since_ms)
            say(f"{IN_FILES:,} orders in files, {LIVE} more to come in Kafka")
            selling = threading.Thread(target=sell, args=(shop, broker.servers), daemon=True)
            selling.start()
            env = build(source, totals(broker.servers), environment(directory))
            client = env.execute_async("totals")
            is_right = watch(broker.servers, shop, selling, client)
            client.cancel().result()
        finally:
            broker.stop()
    say("Every order is in the totals, once." if is_right else "The totals are wrong.")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
