"""The first records of sources of other systems, read from their servers as `penstock sample` does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.common import SimpleStringSchema, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DiscardingSink, FileSource, Source
from penstock.datastream.connectors.delta import DeltaSource
from penstock.datastream.connectors.kafka import KafkaSource
from penstock.datastream.connectors.redis import RedisSource
from penstock.errors import SourceError
from penstock.testing.law.sample_files import write_samples
from tests.kafka_broker import Broker
from tests.redis_server import Server

NAMES = ("zero", "one", "two")


def of_kafka(request: pytest.FixtureRequest) -> Source:
    broker: Broker = request.getfixturevalue("kafka")
    topic = broker.topic()
    broker.add(topic, *(name.encode() for name in NAMES))
    builder = KafkaSource.builder().set_bootstrap_servers(broker.servers).set_topics(topic)
    return builder.set_value_only_deserializer(SimpleStringSchema()).build()


def of_redis(request: pytest.FixtureRequest) -> Source:
    server: Server = request.getfixturevalue("valkey")
    stream = server.name()
    server.add(stream, 0, 1, 2)
    return RedisSource.streams(server.url, stream).map_entries(
        lambda entry: NAMES[int(entry.fields["n"])], Types.STRING()
    )


def of_delta(request: pytest.FixtureRequest) -> Source:
    deltalake = pytest.importorskip("deltalake")
    path: Path = request.getfixturevalue("tmp_path") / "table"
    deltalake.write_deltalake(str(path), pa.table({"n": list(NAMES)}))
    return DeltaSource.table(str(path)).from_version(0)


def test_no_records_are_an_error_before_a_masked_column(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    source = FileSource.text(tmp_path / "nowhere")
    read = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
    read.sink_to(DiscardingSink())
    graph = env.plan().program
    assert graph is not None
    with pytest.raises(SourceError, match="'lines': it has no records"):
        write_samples(graph, tmp_path / "samples", 2, ["name"])


@pytest.mark.parametrize("make", [of_kafka, of_redis, of_delta])
def test_the_first_records_are_written(
    make: Callable[[pytest.FixtureRequest], Source], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    read: Any = env.from_source(make(request), WatermarkStrategy.no_watermarks(), "numbers")
    read.sink_to(DiscardingSink())
    graph = env.plan().program
    assert graph is not None
    (found,) = write_samples(graph, tmp_path / "samples", 2, []).sources
    assert (found.problem, found.records) == (None, 2)
    assert found.path is not None
    lines = found.path.read_text().splitlines()
    assert [any(name in line for line in lines) for name in NAMES] == [True, True, False]
