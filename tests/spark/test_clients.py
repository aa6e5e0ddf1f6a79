"""Jobs as their program sees them: clients, iterators, sessions, printed lines."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.api.environment.job import JobStatus
from penstock.common import Row, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import (
    CollectionSource,
    DataGeneratorSource,
    FileSink,
    NumberSequenceSource,
    SparkSource,
)
from penstock.errors import PenstockError
from penstock.observe.events.job_events import JobEnded, JobEvent, MicroBatch
from penstock.observe.events.listeners import JobListener, also_listening
from penstock.spark.session.job_settings import query_settings
from penstock.wire.canonical.key_groups import KeyGroups, subtask_of
from tests.spark.conftest import Environment
from tests.spark.waiting import wait_for

NO_TIME = WatermarkStrategy.no_watermarks()
ROW = Types.ROW_NAMED(["n", "count"], [Types.LONG(), Types.LONG()])
SMALL = {"execution.live.max-records-per-batch": 40}


def written(directory: Path) -> Counter[tuple[Any, ...]]:
    return Counter(
        tuple(row.values())
        for path in directory.glob("*.parquet")
        for row in pq.read_table(path).to_pylist()
    )


def count_keys(env: StreamExecutionEnvironment, count: int | None, out: Path) -> None:
    """Count the remainders of numbers, one result per record."""
    source = DataGeneratorSource(lambda i: (i % 4, 1), count=count)
    counts = env.from_source(source, NO_TIME, "numbers").key_by(lambda t: t[0]).sum(1)
    counts.map(lambda t: t, ROW).sink_to(FileSink.parquet(out))


def counted(count: int) -> Counter[tuple[int, int]]:
    return Counter((i % 4, i // 4 + 1) for i in range(count))


def test_a_cancelled_job_says_so(
    environment: Environment, session: SparkSession, tmp_path: Path
) -> None:
    env = environment("streaming", **SMALL)
    count_keys(env, None, tmp_path / "out")
    client = env.execute_async("endless")
    try:
        wait_for(client, lambda: written(tmp_path / "out").total() > 0)
        assert client.get_job_status().result() is JobStatus.RUNNING
    finally:
        client.cancel()
    assert client.get_job_status().result() is JobStatus.CANCELED
    with pytest.raises(PenstockError) as caught:
        client.get_job_execution_result().result()
    assert caught.value.code == "JOB_CANCELLED"
    assert session.streams.active == []
    found = written(tmp_path / "out")
    assert found == counted(found.total())


def test_a_batch_run_can_be_cancelled(environment: Environment, tmp_path: Path) -> None:
    started = tmp_path / "started"

    def dawdle(n: int) -> tuple[int, int]:
        started.touch()
        time.sleep(0.5)
        return n, n

    env = environment("batch")
    numbers = env.from_source(NumberSequenceSource(0, 500), NO_TIME, "numbers")
    numbers.map(dawdle, ROW).sink_to(FileSink.parquet(tmp_path / "out"))
    client = env.execute_async()
    try:
        wait_for(client, started.exists)
    finally:
        before = time.monotonic()
        client.cancel()
    assert time.monotonic() - before < 60, "it waited for the records"
    assert client.get_job_status().result() is JobStatus.CANCELED
    assert written(tmp_path / "out") == Counter()


def test_a_cancelled_job_is_resumed_in_the_same_process(
    environment: Environment, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    env = environment("streaming", **SMALL)
    count_keys(env, 160, out)
    client = env.execute_async()
    try:
        wait_for(client, lambda: written(out).total() >= 40)
    finally:
        client.cancel()
    assert client.get_job_status().result() is JobStatus.CANCELED
    assert written(out).total() < 160
    env = environment("streaming", **SMALL)
    count_keys(env, 160, out)
    resumed = env.execute()
    assert resumed.get_job_id() == client.get_job_id()
    assert written(out) == counted(160)


@pytest.mark.parametrize("how", ["close", "with", "limit"])
def test_closing_the_iterator_stops_the_job(
    environment: Environment, session: SparkSession, how: str
) -> None:
    env = environment("streaming", **SMALL)
    endless = env.from_source(DataGeneratorSource(lambda i: i), NO_TIME, "endless")
    if how == "limit":
        assert endless.execute_and_collect(limit=3) == [0, 1, 2]
    else:
        results = endless.execute_and_collect()
        if how == "close":
            assert next(results) == 0
            results.close()
        else:
            with results:
                assert next(results) == 0
        results.close()  # again: does nothing
    assert session.streams.active == []


def test_jobs_follow_each_other_in_one_session(environment: Environment, tmp_path: Path) -> None:
    ids = set()
    for number, mode in enumerate(["batch", "mixed", "streaming", "batch"]):
        settings = {"execution.checkpointing.dir": str(tmp_path / f"job-{number}")}
        env = environment(mode, **settings)
        numbers = env.from_source(CollectionSource.of(range(10 * number)), NO_TIME, "numbers")
        numbers.map(lambda n: (n, 1), ROW).sink_to(FileSink.parquet(tmp_path / str(number)))
        ids.add(env.execute().get_job_id())
        assert written(tmp_path / str(number)) == Counter((n, 1) for n in range(10 * number))
    assert len(ids) == 4


def test_one_environment_can_execute_twice(environment: Environment) -> None:
    env = environment("batch")
    env.get_configuration().remove_config("execution.checkpointing.dir")
    for size in (3, 5):
        with env.from_collection(range(size)).execute_and_collect() as results:
            assert sorted(results) == list(range(size))


class Raises(JobListener):
    """It must stop nobody."""

    def on_event(self, event: JobEvent) -> None:
        raise ValueError("a listener of the user's")


class Heard(JobListener):
    """What was told, by job."""

    def __init__(self) -> None:
        self.events: dict[str, list[JobEvent]] = {}

    def on_event(self, event: JobEvent) -> None:
        self.events.setdefault(event.job_id, []).append(event)


def test_two_jobs_run_side_by_side(
    environment: Environment, session: SparkSession, tmp_path: Path
) -> None:
    """Different parallelism: what one job sets in the session must not reach the other, nor stay."""
    clients = {}
    counts = {1: 80, 2: 120}
    heard = Heard()
    size = "spark.sql.execution.arrow.maxBytesPerBatch"
    before = session.conf.get(size)
    session.conf.set(size, "1000000")
    try:
        with also_listening(Raises()), also_listening(heard):
            for parallelism, count in counts.items():
                settings: dict[str, Any] = {
                    "parallelism.default": parallelism,
                    "execution.checkpointing.dir": str(tmp_path / f"job-{parallelism}"),
                }
                env = environment("streaming", **SMALL, **settings)
                count_keys(env, count, tmp_path / str(parallelism))
                clients[parallelism] = env.execute_async(f"job {parallelism}")
            results = {p: c.get_job_execution_result().result() for p, c in clients.items()}
        assert session.conf.get(size) == "1000000"
    finally:
        session.conf.set(size, str(before))
        for client in clients.values():
            client.cancel()
    ids = {p: str(result.get_job_id()) for p, result in results.items()}
    assert set(heard.events) == set(ids.values())
    for parallelism, count in counts.items():
        assert written(tmp_path / str(parallelism)) == counted(count)
        assert sum(run.records for run in results[parallelism].runs) == count
        events = heard.events[ids[parallelism]]
        assert {event.job_name for event in events} == {f"job {parallelism}"}
        assert sum(event.records for event in events if isinstance(event, MicroBatch)) == count
        assert isinstance(events[-1], JobEnded)


def test_one_directory_is_not_shared_by_two_jobs(environment: Environment, tmp_path: Path) -> None:
    env = environment("streaming", **SMALL)
    count_keys(env, None, tmp_path / "out")
    client = env.execute_async()
    try:
        env = environment("streaming", **SMALL)
        count_keys(env, None, tmp_path / "out")
        with pytest.raises(PenstockError) as caught:
            env.execute_async()
        assert caught.value.code == "JOB_LOCKED"
    finally:
        client.cancel()


def test_lines_are_printed_as_flink_prints_them(
    environment: Environment, capsys: pytest.CaptureFixture[str]
) -> None:
    """The number before each line is the subtask of its key, from 1."""
    env = environment("batch", **{"pipeline.max-parallelism": 128})
    of_row = Types.ROW([Types.STRING(), Types.BOOLEAN(), Types.DOUBLE()])
    records = env.from_collection(
        [Row(f"k{i}", i % 2 == 0, None if i % 3 else 1.5) for i in range(8)], of_row
    )
    records.key_by(lambda row: row[0]).map(lambda row: row, of_row).print()
    env.execute()
    groups = KeyGroups(128)
    wanted = {
        f"{subtask_of(groups[f'k{i}'], 2, 128) + 1}> "
        f"+I[k{i},{'false' if i % 2 else 'true'},{'null' if i % 3 else '1.5'}]"
        for i in range(8)
    }
    assert {line[:3] for line in wanted} == {"1> ", "2> "}
    lines = capsys.readouterr().out.splitlines()
    assert sorted(lines) == sorted(wanted)


@pytest.fixture
def seven_partitions(session: SparkSession) -> Iterator[None]:
    session.conf.set("spark.sql.shuffle.partitions", "7")
    yield
    session.conf.unset("spark.sql.shuffle.partitions")


@pytest.mark.usefixtures("seven_partitions")
def test_the_session_of_the_user_is_used_as_it_is(
    environment: Environment, session: SparkSession
) -> None:
    """Also from a thread, where it is not the active session."""
    session.range(5).createOrReplaceTempView("five")
    before = session.sparkContext.applicationId
    env = environment("streaming", **{"spark.sql.session.timeZone": "Asia/Tokyo"})
    zone = session.conf.get("spark.sql.session.timeZone")
    rows = env.from_source(SparkSource(session.table("five")), NO_TIME, "rows")
    found: list[Any] = []

    def work() -> None:
        with rows.key_by(lambda row: row.id).reduce(max).execute_and_collect() as results:
            found.extend(row.id for row in results)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert sorted(found) == [0, 1, 2, 3, 4]
    assert session.sparkContext.applicationId == before
    assert session.conf.get("spark.sql.shuffle.partitions") == "7"
    assert session.conf.get("spark.sql.session.timeZone") == zone
    assert session.table("five").count() == 5


def test_what_only_our_queries_need_does_not_stay_in_the_session(session: SparkSession) -> None:
    key = "spark.sql.streaming.checkpointFileManagerClass"
    assert session.conf.get(key, None) is None
    with query_settings(session, 3):
        assert session.conf.get("spark.sql.shuffle.partitions") == "3"
        ours = str(session.conf.get(key))
        assert ours.endswith(".FileSystemBasedCheckpointFileManager")
    assert session.conf.get(key, None) is None
    users = ours.replace("FileSystemBased", "FileContextBased")
    session.conf.set(key, users)
    try:
        with query_settings(session, 3):
            assert session.conf.get(key) == users
        assert session.conf.get(key) == users
    finally:
        session.conf.unset(key)
