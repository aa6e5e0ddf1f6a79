"""Shows `totals` with tables of its own: `make delta-demo`.

It makes a table of orders, and adds orders to it while the program runs. It prints the totals that a reader sees, and
says at the end whether they are right.
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

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from examples.delta.totals import build
from examples.showing import environment, say

CUSTOMERS = ("ann", "bob", "cid", "dee")
AT_THE_START = 20_000
VERSIONS = 12
LONGEST_SECONDS = 120.0


class Shop:
    """Makes orders, and knows what each customer has spent."""

    def __init__(self, table: Path) -> None:
        self.spent: Counter[str] = Counter()
        self._table = table
        self._chance = random.Random(7)  # noqa: S311 - orders of nobody

    def sell(self, count: int) -> None:
        """Add orders as one version of the table."""
        customers = self._chance.choices(CUSTOMERS, k=count)
        amounts = [self._chance.randint(1, 99) for _ in range(count)]
        for customer, amount in zip(customers, amounts, strict=True):
            self.spent[customer] += amount
        orders = pa.table({"customer": customers, "amount": amounts})
        write_deltalake(self._table, orders, mode="append")


def keep_selling(shop: Shop) -> None:
    """Add versions, two a second."""
    for number in range(VERSIONS):
        shop.sell(number + 1)
        time.sleep(0.5)


def watch(totals: Path, shop: Shop, selling: threading.Thread, client: Any) -> bool:
    """Print totals as they come; return whether they are right in the end."""
    until, seen = time.monotonic() + LONGEST_SECONDS, -1
    result = client.get_job_execution_result()
    found: dict[str, int] = {}
    while time.monotonic() < until and not result.done():
        time.sleep(0.2)
        if not DeltaTable.is_deltatable(str(totals)):
            continue
        table = DeltaTable(totals)
        if table.version() > seen:
            seen = table.version()
            rows = table.to_pyarrow_table().to_pylist()
            found = {row["customer"]: row["amount"] for row in rows}
            shown = "  ".join(f"{name} {found.get(name, 0):>9,}" for name in CUSTOMERS)
            say(f"version {seen:>2}   {shown}")
        if not selling.is_alive() and found == dict(shop.spent):
            return True
    if result.done():
        result.result()  # raises what the job failed for
    return False


def main() -> int:
    """Run the demo; return the status of the process."""
    with tempfile.TemporaryDirectory(prefix="penstock-delta-") as name:
        directory = Path(name)
        orders, totals = directory / "orders", directory / "totals"
        shop = Shop(orders)
        shop.sell(AT_THE_START)
        say(f"{AT_THE_START:,} orders in the table, {VERSIONS} more versions to come")
        selling = threading.Thread(target=keep_selling, args=(shop,), daemon=True)
        selling.start()
        client = build(str(orders), str(totals), environment(directory)).execute_async("totals")
        is_right = watch(totals, shop, selling, client)
        client.cancel().result()
    say("Every order is in the totals, once." if is_right else "The totals are wrong.")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
