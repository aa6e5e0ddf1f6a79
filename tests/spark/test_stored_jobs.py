"""Jobs whose checkpoint directory is in S3: the same answer as on a mounted file system, and as much after failures."""

from __future__ import annotations

import json
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.cli.job_observer import JobObserver
from penstock.common import Row, Types, WatermarkStrategy
from penstock.datastream.connectors import (
    DataGeneratorSource,
    FileSink,
    FileSource,
    HybridSource,
)
from penstock.errors import JobDirectoryError, PenstockError
from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.s3_store import S3Store, s3_client
from penstock.filesystem.store_settings import StoreSettings
from penstock.filesystem.stored_path import StoredPath
from penstock.inspection import read_state_names
from penstock.spark.job.mounted_path import checkpoint_path
from penstock.spark.job.observed_job import ObservedJob
from penstock.spark.savepoints.requested_savepoint import take_offline
from penstock.state.savepoint import read_savepoint
from tests.s3_server import SECRET, Fault, FaultProxy, Request, s3_server, settings_of
from tests.spark.conftest import Environment, Failures
from tests.spark.waiting import wait_for

ROW = Types.ROW_NAMED(["key", "n"], [Types.LONG(), Types.LONG()])
HISTORY, LIVE, KEYS = 40, 60, 5
DIRECTORY = "execution.checkpointing.dir"
BATCH_PLACES = ("batch.pinned:1:raise", "batch.staged:1:raise", "batch.committed:1:raise")
LIVE_PLACES = (
    "epoch.encoded:1:raise",
    "epoch.record-checked:1:raise",
    "epoch.record-linked:1:raise",
    "live.staged:2:raise",
    "live.recorded:1:raise",
    "live.committed:1:raise",
)
PLACES = {
    "batch": BATCH_PLACES,
    "streaming": LIVE_PLACES,
    "mixed": (*BATCH_PLACES, *LIVE_PLACES),
}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with s3_server() as url:
        yield url


@pytest.fixture
def proxy(server: str) -> Iterator[FaultProxy]:
    made = FaultProxy(server)
    yield made
    made.stop()


@pytest.fixture
def bucket(
    server: str, proxy: FaultProxy, session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ObjectPath]:
    """A bucket behind a proxy; Spark's options lead there, and the environment for those who have no Spark."""
    made = ObjectPath(f"b-{uuid.uuid4().hex[:12]}")
    s3_client(settings_of(server)).create_bucket(Bucket=made.bucket)
    options = {
        "fs.s3a.endpoint": proxy.url,
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


@pytest.fixture
def history(tmp_path: Path) -> Path:
    directory = tmp_path / "history"
    directory.mkdir()
    for part in range(4):
        lines = [json.dumps({"key": n % KEYS, "n": 1}) for n in range(part, HISTORY, 4)]
        (directory / f"{part}.json").write_text("\n".join(lines))
    return directory


def counts(
    env: Any, history: Path, out: Path, *, per_second: int | None = None, count: int = LIVE
) -> Any:
    """Count the records of each key, and return the counts."""
    live = DataGeneratorSource(
        lambda i: Row(key=i % KEYS, n=1),
        count=count,
        records_per_second=per_second,
        type_info=ROW,
    )
    source = HybridSource.builder(FileSource.json(str(history), ROW)).add_source(live).build()
    read = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    sums = read.key_by(lambda row: row.key).sum("n").uid("counts")
    sums.sink_to(FileSink.json(str(out))).uid("out")
    return sums


def rows(out: Path) -> Counter[tuple[int, int]]:
    lines = [
        json.loads(line) for path in out.glob("part-*") for line in path.read_text().splitlines()
    ]
    return Counter((line["key"], line["n"]) for line in lines)


def expected(mode: str) -> Counter[tuple[int, int]]:
    """Every count of each key, but of batch runs the last one only."""
    most = (HISTORY + LIVE) // KEYS
    first = most if mode == "batch" else 1
    return Counter((key, n) for key in range(KEYS) for n in range(first, most + 1))


@pytest.mark.parametrize("mode", ["batch", "streaming", "mixed"])
@pytest.mark.parametrize("where", ["mounted", "stored"])
def test_a_job_gives_the_same_answer_wherever_its_directory_is(
    environment: Environment,
    bucket: ObjectPath,
    history: Path,
    failures: Failures,
    tmp_path: Path,
    mode: str,
    where: str,
) -> None:
    stored = {DIRECTORY: f"s3a://{bucket.bucket}/jobs/one"} if where == "stored" else {}
    small = {"execution.live.max-records-per-batch": "20"}
    env = environment(mode, **small, **stored, **failures.at(*PLACES[mode]))
    counts(env, history, tmp_path / "out")
    env.execute("counts")
    failures.check_all_happened()
    assert rows(tmp_path / "out") == expected(mode)
    if where == "stored":
        assert not (tmp_path / "job").exists()


def test_values_come_to_the_driver_through_the_store(
    environment: Environment, bucket: ObjectPath, session: SparkSession
) -> None:
    env = environment("streaming", **{DIRECTORY: f"{bucket}/jobs/one"})
    source = DataGeneratorSource(lambda i: i, count=100)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    found = numbers.key_by(lambda n: n % 3).map(lambda n: n * 2).execute_and_collect()
    assert sorted(found) == list(range(0, 200, 2))


def test_a_put_whose_answer_is_lost_throttling_and_slow_lists_change_nothing(
    environment: Environment,
    bucket: ObjectPath,
    history: Path,
    tmp_path: Path,
    proxy: FaultProxy,
) -> None:
    def puts(name: str) -> Any:
        return lambda asked: asked.method == "PUT" and name in asked.path

    def lists(asked: Request) -> bool:
        return asked.method == "GET" and "list-type" in asked.query

    proxy.faults += [
        Fault(puts("/records/"), times=2, is_lost=True),
        Fault(puts("/drivers/000000000001.json"), is_lost=True),
        Fault(puts("/steps/"), times=3, is_lost=True),
        Fault(puts("/segments/"), times=1, is_lost=True),
        Fault(puts("/run-"), times=3, is_throttled=True),
        Fault(lists, times=5, before_answer=lambda: time.sleep(0.5)),
        Fault(lambda asked: asked.method == "HEAD", times=5, is_throttled=True),
    ]
    stored = {DIRECTORY: f"{bucket}/jobs/one", "execution.live.max-records-per-batch": "20"}
    env = environment("mixed", **stored)
    counts(env, history, tmp_path / "out")
    env.execute("counts")
    assert rows(tmp_path / "out") == expected("mixed")
    left = {id(fault): fault.times for fault in proxy.faults if fault.times}
    assert len(left) <= 1, "all faults but those of segments have happened"


def test_a_job_stops_with_a_savepoint_goes_on_and_is_read(
    environment: Environment,
    bucket: ObjectPath,
    history: Path,
    tmp_path: Path,
    server: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def start(name: str, **settings: str) -> Any:
        small = {"execution.live.max-records-per-batch": "10"}
        env = environment("mixed", **small, **{DIRECTORY: f"{bucket}/{name}"}, **settings)
        counts(env, history, tmp_path / "out", per_second=30)
        return env.execute_async("counts")

    client = start("first")
    wait_for(client, lambda: rows(tmp_path / "out").total() >= HISTORY + 10)
    taken = client.stop_with_savepoint(False, None).result()
    client.get_job_execution_result().result()
    assert taken.startswith(f"{bucket}/first/savepoints/")
    at = ObjectPath(bucket.bucket, taken.removeprefix(f"{bucket}/"))
    assert read_savepoint(StoredPath(S3Store(settings_of(server)), at)).job_name == "counts"
    assert read_state_names(taken).count() == 1
    assert read_state_names(f"{bucket}/first").collect() == read_state_names(taken).collect()
    client = start("second", **{"execution.state-recovery.path": taken})
    client.get_job_execution_result().result()
    assert rows(tmp_path / "out") == expected("mixed")
    settings = StoreSettings(s3=settings_of(server))
    job = checkpoint_path(f"{bucket}/second", settings)
    assert JobObserver.at(job).status()["status"] == "FINISHED"


def test_a_changed_program_takes_the_place_of_a_job_in_a_store(
    environment: Environment,
    bucket: ObjectPath,
    history: Path,
    tmp_path: Path,
    failures: Failures,
) -> None:
    out, often = tmp_path / "out", tmp_path / "often"

    def start(name: str, **settings: Any) -> Any:
        stored = {DIRECTORY: f"{bucket}/{name}", "execution.live.max-records-per-batch": "20"}
        env = environment("mixed", **stored, **settings)
        sums = counts(env, history, out, per_second=20, count=100_000)
        if settings:
            ones = sums.map(lambda row: Row(key=row.n, n=1), ROW).uid("ones")
            of_counts = ones.key_by(lambda row: row.key).sum("n").uid("often")
            of_counts.sink_to(FileSink.json(str(often))).uid("often-out")
        return env.execute_async("counts")

    first = start("first")
    wait_for(first, lambda: rows(out).total() >= HISTORY + 10)
    now = {"execution.evolution.from-job": f"{bucket}/first", "execution.evolution": "allow"}
    with pytest.raises(PenstockError, match="failpoint"):
        start("second", **now, **failures.at("bootstrap.merged:1:raise"))
    first.get_job_execution_result().result()
    second = start("second", **now)
    read = rows(often).total()
    wait_for(second, lambda: rows(often).total() >= read + 10)
    second.cancel().result()
    seen = rows(out)
    assert {*seen.values()} == {1}
    keys = Counter(n for _, n in seen)
    assert rows(often) == Counter((n, k + 1) for n, times in keys.items() for k in range(times))


def test_a_savepoint_is_taken_of_a_job_that_does_not_run(
    environment: Environment, bucket: ObjectPath, history: Path, tmp_path: Path, server: str
) -> None:
    stored = {DIRECTORY: f"{bucket}/jobs/one", "execution.live.max-records-per-batch": "10"}
    env = environment("mixed", **stored)
    counts(env, history, tmp_path / "out", per_second=30)
    client = env.execute_async("counts")
    wait_for(client, lambda: rows(tmp_path / "out").total() >= HISTORY + 10)
    client.cancel()
    job = ObservedJob.at(
        checkpoint_path(f"{bucket}/jobs/one", StoreSettings(s3=settings_of(server)))
    )
    assert not job.is_running()
    taken, unnamed = take_offline(job, tmp_path / "savepoints", stop=True)
    assert unnamed == ()
    assert job.ended() == f"it was stopped with savepoint {taken}"
    more = {"execution.state-recovery.path": str(taken), DIRECTORY: f"{bucket}/jobs/two"}
    env = environment("mixed", **more)
    counts(env, history, tmp_path / "out")
    env.execute("counts")
    assert rows(tmp_path / "out") == expected("mixed")


def test_what_needs_files_is_refused(
    environment: Environment, session: SparkSession, bucket: ObjectPath
) -> None:
    env = environment("streaming", **{DIRECTORY: f"{bucket}/jobs/one"})
    env.from_dataframe(session.readStream.format("rate").load()).print()
    with pytest.raises(JobDirectoryError, match="is a DataFrame, which Spark writes") as caught:
        env.execute()
    assert SECRET not in str(caught.value)
