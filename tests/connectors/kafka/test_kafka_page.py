"""The programs of the page about Kafka do what it says, against the broker of the tests."""

from __future__ import annotations

import re
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from examples.kafka.totals import build, orders, totals
from penstock.graph.endpoints import SinkContext
from penstock.testing import run_in_process
from tests.connectors.conftest import MakeContext
from tests.kafka_broker import HOUR_AGO_MS, Broker

PAGE = Path(__file__).parents[3] / "docs" / "connectors" / "kafka.md"
BLOCKS = re.findall(
    r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
)
VALUES = [b'{"customer": "ann", "amount": 5}', b'{"customer": "bob", "amount": 3}', b"\xff"]


START = ".set_starting_offsets(KafkaOffsetsInitializer.earliest())"
CHANGES = {
    START: f"{START}.set_bounded(KafkaOffsetsInitializer.timestamp({HOUR_AGO_MS + 2_000}))",
    'env.execute("totals")': "from penstock.testing import run_in_process; found = run_in_process(env)",
}
"""A program that never ends ends where the records end that it can read, and needs no Spark."""


@dataclass(frozen=True)
class Ran:
    """What a program left behind.

    Attributes:
        names: Its variables.
        topic: The topic that it was given.
        kafka: The broker.
        context: For its sinks.
    """

    names: dict[str, Any]
    topic: str
    kafka: Broker
    context: SinkContext


def totals_are_right(ran: Ran) -> None:
    found = ran.names["found"].of()
    assert [(total.customer, total.amount) for total in found] == [("ann", 5), ("bob", 3)]


def records_are_written(ran: Ran) -> None:
    records = run_in_process(ran.names["env"]).of("out")
    assert records == ["a", "b"]
    sink = ran.names["sink"]
    committer = sink.create_committer(replace(ran.context, subtask=-1))
    committer.recover()
    writer = sink.create_writer(ran.context)
    writer.write(records)
    committer.commit("1", writer.prepare_commit())
    committer.close()
    assert ran.kafka.values(ran.topic) == [*VALUES, b"a", b"b"]


def secrets_are_hidden(ran: Ran) -> None:
    ran.names["builder"].set_bootstrap_servers(ran.kafka.servers).set_topics(ran.topic)
    source = ran.names["builder"].set_deserializer(str).build()
    shown = repr(source.properties)
    assert "sasl.username=shop" in shown
    assert "sasl.password=******" in shown


CHECKS: dict[str, Callable[[Ran], None]] = {
    'env.execute("totals")': totals_are_right,
    "set_delivery_guarantee": records_are_written,
    "sasl.password": secrets_are_hidden,
}
"""What only one program of the page has, and what is true when it has run."""


@pytest.mark.parametrize("block", BLOCKS, ids=lambda each: each.split("\n")[0])
def test_a_program_does_what_the_page_says(
    kafka: Broker, block: str, monkeypatch: pytest.MonkeyPatch, make_context: MakeContext
) -> None:
    (check,) = (check for mark, check in CHECKS.items() if mark in block)
    topic = kafka.topic(1, "orders")
    kafka.add(topic, *VALUES)
    for old, new in CHANGES.items():
        block = block.replace(old, new)
    text = block.replace("localhost:9092", kafka.servers).replace('"orders"', f'"{topic}"')
    module = ModuleType("kafka_page")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(text, str(PAGE), "exec"), vars(module))  # noqa: S102 - our own documentation
    context = replace(make_context(), job_id=uuid.uuid4().hex)
    check(Ran(vars(module), topic, kafka, context))


def test_every_program_of_the_page_is_looked_at() -> None:
    assert len(BLOCKS) == len(CHECKS)
    assert all(sum(mark in block for block in BLOCKS) == 1 for mark in CHECKS)
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
