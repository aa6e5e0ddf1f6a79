"""The script of the proposal CodedRowData on Spark: from files and from topics, history and live, against a join by brute force."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kafka_broker import Broker
from tests.spark.conftest import Environment, Failures
from tests.spark.test_logs import stop
from tests.spark.waiting import wait_for
from tests.sql.coded_join_seed import (
    EXAMPLES,
    TOPICS,
    answer,
    into_files,
    messages,
    of_files,
    of_topics,
    put_file,
    put_topic,
    written,
)

ORDERS, REFUNDS = map(messages, TOPICS)
WANTED = answer(ORDERS, REFUNDS)
HISTORY = 40
MONITORED = ", 'source.monitor-interval' = '100 ms'"


@pytest.fixture(autouse=True)
def _functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)


def put(root: Path, number: int, part: slice) -> None:
    for topic, of in zip(TOPICS, (ORDERS, REFUNDS), strict=True):
        put_file(root, topic, number, of[part])


def test_files_are_joined_in_batch(environment: Environment, tmp_path: Path) -> None:
    put(tmp_path, 0, slice(HISTORY))
    put(tmp_path, 1, slice(HISTORY, None))
    env = environment("batch")
    env.execute_sql(into_files(of_files(tmp_path), tmp_path / "out"))
    assert written(tmp_path / "out") == WANTED


@pytest.mark.parametrize(
    ("mode", "coded"), [("mixed", True), ("mixed", False), ("streaming", True)]
)
def test_files_are_joined_as_they_come_whatever_fails(
    environment: Environment, tmp_path: Path, failures: Failures, mode: str, coded: bool
) -> None:
    put(tmp_path, 0, slice(HISTORY))
    settings = {"table.exec.enable-coded-rowdata": coded} | failures.at("live.committed:1:raise")
    env = environment(mode, **settings)
    env.sql_session.add(into_files(of_files(tmp_path, MONITORED), tmp_path / "out"))
    client = env.execute_async("seed")
    history = answer(ORDERS[:HISTORY], REFUNDS[:HISTORY])
    wait_for(client, lambda: written(tmp_path / "out") == history)
    put(tmp_path, 1, slice(HISTORY, None))
    wait_for(client, lambda: written(tmp_path / "out") == WANTED)
    stop(client)
    failures.check_all_happened()


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_topics_are_joined(
    environment: Environment, tmp_path: Path, kafka: Broker, mode: str
) -> None:
    topics = {name: kafka.topic(name=name) for name in TOPICS}
    for topic, of in zip(topics.values(), (ORDERS, REFUNDS), strict=True):
        put_topic(kafka, topic, of)
    env = environment(mode, **{"table.exec.enable-coded-rowdata": True})
    env.execute_sql(into_files(of_topics(kafka, topics), tmp_path / "out"))
    assert written(tmp_path / "out") == WANTED
