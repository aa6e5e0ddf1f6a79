"""The programs of the page about Kafka run, against the broker of the tests."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from examples.kafka.totals import build, orders, totals
from tests.kafka_broker import HOUR_AGO_MS, Broker

PAGE = Path(__file__).parents[3] / "docs" / "connectors" / "kafka.md"
BLOCKS = re.findall(
    r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
)
VALUES = [b'{"customer": "ann", "amount": 5}', b'{"customer": "bob", "amount": 3}', b"\xff"]


START = ".set_starting_offsets(KafkaOffsetsInitializer.earliest())"
CHANGES = {
    START: f"{START}.set_bounded(KafkaOffsetsInitializer.timestamp({HOUR_AGO_MS + 2_000}))",
    'env.execute("totals")': "from penstock.testing import run_in_process; run_in_process(env)",
}
"""A program that never ends ends where the records end that it can read, and needs no Spark."""


@pytest.mark.parametrize("block", BLOCKS, ids=lambda each: each.split("\n")[0])
def test_a_program_runs(kafka: Broker, block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = kafka.topic(1, "orders")
    kafka.add(topic, *VALUES)
    for old, new in CHANGES.items():
        block = block.replace(old, new)
    text = block.replace("localhost:9092", kafka.servers).replace('"orders"', f'"{topic}"')
    module = ModuleType("kafka_page")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(text, str(PAGE), "exec"), vars(module))  # noqa: S102 - our own documentation


def test_the_page_has_programs() -> None:
    assert len(BLOCKS) >= 3
    assert all(any(old in block for block in BLOCKS) for old in CHANGES)


def test_the_program_of_the_demo_reads_files_and_then_kafka() -> None:
    env = build(orders("127.0.0.1:1", "/data/orders", 1_000), totals("127.0.0.1:1"))
    plan = env.get_execution_plan()
    assert "orders" in plan
    assert "totals" in plan
    assert (
        orders("127.0.0.1:1", "/data/orders", 1_000)
        .describe()
        .endswith(", then kafka topic orders")
    )
    assert totals("127.0.0.1:1").describe() == "kafka, exactly-once"
