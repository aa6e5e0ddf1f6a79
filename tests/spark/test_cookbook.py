"""The programs of the cookbook that connect systems do what it says, against the systems of the tests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.api.environment.job import JobClient
from penstock.connectors.postgres.client import close_sessions
from tests.kafka_broker import HOUR_AGO_MS, Broker
from tests.postgres_server import Database
from tests.spark.test_logs import stop
from tests.spark.waiting import wait_for

PAGE = Path(__file__).parents[2] / "docs" / "cookbook" / "systems.md"
PROGRAMS = dict(
    re.findall(
        r"^## ([^\n]+)\n(?:(?!^## ).)*?^```python\n(.*?)^```",
        PAGE.read_text(encoding="utf-8"),
        re.DOTALL | re.MULTILINE,
    )
)
EXECUTE = re.compile(r"^env\.execute\(", re.MULTILINE)
DSN = "host=localhost dbname=shop user=etl"

Run = Callable[[str, Mapping[str, str]], JobClient]


@pytest.fixture
def run(session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Start a program of the page in a directory of its own, with other names in it."""
    monkeypatch.chdir(tmp_path)

    def start(title: str, names: Mapping[str, str]) -> JobClient:
        text = PROGRAMS[title]
        for old, new in names.items():
            assert old in text
            text = text.replace(old, new)
        assert EXECUTE.search(text) is not None
        scope: dict[str, Any] = {}
        exec(compile(EXECUTE.sub("client = env.execute_async(", text), str(PAGE), "exec"), scope)  # noqa: S102
        client: JobClient = scope["client"]
        return client

    return start


@pytest.fixture(autouse=True)
def closed() -> Any:
    yield
    close_sessions()


def newest(kafka: Broker, topic: str) -> dict[bytes | None, Any]:
    """Return the newest value of each key, as a compacted topic has it."""
    found = {message.key(): message.value() for message in kafka.messages(topic)}
    return {key: json.loads(value) for key, value in found.items() if value is not None}


def orders(*of: tuple[str, int], since: int = 0) -> list[dict[str, Any]]:
    """Return orders with the times that the broker gives records."""
    times = range(HOUR_AGO_MS + since * 1_000, HOUR_AGO_MS + 10**6, 1_000)
    return [
        {"customer": customer, "amount": amount, "at": at}
        for (customer, amount), at in zip(of, times, strict=False)
    ]


def lines(records: list[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(each).encode() for each in records]


def test_every_program_has_a_test() -> None:
    assert list(PROGRAMS) == [
        "Parquet, then Kafka",
        "A PostgreSQL table and its changes, to Kafka",
        "Kafka to Delta",
        "Dead letters",
        "Enrichment from a table",
    ]
    assert PAGE.read_text(encoding="utf-8").count("```python") == len(PROGRAMS)


def test_parquet_then_kafka(run: Run, kafka: Broker, tmp_path: Path) -> None:
    topic, totals = kafka.topic(1, "orders"), kafka.topic(1, "totals")
    (tmp_path / "orders").mkdir()
    history = orders(("ann", 5), ("bob", 3), ("ann", 1))
    pq.write_table(pa.Table.from_pylist(history), tmp_path / "orders" / "0.parquet")
    kafka.add(topic, *lines(history[:2] + orders(("ann", 1), ("ann", 2), since=2)))
    names = {
        "localhost:9092": kafka.servers,
        '"orders")\n        .set_starting': f'"{topic}")\n        .set_starting',
        '"totals")\n\n': f'"{totals}")\n\n',
        'id_prefix("totals")': f'id_prefix("{totals}")',
    }
    client = run("Parquet, then Kafka", names)
    wait_for(client, lambda: newest(kafka, totals) == {b"ann": 8, b"bob": 3})
    kafka.add(topic, *lines(orders(("bob", 4), since=4)), after_ms=4_000)
    wait_for(client, lambda: newest(kafka, totals) == {b"ann": 8, b"bob": 7})
    stop(client)
    found = [(message.key(), message.value()) for message in kafka.messages(totals)]
    assert sorted(found) == [(b"ann", b"6"), (b"ann", b"8"), (b"bob", b"3"), (b"bob", b"7")]


def test_postgres_to_kafka(run: Run, kafka: Broker, postgres: Database) -> None:
    topic = kafka.topic(1, "customers")
    postgres.run(
        "create table customers (id bigint primary key, name text)",
        "insert into customers values (1, 'ann'), (2, 'bob')",
    )
    names = {
        "localhost:9092": kafka.servers,
        DSN: postgres.dsn,
        "customers_to_kafka": postgres.slot(),
        'value, "customers")': f'value, "{topic}")',
        'id_prefix("customers")': f'id_prefix("{topic}")',
    }
    client = run("A PostgreSQL table and its changes, to Kafka", names)
    first = {b"[1]": {"id": 1, "name": "ann"}, b"[2]": {"id": 2, "name": "bob"}}
    wait_for(client, lambda: newest(kafka, topic) == first)
    postgres.run(
        "update customers set name = 'eve' where id = 1",
        "delete from customers where id = 2",
        "insert into customers values (3, 'joe')",
    )
    last = {b"[1]": {"id": 1, "name": "eve"}, b"[3]": {"id": 3, "name": "joe"}}
    wait_for(client, lambda: newest(kafka, topic) == last)
    postgres.run("update customers set id = 4 where id = 3")
    moved = {b"[1]": {"id": 1, "name": "eve"}, b"[4]": {"id": 4, "name": "joe"}}
    wait_for(client, lambda: newest(kafka, topic) == moved)
    stop(client)


def test_kafka_to_delta(run: Run, kafka: Broker, tmp_path: Path) -> None:
    topic, table = kafka.topic(1, "orders"), str(tmp_path / "tables" / "orders")
    history = orders(("ann", 5), ("bob", 3))
    kafka.add(topic, *lines(history))
    names = {
        "localhost:9092": kafka.servers,
        'set_topics("orders")': f'set_topics("{topic}")',
        '"30 s"': '"100 ms"',
    }
    client = run("Kafka to Delta", names)

    def rows() -> list[dict[str, Any]]:
        if not deltalake.DeltaTable.is_deltatable(table):
            return []
        found = deltalake.DeltaTable(table).to_pyarrow_table().to_pylist()
        return sorted(found, key=lambda order: order["at"])

    wait_for(client, lambda: rows() == history)
    more = orders(("ann", 2), since=2)
    kafka.add(topic, *lines(more), after_ms=2_000)
    wait_for(client, lambda: rows() == history + more)
    stop(client)


def test_dead_letters(run: Run, kafka: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    topic, dead = kafka.topic(1, "orders"), kafka.topic(1, "orders-dead")
    kafka.add(topic, *lines(orders(("ann", 5))), b"no order", *lines(orders(("ann", 2))))
    names = {
        "localhost:9092": kafka.servers,
        'set_topics("orders")': f'set_topics("{topic}")',
        '"orders-dead"': f'"{dead}"',
        'id_prefix("dead-orders")': f'id_prefix("{dead}")',
    }
    client = run("Dead letters", names)
    wait_for(client, lambda: kafka.values(dead) == [b"no order"])
    (letter,) = kafka.messages(dead)
    headers = dict(letter.headers())
    assert headers["where"] == f"{topic}[0]@1".encode()
    assert b"JSON" in headers["reason"]
    printed = ""

    def both_are_shown() -> bool:
        nonlocal printed
        printed += capsys.readouterr().out
        return "customer='ann', amount=7" in printed

    wait_for(client, both_are_shown)
    stop(client)


def test_enrichment(
    run: Run, kafka: Broker, postgres: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = kafka.topic(1, "clicks")
    postgres.run(
        "create table customers (id bigint primary key, name text)",
        "insert into customers values (1, 'ann')",
    )
    kafka.add(topic, b'{"customer": 2, "page": "/early"}', b'{"customer": 1, "page": "/a"}')
    names = {
        "localhost:9092": kafka.servers,
        'set_topics("clicks")': f'set_topics("{topic}")',
        DSN: postgres.dsn,
        "customers_beside_clicks": postgres.slot(),
    }
    client = run("Enrichment from a table", names)
    printed = ""

    def shows(*results: str) -> Callable[[], bool]:
        def holds() -> bool:
            nonlocal printed
            printed += capsys.readouterr().out
            return all(result in printed for result in results)

        return holds

    wait_for(client, shows("('ann', '/a')"))
    assert "/early" not in printed
    postgres.run("insert into customers values (2, 'bob')")
    wait_for(client, shows("('bob', '/early')"))
    postgres.run("update customers set name = 'eve' where id = 1")
    kafka.add(topic, b'{"customer": 2, "page": "/b"}', after_ms=9_000)
    wait_for(client, shows("('bob', '/b')"))
    stop(client)
    assert printed.count("/early") == 1
