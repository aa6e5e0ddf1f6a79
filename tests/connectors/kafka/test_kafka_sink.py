"""The Kafka sink against a broker, without Spark: what readers see after failures at every step.

Finds: a record lost or doubled by a crash in a commit, a driver that writes after it was replaced, a mark that
was lost and taken for a fresh start, a transaction that stays open. Cannot find what a power failure of the broker
does: its tests need a broker that keeps what it has acknowledged.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from examples.kafka.broker import BrokerProcess
from penstock import failpoint
from penstock.common import SimpleStringSchema
from penstock.connectors.kafka import kafka_committer, producers
from penstock.connectors.kafka.kafka_committer import EpochTransactions
from penstock.connectors.rows.serialization import ByteArraySchema
from penstock.datastream.connectors.kafka import (
    DeliveryGuarantee,
    KafkaRecord,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSinkBuilder,
    KafkaTopicSelector,
)
from penstock.errors import ArgumentError, JobFailedError, JobFencedError, SinkError
from penstock.graph.endpoints import EpochNumber, SinkContext
from tests.connectors.conftest import MakeContext
from tests.connectors.sink_epochs import killed_in_commit, staged, started
from tests.kafka_broker import HOUR_AGO_MS, Broker, unavailable

try:
    from confluent_kafka import admin as kafka_admin
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic
except ImportError:  # the fixture says so
    pass

STEPS = ("kafka.decided", "kafka.produced", "kafka.marked", "kafka.committed")
EXACTLY_ONCE = DeliveryGuarantee.EXACTLY_ONCE


@pytest.fixture
def context(make_context: MakeContext) -> SinkContext:
    """A context of a job of its own."""
    return replace(make_context(), job_id=uuid.uuid4().hex)


def to(topic: str) -> KafkaRecordSerializationSchema:
    made = KafkaRecordSerializationSchema.builder().set_topic(topic)
    return made.set_value_serialization_schema(SimpleStringSchema()).build()


def sink_builder(servers: str, topic: str) -> KafkaSinkBuilder:
    made = KafkaSink.builder().set_bootstrap_servers(servers).set_record_serializer(to(topic))
    made.set_property("default.api.timeout.ms", "20000")
    return made.set_delivery_guarantee(EXACTLY_ONCE)


def sink_of(kafka: Broker, topic: str) -> KafkaSink:
    return sink_builder(kafka.servers, topic).build()


def named(epoch: str) -> list[str]:
    return [f"{epoch}:{n}" for n in range(4)]


def expected(*epochs: str) -> list[bytes]:
    return [value.encode() for epoch in epochs for value in named(epoch)]


@pytest.mark.usefixtures("staged_both_ways")
def test_an_epoch_is_visible_as_a_whole_and_once(kafka: Broker, context: SinkContext) -> None:
    topic = kafka.topic()
    sink = sink_of(kafka, topic)
    committer = started(sink, context)
    second = staged(sink, context, "1:2", "1:3", subtask=1)
    first = staged(sink, context, "1:0", "1:1", subtask=0)
    assert kafka.values(topic) == []
    committer.commit("1", [*second, *first])
    assert kafka.values(topic) == expected("1")
    committer.commit("1", [])
    committer.commit("1", staged(sink, context, *named("other")))
    committer.commit("2", staged(sink, context, *named("2")))
    assert kafka.values(topic) == expected("1", "2")
    assert list((context.scratch / "kafka" / "s3" / "staged").iterdir()) == []
    committer.close()
    again = started(sink, context)
    again.commit("2", staged(sink, context, *named("2")))
    again.commit("3", staged(sink, context, *named("3")))
    assert kafka.values(topic) == expected("1", "2", "3")


@pytest.mark.parametrize("step", STEPS)
def test_a_driver_that_fails_in_a_commit_is_followed_without_loss(
    kafka: Broker, context: SinkContext, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    topic = kafka.topic()
    sink = sink_of(kafka, topic)
    started(sink, context).commit("1", staged(sink, context, *named("1")))
    failing = started(sink, context)
    handles = staged(sink, context, *named("2"))
    failpoint.count_anew()
    monkeypatch.setenv("PENSTOCK_FAILPOINT", f"{step}:1:raise")
    with pytest.raises(JobFailedError):
        failing.commit("2", handles)
    monkeypatch.delenv("PENSTOCK_FAILPOINT")
    assert kafka.values(topic) == expected(*("12" if step == "kafka.committed" else "1"))
    failing.commit("2", handles)  # an attempt in the same process
    failing.commit("2", [])
    failing.commit("3", staged(sink, context, *named("3")))
    assert kafka.values(topic) == expected("1", "2", "3")


@pytest.mark.parametrize("step", STEPS)
def test_a_driver_that_is_killed_in_a_commit_is_followed_without_loss(
    kafka: Broker, context: SinkContext, tmp_path: Path, step: str
) -> None:
    topic = kafka.topic()
    sink = sink_of(kafka, topic)
    started(sink, context).commit("1", staged(sink, context, *named("1")))
    handles = staged(sink, context, *named("2"))
    next_one = killed_in_commit(sink, context, handles, step, tmp_path)
    next_one.commit("2", handles)  # what a record names is committed before the rest is dropped
    next_one.recover()
    next_one.commit("3", staged(sink, context, *named("3")))
    assert kafka.values(topic) == expected("1", "2", "3")


def test_an_epoch_that_was_decided_and_not_written_may_be_another_one(
    kafka: Broker, context: SinkContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = kafka.topic()
    sink = sink_of(kafka, topic)
    failing = started(sink, context)
    failpoint.count_anew()
    monkeypatch.setenv("PENSTOCK_FAILPOINT", "kafka.decided:1:raise")
    with pytest.raises(JobFailedError):
        failing.commit("1", staged(sink, context, *named("1")))
    monkeypatch.delenv("PENSTOCK_FAILPOINT")
    following = started(sink, context)
    following.commit("other", staged(sink, context, *named("other")))
    assert kafka.values(topic) == expected("other")


def test_a_driver_that_was_replaced_writes_nothing(kafka: Broker, context: SinkContext) -> None:
    topic = kafka.topic()
    sink = sink_of(kafka, topic)
    old = started(sink, context)
    old.commit("1", staged(sink, context, *named("1")))
    new = started(sink, context)
    handles = staged(sink, context, *named("2"))
    with pytest.raises(JobFencedError, match="another driver writes with the transactional id"):
        old.commit("2", handles)
    assert kafka.values(topic) == expected("1")
    new.commit("2", handles)
    assert kafka.values(topic) == expected("1", "2")


def test_a_driver_that_lost_its_job_does_not_fence_the_next_one(
    kafka: Broker, context: SinkContext
) -> None:
    topic = kafka.topic()
    sink = sink_of(kafka, topic)

    def replaced() -> None:
        raise JobFencedError("replaced", hint="Stop.")

    started(sink, context).commit("1", staged(sink, context, *named("1")))
    late = sink.create_committer(replace(context, may_commit=replaced))
    new = started(sink, context)
    with pytest.raises(JobFencedError, match="replaced"):
        late.commit("2", staged(sink, context, *named("2")))
    new.commit("2", staged(sink, context, *named("2")))
    assert kafka.values(topic) == expected("1", "2")


def test_a_mark_that_is_lost_or_of_somebody_else_is_told(
    kafka: Broker, context: SinkContext
) -> None:
    topic = kafka.topic()
    sink = sink_of(kafka, topic)
    committer = started(sink, context)
    for epoch in "123":
        committer.commit(epoch, staged(sink, context, *named(epoch)))
    record = context.mounted_scratch / "kafka" / "s3" / "epoch.json"
    older = record.read_bytes()
    committer.commit("4", staged(sink, context, *named("4")))
    committer.commit("5", staged(sink, context, *named("5")))
    record.write_bytes(older)
    with pytest.raises(SinkError) as error:
        started(sink, context)
    assert "epoch number 3" in error.value.problem
    assert "has 5" in error.value.problem
    other = replace(context, job_id=uuid.uuid4().hex)
    with pytest.raises(SinkError) as error:
        started(sink, other)
    assert "epoch number 3" in error.value.problem
    assert "has none" in error.value.problem
    assert "offsets.retention.minutes" in error.value.hint
    record.write_bytes(b"{}")
    with pytest.raises(SinkError, match="the record of the last epoch cannot be read"):
        started(sink, context)


def test_no_transaction_is_open_between_epochs(kafka: Broker, context: SinkContext) -> None:
    topic = kafka.topic()
    sink = sink_of(kafka, topic)
    committer = started(sink, context)
    for epoch in ("1", "2"):
        handles = staged(sink, context, *named(epoch))
        kafka.add(topic, b"plain")  # a reader of committed records would wait behind an open one
        assert kafka.values(topic)[-1] == b"plain"
        committer.commit(epoch, handles)
        kafka.add(topic, b"behind")
        assert kafka.values(topic)[-1] == b"behind"
        assert kafka.values(topic) == kafka.values(topic, "read_uncommitted")


def test_an_epoch_without_records_costs_nothing_and_marks_are_written_again(
    kafka: Broker, context: SinkContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = kafka.topic()
    sink = sink_of(kafka, topic)
    committer = started(sink, context)
    committer.commit("0", [])
    assert not (context.scratch / "kafka" / "s3" / "epoch.json").exists()
    committer.commit("1", staged(sink, context, *named("1")))
    group = f"penstock-{context.job_id}-s3"
    written: list[Any] = []
    commit = EpochTransactions.commit

    def noted(self: EpochTransactions, *how: Any) -> None:
        written.append(how[0].epoch)
        commit(self, *how)

    monkeypatch.setattr(EpochTransactions, "commit", noted)
    committer.commit("2", [])
    assert written == []
    monkeypatch.setattr(kafka_committer, "_REMARK_SECONDS", 0.0)
    committer.commit("3", [])
    assert written == ["1"]
    assert kafka.committed(group, topic) == [1]
    committer.commit("4", staged(sink, context, *named("4")))
    assert kafka.committed(group, topic) == [2]
    assert kafka.values(topic) == expected("1", "4")


def test_topics_that_records_choose_have_the_mark_at_the_first_one(
    kafka: Broker, context: SinkContext
) -> None:
    one, two = kafka.topic(), kafka.topic()

    class ByFirst(KafkaTopicSelector):
        def apply(self, data: str) -> str:
            return one if data[0] == "a" else two

    schema = KafkaRecordSerializationSchema.builder().set_topic_selector(ByFirst())
    made = schema.set_value_serialization_schema(SimpleStringSchema()).build()
    sink = sink_builder(kafka.servers, one).set_record_serializer(made).build()
    assert sink.describe() == "kafka, exactly-once"
    committer = started(sink, context)
    committer.commit("1", staged(sink, context, "b1", "a1"))
    again = started(sink, context)
    again.commit("1", staged(sink, context, "b1", "a1"))
    again.commit("2", staged(sink, context, "a2"))
    assert kafka.values(one) == [b"a1", b"a2"]
    assert kafka.values(two) == [b"b1"]
    assert kafka.committed(f"penstock-{context.job_id}-s3", two) == [2]


def test_a_broker_that_is_stopped_and_started_loses_nothing(
    tmp_path: Path, context: SinkContext
) -> None:
    reason = unavailable()
    if reason is not None or "PENSTOCK_TEST_KAFKA" in os.environ:
        pytest.skip(reason or "the other broker cannot be stopped")
    directory = tmp_path / "broker"
    directory.mkdir()
    process = BrokerProcess(directory)
    process.start()
    try:
        broker = Broker(process.servers)
        topic = broker.topic()
        sink = sink_of(broker, topic)
        committer = started(sink, context)
        committer.commit("1", staged(sink, context, *named("1")))
        process.stop()
        time.sleep(0.2)  # until the clients know: this broker forgets who has a transaction open
        later = threading.Timer(1.0, process.start)
        later.start()
        committer.commit("2", staged(sink, context, *named("2")))
        later.join()
        assert broker.values(topic) == expected("1", "2")
    finally:
        process.stop()


def test_a_broker_that_stays_away_fails_the_commit_in_time(
    kafka: Broker, context: SinkContext
) -> None:
    sink = sink_builder("127.0.0.1:1", "t").set_property("default.api.timeout.ms", "200").build()
    begun = time.monotonic()
    with pytest.raises(SinkError, match="cannot begin transactions of sink 'out'"):
        started(sink, context)
    assert time.monotonic() - begun < 20


def test_records_have_keys_headers_partitions_and_timestamps(
    kafka: Broker, context: SinkContext
) -> None:
    topic = kafka.topic(3)
    made = KafkaRecordSerializationSchema.builder().set_topic(topic)
    made.set_value_serialization_schema(ByteArraySchema())
    made.set_key_serialization_schema(ByteArraySchema()).set_partitioner(len)
    made.set_headers(lambda value: [("size", b"%d" % len(value)), ("none", None)])
    made.set_timestamp(lambda value: HOUR_AGO_MS + len(value))
    sink = sink_builder(kafka.servers, topic).set_record_serializer(made.build()).build()
    started(sink, context).commit("1", staged(sink, context, b"a", b"bc"))
    found = {message.partition(): message for message in kafka.messages(topic)}
    assert {at: message.value() for at, message in found.items()} == {1: b"a", 2: b"bc"}
    assert found[2].key() == b"bc"
    epoch = ("penstock-epoch", b"0-0")
    assert found[2].headers() == [("size", b"2"), ("none", None), epoch]
    assert found[2].timestamp()[1] == HOUR_AGO_MS + 2


def test_records_say_of_which_epoch_they_are_and_not_of_which_they_were(
    kafka: Broker, context: SinkContext
) -> None:
    topic = kafka.topic()

    def record(value: str) -> KafkaRecord:
        old = (("penstock-epoch", b"9-9"), ("kept", b"1"))
        return KafkaRecord(None, value.encode(), topic, headers=old if value == "copy" else ())

    for guarantee in (EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE):
        made = sink_builder(kafka.servers, topic).set_record_serializer(record)
        sink = made.set_delivery_guarantee(guarantee).build()
        of_epoch = replace(context, epoch=EpochNumber(1, 17))
        started(sink, of_epoch).commit("1-17", staged(sink, of_epoch, "new", "copy"))
    own = ("penstock-epoch", b"1-17")
    assert [m.headers() for m in kafka.messages(topic)] == [[own], [("kept", b"1"), own]] * 2


def test_keys_are_in_the_partitions_where_java_puts_them(
    kafka: Broker, context: SinkContext
) -> None:
    topic = kafka.topic(5)
    hashes = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536}

    def record(key: bytes) -> KafkaRecord:
        return KafkaRecord(key, None, topic)

    sink = sink_builder(kafka.servers, topic).set_record_serializer(record).build()
    started(sink, context).commit("1", staged(sink, context, *hashes))
    found = {message.key(): message.partition() for message in kafka.messages(topic)}
    assert found == {key: (of & 0x7FFFFFFF) % 5 for key, of in hashes.items()}


@pytest.mark.parametrize("guarantee", ["AT_LEAST_ONCE", "NONE"])
def test_workers_write_at_once_without_exactly_once(
    kafka: Broker, context: SinkContext, guarantee: str
) -> None:
    topic = kafka.topic()
    how = DeliveryGuarantee[guarantee]
    sink = sink_builder(kafka.servers, topic).set_delivery_guarantee(how).build()
    committer = started(sink, context)
    assert staged(sink, context, *named("1")) == []
    assert kafka.values(topic) == expected("1")
    committer.commit("1", [])
    assert staged(sink, context, *named("1")) == []
    assert kafka.values(topic) == expected("1", "1")
    headers = [("penstock-epoch", b"0-0")] if guarantee == "AT_LEAST_ONCE" else None
    assert {str(message.headers()) for message in kafka.messages(topic)} == {str(headers)}
    sink.create_writer(context).abort()


def test_what_a_broker_refuses_fails_or_is_left_out_as_promised(
    kafka: Broker, context: SinkContext
) -> None:
    topic = kafka.topic()
    away = sink_builder("127.0.0.1:1", topic).set_property("default.api.timeout.ms", "300")
    for guarantee in (DeliveryGuarantee.AT_LEAST_ONCE, DeliveryGuarantee.NONE):
        sink = away.set_delivery_guarantee(guarantee).build()
        writer = sink.create_writer(context)
        writer.write(["lost"])
        if guarantee is DeliveryGuarantee.NONE:
            assert writer.prepare_commit() == []
            continue
        with pytest.raises(SinkError, match="records of sink 'out' were not written"):
            writer.prepare_commit()


def test_a_record_that_cannot_be_written_is_told(kafka: Broker, context: SinkContext) -> None:
    sink = sink_of(kafka, "t")
    started(sink, context)
    writer = sink.create_writer(context)
    with pytest.raises(SinkError, match="sink 'out' cannot write 7: the schema writes a string"):
        writer.write(["a", 7])
    wrong = sink_builder(kafka.servers, "t").set_record_serializer(lambda _: b"bytes").build()  # type: ignore[arg-type,return-value]
    with pytest.raises(SinkError, match="returned b'bytes', not a KafkaRecord with a topic"):
        wrong.create_writer(context).write(["a"])


RAISED = [StopIteration, GeneratorExit, SystemExit, KeyboardInterrupt, ValueError]


@pytest.mark.parametrize("raised", RAISED)
@pytest.mark.parametrize(
    "method", ["set_topic_selector", "set_partitioner", "set_headers", "set_timestamp", "function"]
)
def test_whatever_a_callable_raises_is_told(
    kafka: Broker, context: SinkContext, raised: type[BaseException], method: str
) -> None:
    def failing(value: str) -> Any:
        raise raised

    made: Any = failing
    if method != "function":
        schema = KafkaRecordSerializationSchema.builder()
        schema.set_value_serialization_schema(SimpleStringSchema())
        getattr(schema, method)(failing)
        made = (schema if "topic" in method else schema.set_topic("t")).build()
    sink = sink_builder(kafka.servers, "t").set_record_serializer(made).build()
    with pytest.raises(SinkError, match=f"cannot write 'a': {raised.__name__}") as error:
        sink.create_writer(context).write(["a"])
    assert error.value.origin is not None
    assert error.value.origin.function == "failing"


@pytest.mark.usefixtures("in_files")
def test_a_staged_file_that_is_lost_is_told(kafka: Broker, context: SinkContext) -> None:
    topic = kafka.topic()
    sink = sink_of(kafka, topic)
    committer = started(sink, context)
    (handle,) = staged(sink, context, *named("1"))
    path = context.scratch / "kafka" / "s3" / "staged" / handle.name
    kept = path.read_bytes()
    path.write_bytes(kept[:-1])
    with pytest.raises(SinkError, match="its task wrote"):
        committer.commit("1", [handle])
    path.unlink()
    with pytest.raises(SinkError, match="cannot read staged records"):
        committer.commit("1", [handle])
    path.write_bytes(kept)
    committer.commit("1", [handle])
    assert kafka.values(topic) == expected("1")


def schema_builder() -> Any:
    return KafkaRecordSerializationSchema.builder()


REFUSED: dict[str, Callable[[], Any]] = {
    "the topic is ''": lambda: schema_builder().set_topic(""),
    "have one topic, or one selector": lambda: schema_builder().set_topic("a").set_topic("b"),
    "set_topic_selector got 'a'": lambda: schema_builder().set_topic_selector("a"),
    "set_key_serialization_schema got": (
        lambda: schema_builder().set_key_serialization_schema(len)
    ),
    "set_partitioner got 3": lambda: schema_builder().set_partitioner(3),
    "has no topic": lambda: schema_builder().build(),
    "has no schema of values": lambda: schema_builder().set_topic("a").build(),
    "set_delivery_guarantee got 'exactly-once'": (
        lambda: KafkaSink.builder().set_delivery_guarantee("exactly-once")  # type: ignore[arg-type]
    ),
    "the prefix of transactional ids is ''": (
        lambda: KafkaSink.builder().set_transactional_id_prefix("")
    ),
    "set_record_serializer got <class": (
        lambda: KafkaSink.builder().set_record_serializer(KafkaRecordSerializationSchema)  # type: ignore[arg-type]
    ),
    "lacks brokers": lambda: KafkaSink.builder().set_record_serializer(to("a")).build(),
    "lacks records": lambda: KafkaSink.builder().set_bootstrap_servers("a:1").build(),
}


@pytest.mark.parametrize("problem", REFUSED)
def test_a_wrong_call_is_refused_where_it_is_made(problem: str) -> None:
    with pytest.raises(ArgumentError) as error:
        REFUSED[problem]()
    assert problem in error.value.problem
    assert error.value.hint
    assert error.value.origin is not None
    assert error.value.origin.filename == __file__


def small_topic(kafka: Broker, most_bytes: int) -> str:
    topic = f"small-{uuid.uuid4().hex[:8]}"
    admin = AdminClient(kafka.client)
    new = NewTopic(topic, 1, 1, config={"max.message.bytes": str(most_bytes)})
    for future in admin.create_topics([new]).values():
        future.result(10)
    return topic


def test_a_record_that_brokers_would_refuse_is_refused_where_it_is_staged(
    kafka: Broker, context: SinkContext
) -> None:
    topic = small_topic(kafka, 2_000)
    sink = sink_of(kafka, topic)
    committer = started(sink, context)
    with pytest.raises(SinkError, match=r"at most 2000") as error:
        staged(sink, context, "small", "x" * 2_000)
    assert error.value.is_permanent
    assert "max.message.bytes" in error.value.hint
    # Batches of many small records are no larger than the topic takes.
    values = [f"{number:0100d}" for number in range(500)]
    committer.commit("1", staged(sink, context, *values, "y" * 1_800))
    assert kafka.values(topic) == [value.encode() for value in [*values, "y" * 1_800]]
    own = sink_builder(kafka.servers, topic).set_property("message.max.bytes", "1500").build()
    with pytest.raises(SinkError, match=r"at most 1500"):
        staged(own, context, "y" * 1_800)


def test_a_refusal_of_the_brokers_is_told_at_once_and_the_epoch_goes_on_later(
    kafka: Broker, context: SinkContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = small_topic(kafka, 2_000)
    sink = sink_of(kafka, topic)
    committer = started(sink, context)
    monkeypatch.setattr(producers, "check_sizes", lambda *_: None)
    handles = staged(sink, context, "x" * 5_000)
    begun = time.monotonic()
    with pytest.raises(SinkError, match="MSG_SIZE_TOO_LARGE") as error:
        committer.commit("1", handles)
    assert time.monotonic() - begun < 10
    assert error.value.is_permanent
    assert "raise max.message.bytes of the topic" in error.value.hint
    assert kafka.values(topic) == []
    admin, settings = AdminClient(kafka.client), cast("Any", kafka_admin)
    entry = settings.ConfigEntry(
        "max.message.bytes", "10000", incremental_operation=settings.AlterConfigOpType.SET
    )
    raised = settings.ConfigResource(
        settings.ConfigResource.Type.TOPIC, topic, incremental_configs=[entry]
    )
    for future in admin.incremental_alter_configs([raised]).values():
        future.result(10)
    producers._limits.clear()
    again = started(sink, context)
    again.commit("1", handles)
    again.commit("2", staged(sink, context, "after"))
    assert kafka.values(topic) == [b"x" * 5_000, b"after"]
