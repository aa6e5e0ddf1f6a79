"""Kafka over TLS with a login, and over a network that is cut, without Spark.

Finds a property that does not reach one of the clients, a secret in an error, and a record that is lost or doubled when
connections end at any step of a commit. The certificate is made here; the proxy is `tests.kafka_proxy`.
"""

from __future__ import annotations

import shutil
import ssl
import subprocess
import threading
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from penstock import failpoint
from penstock.common import SimpleStringSchema
from penstock.connectors.kafka import kafka_committer
from penstock.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaSink,
    KafkaSinkBuilder,
    KafkaSource,
)
from penstock.errors import PenstockError, SinkError, SourceError
from penstock.graph.endpoints import SinkContext
from tests.connectors.conftest import MakeContext
from tests.connectors.kafka.test_kafka_sink import expected, named, sink_builder
from tests.connectors.sink_epochs import staged, started
from tests.kafka_broker import Broker
from tests.kafka_logins import ScramLogin
from tests.kafka_proxy import Proxy

SECRET = "s3cr3t-and-long"  # noqa: S105 - of nobody
STEPS = ("kafka.decided", "kafka.produced", "kafka.marked", "kafka.committed")


@pytest.fixture
def context(make_context: MakeContext) -> SinkContext:
    """A context of a job of its own."""
    return replace(make_context(), job_id=uuid.uuid4().hex)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of 127.0.0.1 that signs itself, and its key."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not installed")
    directory = tmp_path_factory.mktemp("certificate")
    made, key = directory / "ca.pem", directory / "key.pem"
    command = [program, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command, "-keyout", key, "-out", made], check=True, capture_output=True)
    return made, key


def server_side(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(*certificate)
    return made


def login(certificate: tuple[Path, Path], password: str = SECRET) -> dict[str, str]:
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "shop",
        "sasl.password": password,
        "ssl.ca.location": str(certificate[0]),
        "default.api.timeout.ms": "15000",
    }


def source_of(servers: str, topic: str, properties: dict[str, str]) -> KafkaSource:
    builder = KafkaSource.builder().set_bootstrap_servers(servers).set_topics(topic)
    builder.set_properties(properties).set_group_id(topic)
    builder.set_bounded(KafkaOffsetsInitializer.latest())
    return builder.set_value_only_deserializer(SimpleStringSchema()).build()


def all_of(source: KafkaSource) -> list[Any]:
    start = source.exact_start(1)
    return [
        value
        for key, (begin, end) in zip(start.keys, start.ranges, strict=True)
        for values, _ in source.exact_batches(key, begin, end or 0, 100)
        for value in values
    ]


def test_every_client_speaks_tls_and_logs_in(
    kafka: Broker, context: SinkContext, certificate: tuple[Path, Path]
) -> None:
    topic = kafka.topic()
    properties = login(certificate)
    with Proxy(kafka.servers_here(), server_side(certificate), ("shop", SECRET)) as proxy:
        sink = with_properties(sink_builder(proxy.servers, topic), properties)
        committer = started(sink, context)
        committer.commit("1", staged(sink, context, *named("1")))
        committer.close()
        source = source_of(proxy.servers, topic, properties)
        assert all_of(source) == named("1")
        source.confirm({f"{topic}-0": 4})
        assert set(proxy.logins) == {("shop", SECRET)}
        assert proxy.strangers == 0
    assert kafka.values(topic) == expected("1")
    assert kafka.committed(topic, topic) == [4]


def test_every_client_proves_that_it_knows_the_password(
    kafka: Broker, context: SinkContext, certificate: tuple[Path, Path]
) -> None:
    topic = kafka.topic()
    properties = login(certificate) | {"sasl.mechanism": ScramLogin.mechanism}
    proxy = Proxy(kafka.servers_here(), server_side(certificate), ("shop", SECRET), ScramLogin)
    with proxy:
        sink = with_properties(sink_builder(proxy.servers, topic), properties)
        committer = started(sink, context)
        committer.commit("1", staged(sink, context, *named("1")))
        committer.close()
        assert all_of(source_of(proxy.servers, topic, properties)) == named("1")
        assert set(proxy.logins) == {("shop", "")}
        assert proxy.strangers == 0
        wrong = properties | {"sasl.password": f"{SECRET}-other", "default.api.timeout.ms": "1500"}
        with pytest.raises(SourceError, match="cannot find the partitions") as told:
            all_of(source_of(proxy.servers, topic, wrong))
    assert SECRET not in str(told.value)
    assert SECRET not in repr(source_of(proxy.servers, topic, properties))


def test_every_client_shows_its_certificate(
    kafka: Broker, context: SinkContext, certificate: tuple[Path, Path]
) -> None:
    topic = kafka.topic()
    both = server_side(certificate)
    both.verify_mode = ssl.CERT_REQUIRED
    both.load_verify_locations(certificate[0])
    properties = {
        "security.protocol": "SSL",
        "ssl.ca.location": str(certificate[0]),
        "ssl.certificate.location": str(certificate[0]),
        "ssl.key.location": str(certificate[1]),
        "ssl.key.password": SECRET,  # of a key without one: it is not looked at
        "default.api.timeout.ms": "15000",
    }
    with Proxy(kafka.servers_here(), both) as proxy:
        sink = with_properties(sink_builder(proxy.servers, topic), properties)
        committer = started(sink, context)
        committer.commit("1", staged(sink, context, *named("1")))
        committer.close()
        assert all_of(source_of(proxy.servers, topic, properties)) == named("1")
        without = {k: v for k, v in properties.items() if "certificate" not in k and "key" not in k}
        without["default.api.timeout.ms"] = "1500"
        with pytest.raises(SourceError, match="cannot find the partitions"):
            all_of(source_of(proxy.servers, topic, without))
    assert SECRET not in repr(sink)


def with_properties(builder: KafkaSinkBuilder, properties: dict[str, str]) -> KafkaSink:
    for key, value in properties.items():
        builder.set_property(key, value)
    return builder.build()


def test_a_java_login_is_understood(kafka: Broker, certificate: tuple[Path, Path]) -> None:
    topic = kafka.topic()
    kafka.add(topic, b"a")
    properties = login(certificate)
    del properties["sasl.username"], properties["sasl.password"]
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    properties["sasl.jaas.config"] = f'{module} required username="shop" password="{SECRET}";'
    with Proxy(kafka.servers_here(), server_side(certificate), ("shop", SECRET)) as proxy:
        assert all_of(source_of(proxy.servers, topic, properties)) == ["a"]


def test_a_client_that_does_not_log_in_is_seen(
    kafka: Broker, certificate: tuple[Path, Path]
) -> None:
    """So that the tests above show that every client does."""
    topic = kafka.topic()
    properties = login(certificate) | {"security.protocol": "SSL", "default.api.timeout.ms": "1500"}
    with Proxy(kafka.servers_here(), server_side(certificate), ("shop", SECRET)) as proxy:
        with pytest.raises(SourceError, match="cannot find the partitions"):
            all_of(source_of(proxy.servers, topic, properties))
        assert proxy.strangers > 0


@pytest.mark.parametrize("wrong", ["password", "authority"])
def test_a_login_that_is_refused_is_told_without_its_secret(
    kafka: Broker, context: SinkContext, certificate: tuple[Path, Path], wrong: str
) -> None:
    topic = kafka.topic()
    properties = login(certificate, f"{SECRET}-other" if wrong == "password" else SECRET)
    if wrong == "authority":
        del properties["ssl.ca.location"]
    properties["default.api.timeout.ms"] = "1500"
    with Proxy(kafka.servers_here(), server_side(certificate), ("shop", SECRET)) as proxy:
        with pytest.raises(SourceError, match="cannot find the partitions of kafka topic") as told:
            all_of(source_of(proxy.servers, topic, properties))
        sink = with_properties(sink_builder(proxy.servers, topic), properties)
        with pytest.raises(SinkError, match="cannot begin transactions") as refused:
            started(sink, context)
    errors: list[PenstockError] = [told.value, refused.value]
    assert not any(SECRET in str(error) for error in errors)


def test_a_source_reads_on_when_its_network_is_back(kafka: Broker) -> None:
    topic = kafka.topic()
    kafka.add(topic, *(b"%d" % n for n in range(6)))
    with Proxy(kafka.servers_here()) as proxy:
        source = source_of(proxy.servers, topic, {"default.api.timeout.ms": "20000"})
        (split,) = source.exact_discover({})
        first = source.read(split.id, 0, 3)
        assert list(first.records) == ["0", "1", "2"]
        proxy.cut()
        later = threading.Timer(0.5, proxy.mend)
        later.start()
        assert list(source.read(split.id, 3, 6).records) == ["3", "4", "5"]
        later.join()
        proxy.cut()
        threading.Timer(0.5, proxy.mend).start()
        kafka.add(topic, b"6", after_ms=9_000)
        assert source.exact_discover({split.id: 6})[0].head == 7


@pytest.mark.parametrize("step", STEPS)
def test_a_network_that_is_cut_in_a_commit_neither_loses_nor_doubles(
    kafka: Broker, context: SinkContext, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = kafka.topic()
    with Proxy(kafka.servers_here()) as proxy:
        sink = sink_builder(proxy.servers, topic).build()
        committer = started(sink, context)
        committer.commit("1", staged(sink, context, *named("1")))
        seen: list[str] = []

        def cut(name: str) -> None:
            if name == step and not seen:
                seen.append(name)
                proxy.cut()
                threading.Timer(0.5, proxy.mend).start()

        for module in (
            kafka_committer,
            __import__("penstock.connectors.kafka.kafka_committer", fromlist=["_"]),
        ):
            monkeypatch.setattr(module, "failpoint", cut)
        committer.commit("2", staged(sink, context, *named("2")))
        assert seen == [step]
        committer.commit("3", staged(sink, context, *named("3")))
        committer.close()
    assert kafka.values(topic) == expected("1", "2", "3")
    assert failpoint.failpoint is not cut
