"""The Kafka source against a broker, without Spark: positions, holes, starts, ends, discovery, confirmations.

Finds: a record lost or doubled at a cut, a transaction that is open or aborted and read, a jump over records that are
gone, a start or an end at the wrong record. Cannot find what the live loop does with it: see `tests/spark`.
"""

from __future__ import annotations

import itertools
import os
import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common import SimpleStringSchema, Types, WatermarkStrategy
from penstock.connectors.kafka import readers
from penstock.datastream import OutputTag, StreamExecutionEnvironment
from penstock.datastream.connectors import CollectionSource, DiscardingSink, HybridSource
from penstock.datastream.connectors.kafka import (
    FlinkKafkaConsumer,
    FlinkKafkaProducer,
    KafkaDeadLetters,
    KafkaMalformedRecords,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecord,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
    Semantic,
)
from penstock.datastream.formats.json import JsonRowDeserializationSchema
from penstock.errors import SourceError
from penstock.graph.log_values import LogSplit
from penstock.testing import check_log_source, run_in_process
from tests.kafka_broker import HOUR_AGO_MS, Broker

FROM = KafkaOffsetsInitializer
RESET = KafkaOffsetResetStrategy


@pytest.fixture(autouse=True)
def _idle() -> Iterator[None]:
    """Leave no consumer that goes on fetching."""
    yield
    readers.close_readers()


def builder(kafka: Broker, *topics: str) -> KafkaSourceBuilder[KafkaSource]:
    made = KafkaSource.builder().set_bootstrap_servers(kafka.servers)
    made.set_value_only_deserializer(SimpleStringSchema())
    made.set_properties({"default.api.timeout.ms": "5000", "partition.discovery.interval.ms": "1"})
    return made.set_topics(*topics) if topics else made


def read(source: KafkaSource, split: str, start: int, end: int) -> list[Any]:
    batches = source.exact_batches(split, start, end, 8192)
    return [record for records, _ in batches for record in records]


def all_of(source: KafkaSource) -> list[Any]:
    """Read what is there now."""
    found = []
    for split in source.exact_discover({}):
        assert split.start is not None
        found += read(source, split.id, split.start, split.head)
    return found


def test_a_topic_keeps_the_promises_of_a_log(kafka: Broker) -> None:
    topic = kafka.topic(2)
    kafka.add(topic, *(b"a%d" % n for n in range(40)))
    kafka.add(topic, *(b"b%d" % n for n in range(10)), partition=1)
    check_log_source(builder(kafka, topic).set_group_id(topic).build())


def test_holes_of_transactions_belong_to_one_range_wherever_it_is_cut(kafka: Broker) -> None:
    topic = kafka.topic()
    # One producer that aborts and another that commits: of one that does both, the broker hides committed records from
    # readers that start behind an abort, whatever the reader is.
    committing, aborting = kafka.transactional(), kafka.transactional()
    kept = []
    for number in range(12):
        producer = aborting if number % 3 == 1 else committing
        producer.begin_transaction()
        names = [f"{number}.{n}" for n in range(number % 4 + 1)]
        for name in names:
            producer.produce(topic, name.encode(), partition=0, timestamp=HOUR_AGO_MS + number)
        if producer is aborting:
            producer.flush(10)
            producer.abort_transaction(10)
        else:
            producer.commit_transaction(10)
            kept += names
    source = builder(kafka, topic).build()
    (split,) = source.exact_discover({})
    assert split.head == sum(n % 4 + 2 for n in range(12))
    chance = random.Random(1)  # noqa: S311
    for _ in range(30):
        cuts = sorted(chance.sample(range(split.head + 1), 3))
        bounds = [0, *cuts, split.head]
        parts = [read(source, split.id, *each) for each in itertools.pairwise(bounds)]
        assert [record for part in parts for record in part] == kept
    assert len(read(source, split.id, split.head - 1, split.head)) == 0  # the last marker


def test_an_open_transaction_is_not_there_yet_and_an_aborted_one_never_was(kafka: Broker) -> None:
    topic = kafka.topic()
    kafka.add(topic, b"before")
    producer = kafka.transactional()
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    producer.flush(10)
    kafka.add(topic, b"behind")
    source = builder(kafka, topic).build()
    assert source.exact_discover({})[0].head == 1
    assert all_of(source) == ["before"]
    producer.abort_transaction(10)
    assert source.exact_discover({f"{topic}-0": 1})[0].head == 4
    assert all_of(source) == ["before", "behind"]
    uncommitted = builder(kafka, topic).set_property("isolation.level", "read_uncommitted").build()
    assert all_of(uncommitted) == ["before", "open", "behind"]


def test_the_tail_is_read_on_and_jumps_are_read_as_well(kafka: Broker) -> None:
    topic = kafka.topic(2)
    source = builder(kafka, topic).build()
    at = 0
    for size in (1, 7, 300, 2):
        kafka.add(topic, *(b"%d" % n for n in range(at, at + size)))
        assert read(source, f"{topic}-0", at, at + size) == [str(n) for n in range(at, at + size)]
        assert read(source, f"{topic}-1", 0, 0) == []
        at += size
    assert read(source, f"{topic}-0", 5, 7) == ["5", "6"]
    assert read(source, f"{topic}-0", 300, 302) == ["300", "301"]


def test_every_initializer_begins_where_it_says(kafka: Broker) -> None:
    topic = kafka.topic()
    kafka.add(topic, *(b"%d" % n for n in range(6)))
    kafka.delete_before(topic, 0, 2)
    place = KafkaTopicPartition(topic, 0)
    starts = {
        FROM.earliest(): 2,
        FROM.latest(): 6,
        FROM.timestamp(HOUR_AGO_MS + 3_000): 3,
        FROM.timestamp(0): 2,
        FROM.timestamp(HOUR_AGO_MS + 8_000): 6,
        FROM.offsets({place: 4}): 4,
        FROM.offsets({}): 2,
        FROM.offsets({place: 1}, RESET.LATEST): 6,
        FROM.offsets({place: 99}, RESET.EARLIEST): 2,
        FROM.committed_offsets(RESET.LATEST): 6,
    }
    for initializer, start in starts.items():
        source = builder(kafka, topic).set_group_id("g").set_starting_offsets(initializer).build()
        assert source.exact_discover({}) == (LogSplit(f"{topic}-0", 2, 6, start),), initializer
    group = f"group-{topic}"
    confirming = builder(kafka, topic).set_group_id(group).build()
    confirming.exact_confirm({f"{topic}-0": 5})
    confirming.exact_confirm({f"{topic}-0": 5})
    assert kafka.committed(group, topic) == [5]
    found = builder(kafka, topic).set_group_id(group)
    found.set_starting_offsets(FROM.committed_offsets())
    assert found.build().exact_discover({})[0].start == 5


@pytest.mark.parametrize(
    ("initializer", "problem"),
    [
        (FROM.committed_offsets(), "has no committed offset, and has the offsets [0, 2)"),
        (FROM.offsets({}, RESET.NONE), "has no committed offset"),
    ],
    ids=["committed", "offsets"],
)
def test_a_start_that_is_nowhere_is_told(
    kafka: Broker, initializer: KafkaOffsetsInitializer, problem: str
) -> None:
    topic = kafka.topic()
    kafka.add(topic, b"a", b"b")
    source = builder(kafka, topic).set_group_id(f"none-{topic}").set_starting_offsets(initializer)
    with pytest.raises(SourceError) as error:
        source.build().exact_discover({})
    assert f"partition {topic}-0 of kafka topic {topic}" in error.value.problem
    assert problem in error.value.problem
    assert "EARLIEST" in error.value.hint


def test_a_bounded_source_ends_where_it_says(kafka: Broker) -> None:
    topic = kafka.topic()
    kafka.add(topic, *(b"%d" % n for n in range(6)))
    ends = {
        FROM.latest(): 6,
        FROM.timestamp(HOUR_AGO_MS + 3_000): 3,
        FROM.offsets({KafkaTopicPartition(topic, 0): 5}): 5,
    }
    for initializer, end in ends.items():
        source = builder(kafka, topic).set_bounded(initializer).build()
        assert source.is_bounded
        assert source.exact_start(2).ranges == ((0, end),), initializer
    late = builder(kafka, topic).set_bounded(FROM.offsets({KafkaTopicPartition(topic, 0): 7}))
    with pytest.raises(SourceError, match="up to offset 7, and ends at offset 6"):
        late.build().exact_start(2)
    empty = builder(kafka, topic).set_starting_offsets(FROM.latest())
    assert empty.set_bounded(FROM.timestamp(HOUR_AGO_MS + 1_000)).build().exact_start(2).ranges == (
        (1, 1),
    )


def test_partitions_and_topics_that_appear_are_found_and_read_from_their_first_record(
    kafka: Broker,
) -> None:
    topic = kafka.topic(1, "grow")
    kafka.add(topic, b"a")
    source = builder(kafka, topic).set_starting_offsets(FROM.latest()).build()
    pattern = builder(kafka).set_topic_pattern(f"{topic}.*").build()
    assert source.exact_discover({}) == (LogSplit(f"{topic}-0", 0, 1, 1),)
    assert [each.id for each in pattern.exact_discover({})] == [f"{topic}-0"]
    kafka.add_partitions(topic, 2)
    kafka.add(topic, b"b", partition=1)
    assert source.exact_discover({f"{topic}-0": 1})[1] == LogSplit(f"{topic}-1", 0, 1, 0)
    assert [each.id for each in pattern.exact_discover({f"{topic}-0": 1})] == [
        f"{topic}-0",
        f"{topic}-1",
    ]
    only = builder(kafka).set_partitions({KafkaTopicPartition(topic, 1)}).build()
    assert all_of(only) == ["b"]
    fixed = builder(kafka, topic).set_property("partition.discovery.interval.ms", "0").build()
    assert len(fixed.exact_discover({})) == 2
    kafka.add_partitions(topic, 3)
    assert len(fixed.exact_discover({f"{topic}-0": 1})) == 2


def test_what_is_not_there_is_told(kafka: Broker) -> None:
    topic = kafka.topic(1, "orders")
    with pytest.raises(
        SourceError, match=rf"topic '{topic}x' is not there; did you mean '{topic}'"
    ):
        builder(kafka, f"{topic}x").build().exact_discover({})
    place = KafkaTopicPartition(topic, 3)
    with pytest.raises(SourceError, match=f"partition {topic}-3 is not there"):
        builder(kafka).set_partitions([place]).build().exact_discover({})
    assert builder(kafka).set_topic_pattern("no-such-.*").build().exact_discover({}) == ()


def test_records_that_are_gone_before_they_were_read_are_told(kafka: Broker) -> None:
    topic = kafka.topic()
    kafka.add(topic, *(b"%d" % n for n in range(6)))
    source = builder(kafka, topic).build()
    kafka.delete_before(topic, 0, 4)
    with pytest.raises(SourceError, match="begins at position 4, and the job has read up to 2"):
        source.exact_discover({f"{topic}-0": 2})
    with pytest.raises(
        SourceError, match=f"records of partition {topic}-0 from offset 1 on are gone"
    ):
        read(source, f"{topic}-0", 1, 6)
    with pytest.raises(SourceError, match="up to position 6, and the job has read up to 9"):
        source.exact_discover({f"{topic}-0": 9})


def test_positions_of_times_and_history_up_to_one(kafka: Broker) -> None:
    topic = kafka.topic(2)
    kafka.add(topic, *(b"a%d" % n for n in range(4)))
    kafka.add(topic, *(b"b%d" % n for n in range(4)), partition=1, after_ms=2_000)
    source = builder(kafka, topic).build()
    history, live = HybridSource.until_timestamp(source, HOUR_AGO_MS + 2_000).parts
    assert history.as_split is not None
    assert live.as_split is not None
    assert history.as_split.exact_start(2).ranges == ((0, 2), (0, 0))
    assert live.as_split.exact_start(2).ranges == ((2, None), (0, None))
    assert source.exact_position_at(f"{topic}-0", HOUR_AGO_MS + 9_000, 0, 4) == 4
    assert source.exact_position_at(f"{topic}-0", 1_000, 2, 4) == 2


def test_a_program_reads_a_topic_behind_a_collection(kafka: Broker) -> None:
    topic = kafka.topic(2)
    kafka.add(topic, b"old", b"new")
    kafka.add(topic, b"other", partition=1, after_ms=4_000)
    live = builder(kafka, topic).set_starting_offsets(FROM.timestamp(HOUR_AGO_MS + 1_000)).build()
    history = CollectionSource(("h1", "h2"), Types.STRING())
    env = StreamExecutionEnvironment.get_execution_environment()
    source = HybridSource.builder(history).add_source(live).build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "both")
    stream.map(str.upper).sink_to(DiscardingSink()).name("out")
    assert sorted(run_in_process(env).of("out")) == ["H1", "H2", "NEW", "OTHER"]


def test_programs_with_older_names_run(kafka: Broker) -> None:
    topic = kafka.topic()
    kafka.add(topic, b"a", b"b", b"c")
    properties = {"bootstrap.servers": kafka.servers, "group.id": topic}
    starts = {
        "set_start_from_earliest": [0],
        "set_start_from_latest": [3],
        "set_start_from_group_offsets": [3],
        "set_commit_offsets_on_checkpoints": [3],
    }
    for method, found in starts.items():
        consumer = FlinkKafkaConsumer([topic], SimpleStringSchema(), properties)
        getattr(consumer, method)(*[False][: method.startswith("set_commit")])
        assert [split.start for split in consumer.exact_discover({})] == found, method
        assert consumer.is_confirmed is not method.startswith("set_commit")
    consumer = FlinkKafkaConsumer(topic, SimpleStringSchema(), properties)
    consumer.set_start_from_timestamp(HOUR_AGO_MS + 1_000)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.add_source(consumer, "orders").add_sink(
        FlinkKafkaProducer(topic, SimpleStringSchema(), properties, semantic=Semantic.EXACTLY_ONCE)
    ).name("out")
    assert run_in_process(env).of("out") == ["b", "c"]
    earliest = FlinkKafkaConsumer(
        topic,
        SimpleStringSchema(),
        {**properties, "auto.offset.reset": "earliest", "group.id": f"{topic}-other"},
    )
    assert earliest.exact_discover({})[0].start == 0


def test_a_deserializer_of_records_sees_everything(kafka: Broker) -> None:
    topic = kafka.topic()
    kafka.add(topic, b"v", None, key=b"k", headers=[("a", b"1"), ("a", None)])
    kafka.add(topic, b"drop", after_ms=8_000)

    def kept(record: KafkaRecord) -> KafkaRecord | None:
        return None if record.value == b"drop" else record

    source = builder(kafka, topic).set_deserializer(kept).build()
    headers = (("a", b"1"), ("a", None))
    assert list(source.exact_batches(f"{topic}-0", 0, 3, 9)) == [
        (
            [
                KafkaRecord(b"k", b"v", topic, 0, 0, HOUR_AGO_MS, headers),
                KafkaRecord(b"k", None, topic, 0, 1, HOUR_AGO_MS + 1_000, headers),
            ],
            [HOUR_AGO_MS, HOUR_AGO_MS + 1_000],
        )
    ]
    assert not source.has_declared_form
    assert not source.makes_records_anew


JSON = (
    JsonRowDeserializationSchema.builder().type_info(Types.ROW_NAMED(["n"], [Types.LONG()])).build()
)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [(b"{n}", "is not JSON of type"), (None, "it has no value: it is a tombstone")],
    ids=["json", "tombstone"],
)
def test_malformed_records_fail_or_are_left_out(
    kafka: Broker, bad: bytes | None, reason: str
) -> None:
    topic = kafka.topic()
    kafka.add(topic, b'{"n": 1}', bad, b'{"n": 2}')
    made = builder(kafka, topic).set_value_only_deserializer(JSON)
    with pytest.raises(SourceError) as error:
        all_of(made.build())
    assert f"topic '{topic}', partition 0, offset 1 cannot be deserialized" in error.value.problem
    assert reason in error.value.problem
    assert "SKIP" in error.value.hint
    skipping = made.set_malformed_records(KafkaMalformedRecords.SKIP).build()
    assert [row.n for row in all_of(skipping)] == [1, 2]
    assert skipping.has_declared_form


def test_malformed_records_go_to_a_side_output_with_their_place(kafka: Broker) -> None:
    topic = kafka.topic()
    kafka.add(topic, b'{"n": 1}', b"{n}", None, b'{"n": 2}')
    source = builder(kafka, topic).set_deserializer(lambda record: record).build()
    tag = OutputTag("dead letters")
    env = StreamExecutionEnvironment.get_execution_environment()
    raw = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
    orders = raw.process(KafkaDeadLetters(JSON, tag), JSON.get_produced_type())
    orders.map(lambda row: row.n).sink_to(DiscardingSink()).name("good")
    orders.get_side_output(tag).sink_to(DiscardingSink()).name("bad")
    found = run_in_process(env)
    assert found.of("good") == [1, 2]
    bad = found.of("bad")
    assert [(letter.record.topic, letter.record.offset) for letter in bad] == [
        (topic, 1),
        (topic, 2),
    ]
    assert "is not JSON of type" in bad[0].reason
    assert "tombstone" in bad[1].reason


@pytest.mark.parametrize(
    "raised", [StopIteration, GeneratorExit, SystemExit, KeyboardInterrupt, ValueError]
)
def test_whatever_a_deserializer_raises_is_told(kafka: Broker, raised: type[BaseException]) -> None:
    topic = kafka.topic()
    kafka.add(topic, b"a")

    def failing(_: KafkaRecord) -> None:
        raise raised

    source = builder(kafka, topic).set_deserializer(failing)
    with pytest.raises(
        SourceError, match=f"offset 0 cannot be deserialized: {raised.__name__}"
    ) as error:
        all_of(source.build())
    assert error.value.origin is not None
    assert error.value.origin.function == "failing"


def test_a_forked_process_makes_clients_of_its_own(kafka: Broker) -> None:
    topic = kafka.topic()
    kafka.add(topic, b"a", b"b")
    source = builder(kafka, topic).build()
    assert all_of(source) == ["a", "b"]
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write_end, repr(all_of(source)).encode())
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as answer:
        assert answer.read() == b"['a', 'b']"
    os.waitpid(child, 0)
    assert all_of(source) == ["a", "b"]


def test_readers_that_nobody_uses_are_closed_and_others_stay(
    kafka: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    readers.close_readers()
    monkeypatch.setattr(readers, "_IDLE_SECONDS", 0.3)
    readers._timer.clear()
    topic = kafka.topic()
    kafka.add(topic, b"a")
    for job in ("one", "another"):
        ended = builder(kafka, topic).set_client_id_prefix(job).build()
        assert read(ended, f"{topic}-0", 0, 1) == ["a"]
    one, another = (each for kept in readers._readers.values() for each in kept)
    another.used_seconds += 60
    until = time.monotonic() + 20
    while one.is_open:
        assert time.monotonic() < until, "it stays open"
        time.sleep(0.02)
    assert another.is_open
    assert [each for kept in readers._readers.values() for each in kept] == [another]


def test_readers_are_kept_and_few(kafka: Broker) -> None:
    readers.close_readers()
    topic = kafka.topic(12)
    for partition in range(12):
        kafka.add(topic, b"%d" % partition, partition=partition)
    source = builder(kafka, topic).build()
    for _ in range(2):
        assert sorted(map(int, all_of(source))) == list(range(12))
    (kept,) = readers._readers.values()
    assert len(kept) == 8


def test_a_broker_that_cannot_be_reached_is_told(kafka: Broker) -> None:
    made = builder(kafka, "t").set_bootstrap_servers("127.0.0.1:1")
    source = made.set_property("default.api.timeout.ms", "300").build()
    with pytest.raises(SourceError) as error:
        source.exact_discover({})
    assert "cannot find the partitions of kafka topic t at 127.0.0.1:1" in error.value.problem
    assert error.value.__suppress_context__
