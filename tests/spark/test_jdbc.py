"""Other databases, by the functions of their page: each row once, over failures at every step, and read as history."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from penstock.common import Types
from tests.spark.conftest import Environment, Failures
from tests.spark.test_for_each_batch import PAIR, RECORDS, STEPS, job

PAGE = Path(__file__).parents[2] / "docs" / "connectors" / "jdbc.md"
DRIVER = "org.apache.derby.iapi.jdbc.AutoloadedDriver"


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    found: dict[str, Any] = {"__name__": "jdbc_page"}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE):
        exec(compile(block, PAGE.name, "exec"), found)  # noqa: S102 - our own documentation
    return found


@pytest.fixture
def table(session: SparkSession, tmp_path: Path) -> str:
    """Make a table in a database of its own; return the address of the database."""
    gateway: Any = SparkContext._gateway
    java = gateway.jvm.java
    java.lang.System.setProperty("derby.stream.error.file", str(tmp_path / "derby.log"))
    url = f"jdbc:derby:memory:{tmp_path.name};create=true"
    connection = java.sql.DriverManager.getConnection(url)
    connection.createStatement().execute(
        'create table totals ("key" bigint, "n" bigint, "writer" varchar(200), "epoch" bigint)'
    )
    connection.close()
    return url


@pytest.mark.parametrize("mode", ["batch", "streaming", "mixed"])
def test_every_row_is_there_once_over_failures_at_every_step(
    environment: Environment,
    session: SparkSession,
    table: str,
    failures: Failures,
    page: dict[str, Any],
    mode: str,
) -> None:
    steps = [step.replace(":2:", ":1:") for step in STEPS] if mode == "batch" else STEPS
    settings = failures.at(*steps) | {"execution.live.max-records-per-batch": 500}
    env = environment(mode, **settings)
    job(env, partial(page["append"], url=table, table="totals", driver=DRIVER))
    env.execute("totals")
    failures.check_all_happened()
    rows = session.read.jdbc(table, "totals", properties={"driver": DRIVER}).collect()
    assert Counter((row.key, row.n) for row in rows) == Counter((n % 5, n) for n in range(RECORDS))
    epochs = {row.epoch for row in rows}
    assert epochs == {1} if mode == "batch" else len(epochs) > 2


def test_a_table_is_history(
    environment: Environment, session: SparkSession, table: str, page: dict[str, Any]
) -> None:
    pairs = session.createDataFrame(
        [(n % 3, n, "w", 1) for n in range(30)], "key long, n long, writer string, epoch long"
    )
    pairs.write.jdbc(table, "totals", mode="append", properties={"driver": DRIVER})
    env = environment("mixed")
    rows = page["rows_of"](env, table, "totals", PAIR, driver=DRIVER)
    sums = rows.map(lambda row: (row.key, row.n), output_type=Types.TUPLE([Types.LONG()] * 2))
    last: dict[int, int] = {}
    for key, total in sums.key_by(lambda pair: pair[0]).sum(1).execute_and_collect():
        last[key] = max(total, last.get(key, 0))
    assert last == {key: sum(range(key, 30, 3)) for key in range(3)}
