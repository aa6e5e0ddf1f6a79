"""Exactly once between tables of PostgreSQL, tested by SIGKILL of the driver at every step, and crashes of the server.

One checkpoint directory, one driver after the other: each goes on where the one before was killed, a step further.
The tables must be what one uninterrupted run would have written.
"""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.postgres.server import PostgresServer
from tests.faults.drivers import Drivers
from tests.postgres_server import Database, unavailable

CAPTURES = [f"postgres.{step}:1" for step in ("begun", "published", "slot-made", "captured")]
PLACES = [
    *CAPTURES,
    "snapshot.captured:1",
    "snapshot.recorded:1",
    "postgres.decided:2",
    "postgres.marked:2",
    "postgres.written:1",
    "postgres.committed:1",
    "postgres.committed:3",
    "log.before-confirm:2",
]
KEYS = 5
SETTINGS = {
    "execution.runtime-mode": "STREAMING",
    "execution.live.max-records-per-batch": "10",
}
TABLES = (
    "create table orders (id int primary key, key text)",
    "create table totals (key text primary key, n bigint)",
    "create table history (key text, n bigint)",
)


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A server that the test may kill."""
    reason = unavailable()
    if reason is not None:
        pytest.skip(reason)
    made = PostgresServer({"fsync": "on", "max_slot_wal_keep_size": "-1"})
    try:
        made.start()
        yield made
    finally:
        made.remove()


def drivers_of(db: Database, tmp_path: Path, slot: str) -> Drivers:
    script = Path(__file__).parent / "jobs" / "postgres_totals.py"
    return Drivers(script, (db.dsn, slot), tmp_path / "job", tmp_path / "markers", SETTINGS)


def add(db: Database, first: int, last: int) -> None:
    db.run(
        f"insert into orders select n, 'k' || n % {KEYS} from generate_series({first}, {last - 1}) n"
    )


def await_totals(db: Database, count: int) -> None:
    def are_there() -> bool:
        return db.run("select coalesce(sum(n), 0)::bigint from totals") == [(count,)]

    until = time.monotonic() + 120
    while not are_there():
        assert time.monotonic() < until, "the totals do not come"
        time.sleep(0.1)


def check(db: Database, count: int) -> None:
    every = Counter((f"k{n % KEYS}", n // KEYS + 1) for n in range(count))
    assert Counter(db.run("select key, n from history")) == every
    assert (
        db.value("select count(*) from pg_class where relname like 'stage%' and relkind = 'r'") == 0
    )


def test_totals_are_written_once_over_a_chain_of_killed_drivers(
    tmp_path: Path, postgres: Database
) -> None:
    postgres.run(*TABLES)
    add(postgres, 0, 120)
    slot = postgres.slot()
    drivers = drivers_of(postgres, tmp_path, slot)
    for place in PLACES:
        drivers.is_killed_at(place)
    add(postgres, 120, 200)
    process = drivers.start()
    try:
        await_totals(postgres, 200)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    process = drivers.start()
    try:
        add(postgres, 200, 220)
        await_totals(postgres, 220)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    check(postgres, 220)
    slots = "select count(*) from pg_replication_slots where database = current_database()"
    assert postgres.value(slots) == 1


def test_a_server_that_crashes_and_comes_back_loses_and_doubles_nothing(
    tmp_path: Path, server: PostgresServer
) -> None:
    db = Database(server.dsn, "postgres")
    db.run(*TABLES)
    add(db, 0, 100)
    drivers = drivers_of(db, tmp_path, "crashes")
    process = drivers.start()
    try:
        await_totals(db, 100)
        for first in (100, 200, 300):
            add(db, first, first + 100)
            time.sleep(0.3)  # within the epochs that read and write it
            server.kill() if first != 200 else server.stop()
            time.sleep(0.5)
            server.start()
            await_totals(db, first + 100)
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGKILL)
        output, _ = process.communicate()
    assert "Traceback" not in output
    check(db, 400)


def test_a_slot_that_the_server_gives_up_is_told(tmp_path: Path) -> None:
    reason = unavailable()
    if reason is not None:
        pytest.skip(reason)
    server = PostgresServer({"max_slot_wal_keep_size": "1MB", "min_wal_size": "32MB"})
    try:
        server.start()
        db = Database(server.dsn, "postgres")
        db.run(*TABLES)
        add(db, 0, 10)
        drivers = drivers_of(db, tmp_path, "lost")
        drivers.is_killed_at("snapshot.recorded:1")
        filler = "insert into filler select repeat('x', 1000) from generate_series(1, 60000)"
        db.run("create table filler (s text)", filler, "select pg_switch_wal()", "checkpoint")
        state = db.value("select wal_status from pg_replication_slots")
        assert state == "lost"
        output = drivers.is_refused()
        assert "replication slot 'lost' is lost" in output
        assert "new checkpoint directory" in output
    finally:
        server.remove()
