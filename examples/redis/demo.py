"""Shows `totals` with a server of its own: `make redis-demo`.

It writes orders to a stream, and adds orders while the program runs. It prints the totals that a reader sees, and says
at the end whether they are right.
"""

from __future__ import annotations

import random
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from redis import Redis

from examples.redis.server import RedisProcess
from examples.redis.totals import build
from examples.showing import environment, say

CUSTOMERS = ("ann", "bob", "cid", "dee")
AT_THE_START = 20_000
LIVE = 100
LONGEST_SECONDS = 120.0


class Shop:
    """Makes orders, and knows what each customer has spent."""

    def __init__(self, url: str) -> None:
        self.spent: Counter[str] = Counter()
        self.client: Any = Redis.from_url(url, decode_responses=True)
        self._chance = random.Random(7)  # noqa: S311 - orders of nobody

    def sell(self, count: int) -> None:
        """Add orders to the stream."""
        pipeline = self.client.pipeline(transaction=False)
        for _ in range(count):
            customer, amount = self._chance.choice(CUSTOMERS), self._chance.randint(1, 99)
            self.spent[customer] += amount
            pipeline.xadd("orders", {"customer": customer, "amount": amount})
        pipeline.execute()

    def totals(self) -> dict[str, int]:
        """Return what a reader of the totals sees."""
        found = {name: self.client.hget(f"total:{name}", "amount") for name in CUSTOMERS}
        return {name: int(amount) for name, amount in found.items() if amount is not None}


def keep_selling(shop: Shop) -> None:
    """Add orders, ten a second."""
    for _ in range(LIVE):
        shop.sell(1)
        time.sleep(0.1)


def watch(shop: Shop, selling: threading.Thread, client: Any) -> bool:
    """Print totals as they come; return whether they are right in the end."""
    until = time.monotonic() + LONGEST_SECONDS
    result = client.get_job_execution_result()
    shown: dict[str, int] = {}
    while time.monotonic() < until and not result.done():
        time.sleep(0.2)
        found = shop.totals()
        if found != shown:
            shown = found
            say("  ".join(f"{name} {found.get(name, 0):>9,}" for name in CUSTOMERS))
        if not selling.is_alive() and found == dict(shop.spent):
            return True
    if result.done():
        result.result()  # raises what the job failed for
    return False


def main() -> int:
    """Run the demo; return the status of the process."""
    with tempfile.TemporaryDirectory(prefix="penstock-redis-") as name:
        directory = Path(name)
        server = RedisProcess(directory)
        server.start()
        try:
            shop = Shop(server.url)
            shop.sell(AT_THE_START)
            say(f"{AT_THE_START:,} orders in the stream, {LIVE} more to come")
            selling = threading.Thread(target=keep_selling, args=(shop,), daemon=True)
            selling.start()
            client = build(server.url, env=environment(directory)).execute_async("totals")
            is_right = watch(shop, selling, client)
            client.cancel().result()
        finally:
            server.stop()
    say("Every order is in the totals, once." if is_right else "The totals are wrong.")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
