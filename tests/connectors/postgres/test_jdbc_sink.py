"""PyFlink's `JdbcSink` is a sink of PostgreSQL, or says why it is not."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Types
from penstock.connectors.postgres.values import TableName
from penstock.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
)
from penstock.datastream.connectors.postgres import PostgresSink
from penstock.errors import ArgumentError

SECRET = "it's s3cr3t"  # noqa: S105 - of nobody
ROW = Types.ROW([Types.STRING(), Types.LONG()])


def sink(sql: Any, url: Any = "jdbc:postgresql://db.example:5433/shop") -> PostgresSink:
    options = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(url)
    options.with_driver_name("org.postgresql.Driver").with_user_name("etl").with_password(SECRET)
    often = JdbcExecutionOptions.builder().with_batch_interval_ms(1000).with_batch_size(200)
    return JdbcSink.sink(sql, ROW, options.build(), often.with_max_retries(5).build())


STATEMENTS: list[tuple[str, TableName, tuple[str, ...], tuple[str, ...]]] = [
    ("insert into t (a, B) values (?, ?)", TableName("public", "t"), ("a", "b"), ()),
    ("insert into ÄPFEL (É, İx) values (?, ?)", TableName("public", "Äpfel"), ("É", "İx"), ()),
    ("INSERT INTO s.T(a)VALUES(?);", TableName("s", "t"), ("a",), ()),
    (
        'insert into "S x"."T""y" ("a, b", c) values (?, ?)',
        TableName("S x", 'T"y'),
        ("a, b", "c"),
        (),
    ),
    (
        "insert into t (a, b, c) values (?, ?, ?)\non conflict (a) do update set b = excluded.b, c = EXCLUDED.c",
        TableName("public", "t"),
        ("a", "b", "c"),
        ("a",),
    ),
    (
        "insert into t (a, b) values (?, ?) on conflict (a, b) do nothing",
        TableName("public", "t"),
        ("a", "b"),
        ("a", "b"),
    ),
]


@pytest.mark.parametrize(("sql", "table", "columns", "keys"), STATEMENTS)
def test_an_insert_is_a_sink(
    sql: str, table: TableName, columns: tuple[str, ...], keys: tuple[str, ...]
) -> None:
    made = sink(sql)
    assert (made.writes.table, made.writes.columns, made.writes.keys) == (table, columns, keys)
    assert made.address.parts() == {
        "host": "db.example",
        "port": "5433",
        "dbname": "shop",
        "user": "etl",
        "password": SECRET,
    }
    assert SECRET not in repr(made)


REFUSED = [
    "update t set a = ?",
    "insert into t values (?, ?)",
    "insert into t (a, b) values (?)",
    "insert into t (a, b) values (?, 7)",
    "insert into t (a, b) values (?, ?) on conflict (a) do nothing",
    "insert into t (a, b) values (?, ?) on conflict (a) do update set b = t.b + excluded.b",
    "insert into t (a, b, c) values (?, ?, ?) on conflict (a) do update set b = excluded.b",
    "insert into t (a, b) values (?, ?) on conflict (a) do update set b = excluded.a",
    "insert into t (a, b) values (?, ?) on conflict (z) do update set b = excluded.b",
    "insert into t (a, b) values (?, ?); drop table t",
    7,
]


@pytest.mark.parametrize("sql", REFUSED)
def test_another_statement_is_refused(sql: Any) -> None:
    with pytest.raises(ArgumentError, match="the statement of a JdbcSink is") as error:
        sink(sql)
    assert "only the newest row of a key is written" in error.value.hint


@pytest.mark.parametrize("url", ["jdbc:mysql://db/shop", "postgresql://db/shop", "", 7])
def test_another_database_is_refused(url: Any) -> None:
    with pytest.raises(ArgumentError, match="does not begin with jdbc:postgresql") as error:
        sink("insert into t (a) values (?)", url)
    assert SECRET not in str(error.value)


def test_options_are_what_was_set() -> None:
    options = JdbcExecutionOptions.builder().with_batch_interval_ms(7).with_batch_size(8)
    made = options.with_max_retries(9).build()
    assert [made.get_batch_interval_ms(), made.get_batch_size(), made.get_max_retries()] == [
        7,
        8,
        9,
    ]
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url("jdbc:x")
    how = builder.with_driver_name("d").with_user_name("u").with_password(SECRET).build()
    assert (how.get_db_url(), how.get_driver_name()) == ("jdbc:x", "d")
    assert (how.get_user_name(), how.get_password()) == ("u", SECRET)
    assert SECRET not in repr(how)
