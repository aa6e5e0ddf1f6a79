"""Hints: what Flink has and Penstock has not is an error that names what is written in its place."""

from __future__ import annotations

import pytest

from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import SqlError

TABLE = """
CREATE TABLE t (id BIGINT, k STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
WITH ('connector' = 'datagen', 'number-of-rows' = '2');
"""
SECONDS = "INTERVAL '10' SECOND"
HINTS = {
    f"SELECT COUNT(*) FROM t GROUP BY SESSION(ts, {SECONDS})": "SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), gap)",
    f"SELECT COUNT(*) FROM t GROUP BY k, TUMBLE(ts, {SECONDS})": "GROUP BY window_start, window_end",
    f"SELECT COUNT(*) FROM t GROUP BY HOP(ts, {SECONDS}, {SECONDS})": "HOP(TABLE t, DESCRIPTOR(ts), slide, size)",
    f"SELECT TUMBLE_START(ts, {SECONDS}) FROM t": "take window_start",
    f"SELECT HOP_END(ts, {SECONDS}, {SECONDS}) FROM t": "take window_end",
    f"SELECT SESSION_ROWTIME(ts, {SECONDS}) FROM t": "take window_time",
    "CREATE TABLE u (x INT) WITH ('connector' = 'print') LIKE t (EXCLUDING OPTIONS)": "LIKE and the name alone",
    "CREATE TABLE u (x INT) LIKE t (INCLUDING ALL OVERWRITING OPTIONS)": "LIKE and the name alone",
    "CREATE TABLE u LIKE t EXCLUDING ALL": "LIKE and the name alone",
    "USE CATALOG c": "no catalogs",
    "CREATE DATABASE d": "no catalogs",
    "SHOW DATABASES": "no catalogs",
    "DROP CATALOG c": "no catalogs",
    "ALTER TABLE t RENAME TO u": "DROP it, and CREATE it",
    "UPDATE t SET id = 1": "primary key replaces rows",
    "DELETE FROM t": "rows of its connector",
    "ADD JAR 'x'": "spark.jars",
    "DESCRIBE EXTENDED t": "Write DESCRIBE and the name",
    "CREATE VIEW v AS SELECT 1 AS a; DROP TABLE v": "DROP VIEW v",
    "DROP VIEW t": "DROP TABLE t",
}


@pytest.mark.parametrize("statement", HINTS)
def test_an_error_names_what_is_written_instead(statement: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.sql_session.add(TABLE)
    with pytest.raises(SqlError) as caught:
        env.sql_session.execute(statement)
    assert HINTS[statement] in caught.value.hint
    assert "did you mean" not in caught.value.problem


def test_a_table_may_be_called_extended() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.sql_session.add("CREATE TABLE extended (a INT) WITH ('connector' = 'datagen')")
    assert env.execute_sql("DESCRIBE extended").collect()
