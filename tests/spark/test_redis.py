"""Streams of Redis on Spark: history, live and both, and on from where a job was stopped.

Every test compares with what one uninterrupted run would have written.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from penstock.api.environment.job import JobClient
from penstock.common import Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import FileSink, HybridSource
from penstock.datastream.connectors.redis import RedisSink, RedisSource
from penstock.errors import SourceError
from penstock.graph.endpoints import Sink
from penstock.graph.source import Source
from tests.redis_server import SECRET, Server
from tests.spark.conftest import Environment, Failures
from tests.spark.test_clients import written
from tests.spark.waiting import wait_for

ROW = Types.ROW_NAMED(["key", "n"], [Types.STRING(), Types.LONG()])
NO_TIME = WatermarkStrategy.no_watermarks()


def source(valkey: Server, stream: str) -> RedisSource:
    made = RedisSource.streams(valkey.url, stream)
    return made.map_entries(lambda entry: entry.fields["key"], Types.STRING())


def counts(count: int) -> Counter[Any]:
    return Counter((f"k{n % 5}", n // 5 + 1) for n in range(count))


def final(rows: Counter[Any]) -> dict[str, int]:
    return {key: max(n for k, n in rows if k == key) for key, _ in rows}


def start(env: StreamExecutionEnvironment, read: Source, sink: Sink) -> JobClient:
    """Start a job that counts the entries of every key."""
    keys = env.from_source(read, NO_TIME, "keys").uid("keys")
    ones = keys.map(lambda key: (key, 1)).key_by(lambda one: one[0])
    ones.sum(1).uid("counts").map(lambda r: r, ROW).sink_to(sink).uid("out")
    return env.execute_async("keys")


def stop(client: JobClient) -> None:
    client.cancel().result()
    with pytest.raises(Exception, match="cancelled"):
        client.get_job_execution_result().result()


def files_with_the_secret(directory: Path) -> list[Path]:
    """Return them, of the files that there are, however deep."""
    kept = [path for path in directory.rglob("*") if path.is_file()]
    assert kept
    return [path for path in kept if SECRET.encode() in path.read_bytes()]


@pytest.mark.parametrize("mode", ["streaming", "mixed"])
def test_a_stream_is_read_once_over_a_restart(
    environment: Environment, tmp_path: Path, valkey: Server, mode: str
) -> None:
    stream, out = valkey.name(), tmp_path / "out"
    valkey.add(stream, *range(50))

    def read() -> Source:
        made = source(valkey, stream)
        return HybridSource.until_head(made) if mode == "mixed" else made

    client = start(environment(mode), read(), FileSink.parquet(out))
    wait_for(client, lambda: final(written(out)) == final(counts(50)))
    valkey.add(stream, *range(50, 70))
    wait_for(client, lambda: final(written(out)) == final(counts(70)))
    stop(client)
    valkey.add(stream, *range(70, 90))
    client = start(environment(mode), read(), FileSink.parquet(out))
    wait_for(client, lambda: written(out) == counts(90))
    stop(client)
    assert files_with_the_secret(tmp_path / "job") == []


@pytest.mark.parametrize("mode", ["batch", "streaming", "mixed"])
def test_counts_are_in_a_stream_once_whatever_fails(
    environment: Environment, tmp_path: Path, valkey: Server, failures: Failures, mode: str
) -> None:
    stream, to = valkey.name(), valkey.name()
    valkey.add(stream, *range(50))
    nth = 1 if mode == "batch" else 2
    places = [f"redis.{step}:{nth}:raise" for step in ("decided", "read", "committed")]
    settings = failures.at(*places) | {"execution.live.max-records-per-batch": 10}
    made = source(valkey, stream)
    read: Source = made.bounded() if mode == "batch" else made
    read = HybridSource.until_head(made) if mode == "mixed" else read
    client = start(environment(mode, **settings), read, RedisSink.to_stream(valkey.url, to))
    if mode == "batch":
        client.get_job_execution_result().result()
        assert valkey.seen(to) == Counter({(f"k{n}", 10): 1 for n in range(5)})
    else:
        for first in range(50, 90, 10):
            valkey.add(stream, *range(first, first + 10))
            wait_for(client, lambda: final(valkey.seen(to)) == final(counts(first + 10)))  # noqa: B023
        stop(client)
        assert valkey.seen(to) == counts(90)
    failures.check_all_happened()
    assert files_with_the_secret(tmp_path / "job") == []


def test_entries_that_were_trimmed_before_they_were_read_stop_the_job(
    environment: Environment, tmp_path: Path, valkey: Server
) -> None:
    stream, out = valkey.name(), tmp_path / "out"
    valkey.add(stream, *range(10))
    client = start(environment("streaming"), source(valkey, stream), FileSink.parquet(out))
    wait_for(client, lambda: written(out) == counts(10))
    stop(client)
    valkey.add(stream, *range(10, 30))
    valkey.client.xtrim(stream, maxlen=5, approximate=False)
    client = start(environment("streaming"), source(valkey, stream), FileSink.parquet(out))
    with pytest.raises(SourceError, match="entries were trimmed"):
        client.get_job_execution_result().result()
