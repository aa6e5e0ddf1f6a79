"""Tables of PostgreSQL as input of benchmarks.

`PENSTOCK_BENCH_POSTGRES=dsn` names a server, which needs `wal_level=logical` and room for slots. Without it the runner starts one
of its own, on 127.0.0.1 and without fsync, and ends it with itself; the processes of systems inherit the variable.
"""

from __future__ import annotations

import atexit
import os
from typing import Any

import psycopg
from psycopg import sql

from examples.postgres.server import PostgresServer
from penstock.common import Types
from penstock.datastream.connectors.postgres import PostgresSource, PostgresSourceBuilder

SERVER = "PENSTOCK_BENCH_POSTGRES"

ROW = Types.ROW_NAMED(["id", "key", "amount"], [Types.LONG(), Types.LONG(), Types.LONG()])
"""Columns of every table here: row `i` of K keys is `(i, i % K, i * 7 % 99)`."""

ROWS_PER_TRANSACTION = 500
"""Inserted, and then updated, by a transaction of `change_table`."""

_CREATE = "create table {} (id bigint primary key, key bigint not null, amount bigint not null)"
_FILL = "insert into {} select n, n %% %s, n * 7 %% 99 from generate_series(%s::bigint, %s) n"
_UPDATE = "update {} set amount = amount + 1 where id between %s and %s"


def server() -> str:
    """Return what this process connects with."""
    return os.environ[SERVER]


def ensure_server() -> None:
    """Start a server that ends with this process, unless one is named or started."""
    if SERVER in os.environ:
        return
    made = PostgresServer({"max_wal_size": "8GB", "shared_buffers": "256MB"})
    atexit.register(made.remove)
    made.start()
    os.environ[SERVER] = made.dsn


def connected() -> Any:
    """Return a connection in autocommit mode."""
    return psycopg.connect(server(), autocommit=True)


def reading(table: str) -> PostgresSourceBuilder[PostgresSource]:
    """Return a builder of a source of a table's rows."""
    builder = PostgresSource.builder().set_dsn(server()).set_tables(f"public.{table}")
    return builder.set_upserts(ROW)


def make_table(name: str, rows: range, keys: int) -> bool:
    """Make a table with the rows of some numbers; return whether it was not there."""
    with connected() as connection:
        if connection.execute("select to_regclass(%s)", (name,)).fetchone() != (None,):
            return False
        with connection.transaction():
            connection.execute(_of(_CREATE, name))
            connection.execute(_of(_FILL, name), (keys, rows.start, rows.stop - 1))
        connection.execute(_of("vacuum (analyze) {}", name))
    return True


def change_table(name: str, rows: int, keys: int) -> None:
    """Insert rows 0, 1, … and update each, `ROWS_PER_TRANSACTION` per transaction."""
    with connected() as connection:
        for begin in range(0, rows, ROWS_PER_TRANSACTION):
            until = min(begin + ROWS_PER_TRANSACTION, rows) - 1
            with connection.transaction():
                connection.execute(_of(_FILL, name), (keys, begin, until))
                connection.execute(_of(_UPDATE, name), (begin, until))


def drop_table(name: str) -> None:
    """Drop a table."""
    with connected() as connection:
        connection.execute(_of("drop table {}", name))


def _of(statement: str, table: str) -> Any:
    return sql.SQL(statement).format(sql.Identifier(table))
