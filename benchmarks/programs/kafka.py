"""Kafka: counts by key, history in files then in Kafka, what the sink writes, and from one topic to another.

Input and output are topics of one broker, which has a core or more of the machine to itself or not, as
the machine has cores; peers read the same topics in the same run.
"""

from __future__ import annotations

import os
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.answers.kafka_records import (
    expected_counts,
    expected_numbers,
    is_last_count,
    numbers_below,
)
from benchmarks.inputs.kafka import (
    ensure_broker,
    fill,
    let_consumers_wait,
    make_topic,
    servers,
    waiting_servers,
)
from benchmarks.model.program import BenchProgram, BenchSystem, Case, Outputs, Workload
from benchmarks.model.shape import BATCH, MIXED, STREAMING, Shape
from benchmarks.programs.pipeline import LIVE_RECORDS, SLOW_RECORDS, Pipeline, ours
from benchmarks.systems.flink_peers import BUNDLES, pyflink_command
from benchmarks.systems.kafka_latency_job import KafkaLatencySpecification
from benchmarks.systems.launch import module
from penstock.common import Row, SimpleStringSchema, Types
from penstock.datastream import DataStream, StreamExecutionEnvironment, WatermarkStrategy
from penstock.datastream.connectors import FileSource, HybridSource, SourceSwitch
from penstock.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecord,
    KafkaSource,
    KafkaSourceBuilder,
)

FILES = "PENSTOCK_BENCH_KAFKA_FILES"
TOPIC = "PENSTOCK_BENCH_KAFKA_TOPIC"
"""Variables with the directory of history, and the topic behind it."""

WRITTEN = "PENSTOCK_BENCH_KAFKA_WRITTEN"
READ = "PENSTOCK_BENCH_KAFKA_READ"
"""Variables with the topics PyFlink writes to: in rounds that are measured, and in the one that is read."""

OVERLAP = "overlap-records"
RATE = "records-per-second"

_COUNT = Types.TUPLE([Types.LONG(), Types.LONG()])
_ORDER = Types.ROW_NAMED(["key", "at"], [Types.LONG(), Types.LONG()])
_ROWS = 1_000_000
_LATEST: dict[str, Any] = {"pipeline.backlog.output": "latest"}


def topic_of(shape: Shape) -> str:
    """Return the topic of records with so many keys."""
    return f"counted-{shape.records}-{shape.keys}"


def _reading(topic: str) -> KafkaSourceBuilder[KafkaSource]:
    builder = KafkaSource.builder().set_bootstrap_servers(servers()).set_topics(topic)
    return builder.set_bounded(KafkaOffsetsInitializer.latest())


def counted(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Any]:
    """Return rolling counts of the keys in a topic."""
    source = _reading(topic_of(shape)).set_value_only_deserializer(SimpleStringSchema()).build()
    texts = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
    ones = texts.map(lambda text: (int(text), 1), output_type=_COUNT)
    return ones.key_by(lambda one: one[0]).sum(1)


def caught_up(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Any]:
    """Return counts over files and, from where they end, a topic that has the end of the files too."""
    del shape
    topic = os.environ[TOPIC]

    def order(record: KafkaRecord) -> Row:
        return Row(key=int(record.value or b""), at=record.timestamp)

    def live(switch: SourceSwitch) -> KafkaSource:
        since = KafkaOffsetsInitializer.timestamp(switch.next_timestamp)
        return _reading(topic).set_starting_offsets(since).set_deserializer(order, _ORDER).build()

    history = FileSource.parquet(os.environ[FILES], type_info=_ORDER)
    builder = HybridSource.builder(history)
    source = builder.add_source(live, timestamp="at", is_bounded=True).build()
    orders = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
    ones = orders.map(lambda order: (order.key, 1), output_type=_COUNT)
    return ones.key_by(lambda one: one[0]).sum(1)


def write_topic(case: Case, directory: Path) -> None:
    """Write the topic of a case, and the shorter one of slow systems, unless they are there."""
    del directory
    ensure_broker()
    now_ms = time.time_ns() // 1_000_000
    for records in {case.records, min(case.records, case.options.get(SLOW_RECORDS, case.records))}:
        shape = Shape(records, 0, case.keys, case.parallelism, STREAMING)
        if make_topic(topic_of(shape)):
            fill(topic_of(shape), ((b"%d" % (i % case.keys), now_ms) for i in range(records)))
    let_consumers_wait()


def write_files_and_topic(case: Case, directory: Path) -> None:
    """Write history to files, and its end and what is behind it to a topic."""
    ensure_broker()
    files = directory / "files"
    files.mkdir(parents=True)
    live, overlap = case.options[LIVE_RECORDS], case.options[OVERLAP]
    shape = Shape(case.records, live, case.keys, case.parallelism, MIXED)
    # A record per millisecond, the last one now: brokers remove what is old.
    begin_ms = time.time_ns() // 1_000_000 - shape.total
    for first in range(0, case.records, _ROWS):
        numbers = np.arange(first, min(first + _ROWS, case.records))
        table = pa.table({"key": numbers % case.keys, "at": numbers + begin_ms})
        pq.write_table(table, files / f"{first}.parquet")
    topic = f"behind-{uuid.uuid4().hex}"
    make_topic(topic)
    behind = range(max(case.records - overlap, 0), shape.total)
    fill(topic, ((b"%d" % (i % case.keys), i + begin_ms) for i in behind))
    let_consumers_wait()
    os.environ |= {FILES: str(files), TOPIC: topic}


def start_broker(case: Case, directory: Path) -> None:
    """Start a broker for systems that make topics themselves, and topics for PyFlink, which does not."""
    del case, directory
    ensure_broker()
    for variable in (WRITTEN, READ):
        topic = f"written-{uuid.uuid4().hex}"
        make_topic(topic)
        os.environ[variable] = topic


_SAME = "Same topic of two partitions, broker and cores; values are texts of keys."


def _pyflink(execution: str) -> BenchSystem:
    return BenchSystem(
        name=f"pyflink-{execution}",
        command=lambda: pyflink_command("pyflink_kafka.py"),
        is_peer=True,
        mode=STREAMING,
        options={"python.execution-mode": execution, BUNDLES: "100000"},
        is_slow=True,
        note=f"PyFlink's KafkaSource with the connector's jar, SimpleStringSchema, the same map and a reduce that "
        f"adds, {execution} mode, bundles of 100,000 (with the shipped 1,000 it is many times slower). A topic of "
        "slow-records records; two partitions, the same broker and cores.",
    )


COUNTS = Pipeline(
    name="kafka",
    summary="Kafka to rolling counts by key, bounded at the head of the topic",
    build=counted,
    expected=expected_counts,
    is_output=is_last_count,
    systems=(
        ours(STREAMING, note=_SAME),
        ours(BATCH, note=_SAME),
        _pyflink("process"),
        _pyflink("thread"),
    ),
    reference="penstock streaming",
    records=2_000_000,
    keys=1_000,
    options={SLOW_RECORDS: 200_000},
    write_input=write_topic,
).program()

CATCH_UP = Pipeline(
    name="kafka-catch-up",
    summary="10^7 records of history from Parquet, then 10^5 from Kafka, exact though both have the end of history",
    build=caught_up,
    expected=expected_counts,
    is_output=is_last_count,
    systems=(
        ours(MIXED, note="The switch is the greatest time in the files; Kafka begins behind it."),
        ours(MIXED, "latest", **_LATEST),
    ),
    reference="penstock mixed",
    records=10_000_000,
    keys=1_000,
    options={LIVE_RECORDS: 100_000, OVERLAP: 50_000},
    write_input=write_files_and_topic,
).program()


def _writing(mode: str, guarantee: str) -> BenchSystem:
    return BenchSystem(
        name=f"penstock {mode.lower()} {guarantee}",
        command=module("benchmarks.systems.kafka_sink_job"),
        is_peer=False,
        mode=mode,
        options={"guarantee": guarantee},
        note="A sequence of numbers, as texts, to a new topic of two partitions per run; a reader of committed "
        "records has to find each once.",
    )


def _pyflink_writing(execution: str, guarantee: str) -> BenchSystem:
    return BenchSystem(
        name=f"pyflink-{execution} {guarantee}",
        command=lambda: pyflink_command("pyflink_kafka_sink.py"),
        is_peer=True,
        mode=STREAMING,
        options={"python.execution-mode": execution, BUNDLES: "100000", "guarantee": guarantee},
        is_slow=True,
        note=f"PyFlink's KafkaSink with the connector's jar, the same numbers and map to text, {execution} mode, bundles of "
        "100,000, a checkpoint each second and one at the end, with which it commits. slow-records records.",
    )


SINK = Pipeline(
    name="kafka-sink",
    summary="numbers to Kafka: exactly once, and at least once",
    build=counted,
    expected=expected_numbers,
    systems=(
        _writing(STREAMING, "exactly-once"),
        _writing(BATCH, "exactly-once"),
        _writing(STREAMING, "at-least-once"),
        _pyflink_writing("process", "exactly-once"),
        _pyflink_writing("thread", "exactly-once"),
    ),
    reference="penstock streaming exactly-once",
    records=1_000_000,
    keys=1,
    options={SLOW_RECORDS: 200_000},
    write_input=start_broker,
).program()


@dataclass(frozen=True, slots=True)
class TopicToTopic(Workload):
    """Records that arrive at a rate, each with the time at which it was made."""

    case: Case

    def specification(self, system: BenchSystem, work: Path) -> dict[str, Any]:
        """Return a `KafkaLatencySpecification`."""
        return KafkaLatencySpecification(
            work=str(work),
            parallelism=self.case.parallelism,
            records=self.case.records,
            records_per_second=self.case.options[RATE],
            servers=waiting_servers(),
            settings={**system.options, **self.case.settings},
        ).to_json()

    def expected(self, system: BenchSystem, rounds: int) -> Outputs:
        """Return every number of warm-up and rounds."""
        return numbers_below(self.case.records * (1 + rounds))


def _prepare_latency(case: Case, directory: Path) -> Workload:
    del directory
    return TopicToTopic(case)


LATENCY = BenchProgram(
    name="kafka-latency",
    summary="Kafka to Kafka exactly once, from the making of a record to a reader of committed records",
    systems=(
        BenchSystem(
            name="penstock streaming",
            command=module("benchmarks.systems.kafka_latency_job"),
            is_peer=False,
            note="A keyed count between the topics; the reader sees committed records. Our broker answers a fetch that finds "
            "nothing after 5 ms, where Kafka's waits for records: else clients ask 10,000 times a second, and take a core.",
        ),
    ),
    reference="penstock streaming",
    records=2_000,
    keys=10,
    options={RATE: 200},
    prepare=_prepare_latency,
)

PROGRAMS = (COUNTS, CATCH_UP, SINK, LATENCY)
