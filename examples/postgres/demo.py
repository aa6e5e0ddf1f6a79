"""Shows `totals` with a server of its own: `make postgres-demo`.

It starts a server, fills a table with orders, and inserts, changes and deletes some while the program runs. It prints the
totals, and says at the end whether they are those that the database itself computes.
"""

from __future__ import annotations

import random
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import psycopg

from examples.postgres.server import PostgresServer
from examples.postgres.totals import build, orders, totals
from examples.showing import environment, say

CUSTOMERS = ("ann", "bob", "cid", "dee")
ORDERS = 20_000
CHANGES = 60
LONGEST_SECONDS = 120.0

_TABLES = (
    "create table orders (id int primary key, customer text not null, amount bigint not null)",
    "create table totals (customer text primary key, amount bigint not null)",
)
_FILL = """\
insert into orders select n, (array['ann', 'bob', 'cid', 'dee'])[n %% 4 + 1], n * 7 %% 99 + 1
from generate_series(1, %s) n"""
_TRUE = "select customer, sum(amount)::bigint from orders group by customer"


def trade(dsn: str) -> None:
    """Insert, change and delete orders, ten a second."""
    chance = random.Random(7)  # noqa: S311 - orders of nobody
    with psycopg.connect(dsn, autocommit=True) as connection:
        for number in range(CHANGES):
            some = (chance.choice(CUSTOMERS), chance.randint(1, 99))
            order = chance.randint(1, ORDERS)
            connection.execute(
                "insert into orders values (%s, %s, %s)", (ORDERS + number + 1, *some)
            )
            connection.execute("update orders set amount = amount + 1 where id = %s", (order,))
            connection.execute("delete from orders where id = %s", (chance.randint(1, ORDERS),))
            time.sleep(0.1)


def watch(dsn: str, trading: threading.Thread, client: Any) -> bool:
    """Print totals as they come; return whether they are right in the end."""
    until, shown = time.monotonic() + LONGEST_SECONDS, ""
    result = client.get_job_execution_result()
    with psycopg.connect(dsn, autocommit=True) as connection:
        while time.monotonic() < until and not result.done():
            is_over = not trading.is_alive()
            found = dict(connection.execute("select customer, amount from totals").fetchall())
            line = "  ".join(f"{name} {found.get(name, 0):>9,}" for name in CUSTOMERS)
            if found and line != shown:
                shown = line
                say(line)
            if is_over and found == dict(connection.execute(_TRUE).fetchall()):
                return True
            time.sleep(0.5)
    if result.done():
        result.result()  # raises what the job failed for
    return False


def main() -> int:
    """Run the demo; return the status of the process."""
    server = PostgresServer()
    try:
        server.start()
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            for statement in _TABLES:
                connection.execute(statement)
            connection.execute(_FILL, (ORDERS,))
        say(f"{ORDERS:,} orders in a table, {3 * CHANGES} changes to come")
        with tempfile.TemporaryDirectory(prefix="penstock-postgres-demo-") as name:
            source, sink = orders(server.dsn, "demo"), totals(server.dsn)
            client = build(source, sink, environment(Path(name))).execute_async("totals")
            trading = threading.Thread(target=trade, args=(server.dsn,), daemon=True)
            trading.start()
            is_right = watch(server.dsn, trading, client)
            client.cancel().result()
        source.drop()
    finally:
        server.remove()
    say("The totals are those of the table." if is_right else "The totals are wrong.")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
