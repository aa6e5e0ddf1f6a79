"""What the builders of Kafka refuse, and that nobody is shown a secret. No broker is needed."""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from penstock.common import SimpleStringSchema, WatermarkStrategy
from penstock.connectors.kafka import client, readers
from penstock.connectors.kafka.client import KafkaProperties
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from penstock.errors import HIDDEN, ArgumentError, MissingConnectorError, SourceError

SECRET = "s3cr3t-and-long"  # noqa: S105
JAAS = f'org.apache.kafka.PlainLoginModule required username="ann" password="{SECRET}";'
SECRETS = {
    "sasl.password": SECRET,
    "sasl.jaas.config": JAAS,
    "ssl.key.password": SECRET,
    "ssl.key.pem": SECRET,
    "ssl.keystore.password": SECRET,
    "sasl.oauthbearer.client.secret": SECRET,
    "sasl.oauthbearer.config": f"token={SECRET}",
    "sasl.oauthbearer.assertion.private.key.passphrase": SECRET,
}


def complete() -> KafkaSourceBuilder[KafkaSource]:
    made = KafkaSource.builder().set_bootstrap_servers("127.0.0.1:1").set_topics("orders")
    return made.set_value_only_deserializer(SimpleStringSchema())


def place(*, partition: Any = 0) -> KafkaTopicPartition:
    return KafkaTopicPartition("orders", partition)


REFUSED: dict[str, Callable[[], Any]] = {
    "the topics are []": lambda: KafkaSource.builder().set_topics(),
    "the topics are [7]": lambda: KafkaSource.builder().set_topics(7),  # type: ignore[arg-type]
    "the pattern of topics is '['": lambda: KafkaSource.builder().set_topic_pattern("["),
    "the partitions are []": lambda: KafkaSource.builder().set_partitions([]),
    "partition -1 of topic 'orders'": lambda: place(partition=-1),
    "partition '0' of topic 'orders'": lambda: place(partition="0"),
    "reads topic orders, and cannot read topics like 'x' too": (
        lambda: complete().set_topic_pattern("x")
    ),
    "set_starting_offsets got 'earliest'": (
        lambda: complete().set_starting_offsets("earliest")  # type: ignore[arg-type]
    ),
    "set_bounded got None": lambda: complete().set_bounded(None),  # type: ignore[arg-type]
    "set_value_only_deserializer got <class": (
        lambda: complete().set_value_only_deserializer(SimpleStringSchema)  # type: ignore[arg-type]
    ),
    "set_deserializer got 'json'": (
        lambda: complete().set_deserializer("json")  # type: ignore[arg-type]
    ),
    "set_malformed_records got 'skip'": (
        lambda: complete().set_malformed_records("skip")  # type: ignore[arg-type]
    ),
    "set_records_per_second got 0": lambda: complete().set_records_per_second(0),
    "a property of Kafka is called ''": lambda: complete().set_property("", "x"),
    "the property linger.ms of Kafka is None, a NoneType": (
        lambda: complete().set_property("linger.ms", None)  # type: ignore[arg-type]
    ),
    "the timestamp of the offsets is 1.5": (
        lambda: KafkaOffsetsInitializer.timestamp(1.5)  # type: ignore[arg-type]
    ),
    "these are no partitions with offsets": (
        lambda: KafkaOffsetsInitializer.offsets({place(): -1})
    ),
    "the strategy is 'latest'": (
        lambda: KafkaOffsetsInitializer.committed_offsets("latest")  # type: ignore[arg-type]
    ),
    "lacks brokers": lambda: KafkaSource.builder().set_topics("a").build(),
    "lacks topics": lambda: KafkaSource.builder().set_bootstrap_servers("a:1").build(),
    "lacks values": (
        lambda: KafkaSource.builder().set_bootstrap_servers("a:1").set_topics("a").build()
    ),
    "lacks the committed offsets": (
        lambda: complete().set_starting_offsets(KafkaOffsetsInitializer.committed_offsets()).build()
    ),
}


@pytest.mark.parametrize("problem", REFUSED)
def test_a_wrong_call_is_refused_where_it_is_made(problem: str) -> None:
    with pytest.raises(ArgumentError) as error:
        REFUSED[problem]()
    assert problem in error.value.problem
    assert error.value.hint
    assert error.value.origin is not None
    assert error.value.origin.filename == __file__


def test_a_built_source_says_what_it_is_and_travels() -> None:
    made = complete().set_client_id_prefix("shop").set_records_per_second(5)
    source = made.set_starting_offsets(KafkaOffsetsInitializer.latest()).build()
    assert source.describe() == "kafka topic orders"
    assert pickle.loads(pickle.dumps(source)) == source
    assert source.records_per_second == 5
    assert not source.is_confirmed
    assert complete().set_group_id("g").build().is_confirmed
    off = complete().set_group_id("g").set_property("commit.offsets.on.checkpoint", "false")
    assert not off.build().is_confirmed
    assert complete().set_unbounded(KafkaOffsetsInitializer.latest()).build().is_bounded


@pytest.mark.parametrize("key", SECRETS)
def test_a_secret_is_shown_nowhere(
    key: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    made = complete().set_property(key, SECRETS[key])
    made.set_properties({"default.api.timeout.ms": "10", "security.protocol": "sasl_plaintext"})
    made.set_properties({"sasl.mechanism": "PLAIN", "sasl.username": "ann"})
    source = made.build()
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_source(source, WatermarkStrategy.no_watermarks(), "orders").print()
    shown = [repr(source), str(source.properties), env.get_execution_plan()]
    with pytest.raises(SourceError) as error:
        source.exact_discover({})
    shown += [str(error.value), repr(error.value), caplog.text, *capfd.readouterr()]
    assert f"{key}={HIDDEN}" in shown[0]
    assert [text for text in shown if SECRET in text] == []


def test_a_secret_in_a_message_of_the_library_is_masked() -> None:
    properties = KafkaProperties().with_property("sasl.jaas.config", JAAS)
    wrong = properties.with_property("sasl.mechanism", f"no {SECRET} there")
    with pytest.raises(SourceError) as error, client.kafka_errors(SourceError, wrong, "ask"):
        readers.new_consumer(wrong, "test")
    assert SECRET not in str(error.value)
    assert HIDDEN in error.value.problem


def test_properties_of_java_are_understood_or_left_out() -> None:
    properties = KafkaProperties().with_property("sasl.jaas.config", JAAS)
    for key, value in {
        "key.deserializer": "StringDeserializer",
        "partition.discovery.interval.ms": 5,
        "enable.auto.commit": True,
        "fetch.wait.max.ms": 9,
    }.items():
        properties = properties.with_property(key, value)
    assert properties.of_client({"fetch.wait.max.ms": 50}, {"enable.auto.commit": False}) == {
        "log_level": 0,
        "fetch.wait.max.ms": "9",
        "sasl.username": "ann",
        "sasl.password": SECRET,
        "enable.auto.commit": False,
    }


def test_a_property_that_nobody_knows_is_told() -> None:
    source = complete().set_property("fetch.wait.max.msec", "1").build()
    with pytest.raises(SourceError, match="No such configuration property"):
        source.exact_discover({})


WITHOUT_LIBRARY = """
import importlib.util, sys
import penstock, penstock.datastream.connectors.kafka as kafka
assert "confluent_kafka" not in sys.modules
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *a: None if name == "confluent_kafka" else found(name, *a)
import penstock.extras as extras
extras.find_spec = importlib.util.find_spec
made = kafka.KafkaSource.builder().set_bootstrap_servers("a:1").set_topics("t")
try:
    made.set_deserializer(str).build()
except ImportError as error:
    print(error)
"""


def test_the_library_is_imported_only_when_it_is_used_and_missed_with_a_hint() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LIBRARY], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert "KafkaSource needs the package confluent-kafka, which is not installed" in done.stdout
    assert "pip install 'confluent-kafka>=" in done.stdout


def test_a_missing_library_is_a_missing_connector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.extras.find_spec", lambda _: None)
    with pytest.raises(MissingConnectorError):
        complete().build()
