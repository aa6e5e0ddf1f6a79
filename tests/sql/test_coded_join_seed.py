"""The script of the proposal CodedRowData, `examples/coded_join_seed.sql`, against a join by brute force; on Spark and from files: tests/spark."""

from __future__ import annotations

import pytest

from penstock.datastream import StreamExecutionEnvironment
from penstock.testing import Schedule, run_in_process
from tests.kafka_broker import Broker
from tests.sql.coded_join_seed import (
    EXAMPLES,
    SCRIPT,
    TOPICS,
    answer,
    left,
    messages,
    of_topics,
    put_topic,
)

ORDERS, REFUNDS = map(messages, TOPICS)
WANTED = answer(ORDERS, REFUNDS)


@pytest.fixture(autouse=True)
def _functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)


def test_the_data_has_every_case() -> None:
    assert len(WANTED) > len(ORDERS)
    assert any(row[-1] is None and row[21] is not None for row in WANTED)
    assert any(row[21] is None for row in WANTED)


@pytest.mark.parametrize("coded", ["true", "false"])
@pytest.mark.parametrize("mode", ["BATCH", "STREAMING"])
def test_topics_are_joined(kafka: Broker, mode: str, coded: str) -> None:
    topics = {name: kafka.topic(name=name) for name in TOPICS}
    for topic, of in zip(topics.values(), (ORDERS, REFUNDS), strict=True):
        put_topic(kafka, topic, of)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.execute_sql(
        f"SET 'execution.runtime-mode' = '{mode}'; SET 'table.exec.enable-coded-rowdata' = '{coded}'"
    )
    env.sql_session.add(of_topics(kafka, topics))
    schedule = Schedule(batch_sizes=(7,)) if mode == "STREAMING" else None
    assert left(run_in_process(env, schedule).of("blackholesink")) == WANTED


def test_the_script_has_what_the_proposal_has() -> None:
    assert (
        SCRIPT.count("BLINK_JSON_VALUE(data, ") + SCRIPT.count("BLINK_JSON_VALUE(old_data, ") == 37
    )
    assert SCRIPT.count("-- filled in") == 5
