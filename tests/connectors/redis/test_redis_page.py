"""The programs of the page about Redis run, against the server of the tests."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from examples.redis.totals import build
from tests.redis_server import Server

PAGE = Path(__file__).parents[3] / "docs" / "connectors" / "redis.md"
BLOCKS = re.findall(
    r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
)
URL = "redis://localhost:6379/0"


@pytest.mark.parametrize("block", BLOCKS, ids=lambda each: each.split("\n")[2])
def test_a_program_runs(valkey: Server, block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = valkey.name()
    for customer, amount in (("ann", 5), ("bob", 3), ("ann", 2)):
        valkey.client.xadd(stream, {"customer": customer, "amount": amount})
    assert URL in block
    text = block.replace(URL, valkey.url).replace('"orders")', f'"{stream}")')
    module = ModuleType("redis_page")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(text, str(PAGE), "exec"), vars(module))  # noqa: S102 - our own documentation


def test_the_page_has_programs() -> None:
    assert len(BLOCKS) == 2
    assert "assert sorted(" in BLOCKS[0]


def test_the_program_of_the_demo_reads_a_stream() -> None:
    plan = build("redis://127.0.0.1:1").get_execution_plan()
    assert "orders" in plan
    assert "totals" in plan
