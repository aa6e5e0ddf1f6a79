"""The programs of the page about PostgreSQL run, against the server of the tests, and give what it says."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from examples.postgres.totals import build, orders, totals
from penstock.testing import run_in_process
from tests.connectors.conftest import MakeContext
from tests.connectors.sink_epochs import staged, started
from tests.postgres_server import Database

PAGE = Path(__file__).parents[3] / "docs" / "connectors" / "postgres.md"
BLOCKS = re.findall(
    r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
)
DSN = "host=localhost dbname=shop user=etl"


SINK = "env = StreamExecutionEnvironment.get_execution_environment()\nspent"
"""Of the program whose output is a table."""


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_program_runs_to_its_output(
    postgres: Database, block: str, monkeypatch: pytest.MonkeyPatch, make_context: MakeContext
) -> None:
    assert DSN in block
    postgres.run(
        "create table orders (id int primary key, customer text, amount bigint)",
        "insert into orders values (1, 'ann', 5), (2, 'bob', 3)",
        "create table totals (customer text primary key, amount bigint)",
        "insert into totals values ('ann', 1), ('cid', 1)",
    )
    text = re.sub(r'"(shop_\w+)"', lambda _: f'"{postgres.slot()}"', block)
    module = ModuleType("postgres_page")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(text.replace(DSN, postgres.dsn), str(PAGE), "exec"), vars(module))  # noqa: S102 - our own
    if SINK not in block:
        return
    sink, records = vars(module)["sink"], run_in_process(vars(module)["env"]).of("out")
    committer = started(sink, make_context())
    committer.commit("0-0", staged(sink, make_context(), *records))
    committer.close()
    totals_now = postgres.run("select * from totals order by customer")
    assert totals_now == [("ann", 7), ("bob", 3), ("cid", 1)]


def test_the_program_of_the_demo_keeps_totals_of_rows_and_changes(postgres: Database) -> None:
    postgres.run(
        "create table orders (id int primary key, customer text, amount bigint)",
        "insert into orders values (1, 'ann', 5), (2, 'bob', 3), (3, 'ann', 2)",
    )
    read = orders(postgres.dsn, postgres.slot())
    env = build(read, totals(postgres.dsn))
    seen = run_in_process(env).of("totals")
    assert sorted(seen) in (
        [("ann", 2), ("ann", 7), ("bob", 3)],
        [("ann", 5), ("ann", 7), ("bob", 3)],
    )
    assert max(amount for name, amount in seen if name == "ann") == 7
    assert read.describe() == "postgres table public.orders"


def test_the_page_has_programs() -> None:
    assert len(BLOCKS) >= 2
    assert sum(SINK in block for block in BLOCKS) == 1
