"""The program of the README and the first job with Kafka do what the pages say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.kafka_broker import Broker

TOP = Path(__file__).parents[2]
FLIGHTS: dict[str, list[tuple[Any, ...]]] = {
    "history": [("JFK", 5, False), ("EWR", 1, False), ("JFK", None, True), ("JFK", 3, False)],
    "live": [("JFK", 10, False), ("EWR", 2, False)],
}


PRINTED = sorted(["('JFK', 2, 8)", "('EWR', 1, 1)", "('JFK', 3, 18)", "('EWR', 2, 3)"])
"""Each airport once for all of history, and once live."""


def first_block(page: str) -> str:
    text = (TOP / page).read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return found[1]


def readme_program() -> str:
    """Return the program of the README, over input that ends."""
    program = first_block("README.md")
    assert ".monitor_continuously()" in program
    return program.replace(".monitor_continuously()", "")  # or the test would never end


def kafka_program(servers: str, topic: str) -> str:
    """Return the first job with Kafka, over input that ends; the README shows a part of it."""
    program = first_block("docs/start/first-kafka-job.md")
    for old, new in {
        "localhost:9092": servers,
        '.set_topics("orders")': f'.set_topics("{topic}")'
        ".set_bounded(KafkaOffsetsInitializer.latest())",
        'timestamp="at"': 'timestamp="at", is_bounded=True',
    }.items():
        assert old in program
        program = program.replace(old, new)
    return program


def write_flights(directory: Path) -> None:
    """Write what the program reads."""
    for name, flights in FLIGHTS.items():
        origins, delays, cancelled = zip(*flights, strict=True)
        table = {"origin": origins, "dep_delay": delays, "cancelled": cancelled}
        (directory / "demo-data" / name).mkdir(parents=True)
        pq.write_table(pa.table(table), directory / "demo-data" / name / "0.parquet")


def test_the_program_of_the_readme(
    session: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_flights(tmp_path)
    monkeypatch.chdir(tmp_path)
    exec(compile(readme_program(), "README.md", "exec"), {})  # noqa: S102 - our own documentation
    printed = [line.split("> ")[-1] for line in capsys.readouterr().out.splitlines()]
    assert sorted(printed) == PRINTED
    assert (tmp_path / "checkpoint" / "finished.json").exists()


def test_the_program_that_goes_on_with_kafka(
    session: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kafka: Broker,
) -> None:
    topic = kafka.topic(1, "orders")
    monkeypatch.chdir(tmp_path)
    page = (TOP / "docs" / "start" / "first-kafka-job.md").read_text(encoding="utf-8")
    (maker,) = re.findall(r'```python title="make_orders.py"\n(.*?)```', page, re.DOTALL)
    maker = maker.replace("localhost:9092", kafka.servers).replace(
        'produce("orders"', f'produce("{topic}"'
    )
    exec(compile(maker, "make_orders.py", "exec"), {})  # noqa: S102
    exec(compile(kafka_program(kafka.servers, topic), "first-kafka-job.md", "exec"), {})  # noqa: S102
    printed = capsys.readouterr().out.splitlines()
    assert sorted(printed[:2]) == ["('ann', 5)", "('bob', 3)"]
    assert printed[2:] == ["('ann', 7)"]
    assert (tmp_path / "checkpoint-orders" / "finished.json").exists()
