"""The Kafka programs: small, on the broker of the tests, and the answers that they are compared with."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.answers.kafka_records import expected_counts, is_last_count, numbers_below
from benchmarks.inputs.kafka import SERVERS, fill, make_topic, new_reader, outputs_of
from benchmarks.inputs.waiting_broker import WaitingBroker
from benchmarks.model.digest_parts import added_up, digest_rows
from benchmarks.model.program import Case
from benchmarks.model.shape import BATCH, STREAMING, Shape
from benchmarks.programs import kafka as programs
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DiscardingSink
from penstock.testing import run_in_process
from tests.kafka_broker import Broker

SHAPE = Shape(records=1_003, live=0, keys=7, parallelism=2, mode=STREAMING)


def test_answers_are_those_of_python() -> None:
    shape = replace(SHAPE, live=20)
    counts = Counter(i % 7 for i in range(1_023))
    assert expected_counts(shape) == added_up(digest_rows(iter(counts.items())))
    rows = [(key, n) for key, count in counts.items() for n in range(1, count + 1)]
    kept = is_last_count(shape, np.array(rows).T)
    assert [row for row, last in zip(rows, kept, strict=True) if last] == [*counts.items()]
    assert numbers_below(9) == added_up(digest_rows(iter(range(9))))


@pytest.mark.parametrize("mode", [STREAMING, BATCH])
def test_a_topic_that_was_filled_gives_the_answer(
    kafka: Broker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: str
) -> None:
    monkeypatch.setenv(SERVERS, kafka.servers)
    case = Case(SHAPE.records, SHAPE.keys, 2, 1, {})
    for _ in range(2):  # it is filled once
        programs.write_topic(case, tmp_path)
    found = outputs_of(programs.topic_of(SHAPE), lambda value: (int(value), 1))
    assert found.count == SHAPE.records
    conf = Configuration.from_dict({"execution.runtime-mode": mode, "parallelism.default": "2"})
    env = StreamExecutionEnvironment.get_execution_environment(conf)
    programs.counted(env, SHAPE).sink_to(DiscardingSink()).name("out")
    rows = run_in_process(env).of("out")
    kept = is_last_count(SHAPE, np.array(rows).T)
    last = [row for row, is_last in zip(rows, kept, strict=True) if is_last]
    assert added_up(digest_rows(iter(last))) == expected_counts(SHAPE)


def test_programs_are_listed_with_what_they_write() -> None:
    assert [program.name for program in programs.PROGRAMS] == [
        "kafka",
        "kafka-catch-up",
        "kafka-sink",
        "kafka-latency",
    ]
    for program in programs.PROGRAMS:
        assert program.reference in {system.name for system in program.systems}


def test_a_waiting_broker_passes_everything_and_holds_empty_answers(
    kafka: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = WaitingBroker(kafka.servers_here())
    monkeypatch.setenv(SERVERS, waiting.servers)
    name = f"held-{uuid.uuid4().hex}"
    assert make_topic(name)
    reader, began, asked = new_reader(name), time.monotonic(), waiting.empty_answers
    while time.monotonic() - began < 0.5:
        assert reader.poll(0.1) is None
    # Two partitions, and an answer of the broker without the proxy takes 0.1 ms.
    assert 0 < waiting.empty_answers - asked < 2 * 0.5 / 0.005
    fill(name, ((b"%d" % n, time.time_ns() // 1_000_000) for n in range(50)))
    found = {reader.poll(5).value() for _ in range(50)}
    assert found == {b"%d" % n for n in range(50)}
    reader.close()
