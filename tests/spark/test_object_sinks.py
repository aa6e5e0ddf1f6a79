"""File sinks on S3 through Spark: the login comes from Spark's options, and is written nowhere."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.api.environment.job import JobClient
from penstock.common import Row, Types, WatermarkStrategy
from penstock.datastream.connectors import DataGeneratorSource, FileSink, NumberSequenceSource
from penstock.errors import ArgumentError, PenstockError
from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.s3_store import S3Store, s3_client
from penstock.filesystem.store_settings import AzureLogin
from penstock.spark.session.settings import object_settings
from tests.s3_server import SECRET, s3_server, settings_of
from tests.spark.conftest import Environment, Failures
from tests.spark.waiting import wait_for

ROW = Types.ROW_NAMED(["key", "n"], [Types.LONG(), Types.LONG()])
LAST = 60
PLACES = (
    "sink.numbered:1:raise",
    "sink.taken-over:1:raise",
    "sink.manifest-written:1:raise",
    "sink.completed-first:1:raise",
    "sink.committed:1:raise",
)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with s3_server() as url:
        yield url


@pytest.fixture
def bucket(server: str, session: SparkSession) -> Iterator[ObjectPath]:
    made = ObjectPath(f"b-{uuid.uuid4().hex[:12]}")
    s3_client(settings_of(server)).create_bucket(Bucket=made.bucket)
    options = {
        "fs.s3a.endpoint": server,
        "fs.s3a.endpoint.region": "us-east-1",
        "fs.s3a.access.key": "tester",
        "fs.s3a.secret.key": SECRET,
        "fs.s3a.path.style.access": "true",
    }
    for key, value in options.items():
        session.conf.set(key, value)
    yield made
    for key in options:
        session.conf.unset(key)


def rows(server: str, directory: ObjectPath, *, is_over: bool = True) -> Counter[tuple[int, int]]:
    store = S3Store(settings_of(server))
    lines = [
        json.loads(line)
        for path in store.list_below(directory)
        if "_penstock" not in path.key
        for line in store.read(path).splitlines()
    ]
    assert not is_over or store.uploads(directory) == []
    return Counter((line["key"], line["n"]) for line in lines)


def counts(env: Any, to: str) -> None:
    source = NumberSequenceSource(1, LAST)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    ones = numbers.map(lambda n: (n % 3, 1)).key_by(lambda one: one[0])
    ones.sum(1).map(lambda one: Row(key=one[0], n=one[1]), ROW).sink_to(FileSink.json(to))
    env.execute()


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_records_are_written_once_although_the_job_fails_at_every_step(
    environment: Environment,
    bucket: ObjectPath,
    server: str,
    failures: Failures,
    tmp_path: Path,
    mode: str,
) -> None:
    places = failures.at(*PLACES)
    live = {} if mode == "batch" else {"execution.live.max-records-per-batch": "20"}
    counts(environment(mode, **places, **live), f"s3a://{bucket.bucket}/out")
    failures.check_all_happened()
    every = Counter((n % 3, (n + 2) // 3) for n in range(1, LAST + 1))
    last = Counter((key, LAST // 3) for key in range(3))
    assert rows(server, bucket / "out") == (last if mode == "batch" else every)
    for path in (tmp_path / "job").rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


def test_a_job_goes_on_from_a_savepoint_in_s3(
    environment: Environment, bucket: ObjectPath, server: str, tmp_path: Path
) -> None:
    def start(name: str, **settings: str) -> JobClient:
        small = {"execution.live.max-records-per-batch": "10", "parallelism.default": 2}
        here = {"execution.checkpointing.dir": str(tmp_path / name)}
        env = environment("streaming", **small, **here, **settings)
        source = DataGeneratorSource(lambda i: i + 1, count=LAST * 3, records_per_second=60)
        numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        ones = numbers.map(lambda n: (n % 3, 1)).key_by(lambda one: one[0]).sum(1).uid("counts")
        rows_of = ones.map(lambda one: Row(key=one[0], n=one[1]), ROW)
        rows_of.sink_to(FileSink.json(f"{bucket}/out")).uid("out")
        return env.execute_async("counts")

    client = start("first")
    wait_for(client, lambda: rows(server, bucket / "out", is_over=False).total() >= 10)
    taken = client.stop_with_savepoint(False, f"s3a://{bucket.bucket}/savepoints").result()
    client.get_job_execution_result().result()
    assert taken.startswith(f"{bucket}/savepoints/")
    assert list((tmp_path / "first/savepoints").iterdir()) == []
    assert rows(server, bucket / "out").total() < LAST * 3
    client = start("second", **{"execution.state-recovery.path": taken})
    client.get_job_execution_result().result()
    every = Counter((n % 3, (n + 2) // 3) for n in range(1, LAST * 3 + 1))
    assert rows(server, bucket / "out") == every


def test_a_bucket_that_is_not_there_ends_the_job_at_its_start(
    environment: Environment, bucket: ObjectPath
) -> None:
    with pytest.raises(PenstockError, match="NoSuchBucket") as caught:
        counts(environment("batch"), f"s3://{bucket.bucket}-other/out")
    assert "Make the bucket" in caught.value.hint
    assert SECRET not in str(caught.value)


def test_a_dataframe_is_not_written_to_s3(environment: Environment, bucket: ObjectPath) -> None:
    numbers = environment("batch").from_collection([1, 2], Types.LONG())
    with pytest.raises(ArgumentError, match="s3 is not a file system"):
        numbers.map(lambda n: Row(key=n, n=n), ROW).to_dataframe(directory=f"{bucket}/out")


def test_options_of_a_session_have_the_logins_of_other_stores(session: SparkSession) -> None:
    options = {
        "fs.azure.account.key.shop.dfs.core.windows.net": SECRET,
        "fs.azure.sas.fixed.token.other.dfs.core.windows.net": "sig=1",
        "fs.gs.auth.service.account.json.keyfile": "/key.json",
    }
    for key, value in options.items():
        session.conf.set(key, value)
    try:
        found = object_settings(session)
        assert found is not None
        assert found.azure.login_of("shop") == AzureLogin(SECRET)
        assert found.azure.login_of("other") == AzureLogin(None, "sig=1")
        assert found.google.keyfile == "/key.json"
        assert SECRET not in repr(found)
    finally:
        for key in options:
            session.conf.unset(key)
