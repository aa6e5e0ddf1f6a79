"""A streaming DataFrame, which a query of its own writes to files that the epochs read: each row once, whatever fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, udf

from penstock import failpoint
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DiscardingSink
from penstock.errors import JobMismatchError, PenstockError, StateError
from penstock.state.savepoint import read_savepoint
from tests.spark.conftest import Environment, Failures
from tests.spark.jobs.counted_stream import (
    ALL,
    FILES,
    HISTORY,
    PER_FILE,
    build,
    expected,
    stream_of,
    write_input,
    write_live,
    written,
)
from tests.spark.waiting import wait_for


def run_to_the_end(env: StreamExecutionEnvironment, out: Path) -> None:
    """Run a job until all its output is there, and cancel it."""
    client = env.execute_async("counted")
    try:
        wait_for(client, lambda: written(out).total() >= ALL, 200)
    finally:
        client.cancel().result()


def directory_of(job: Path) -> Path:
    """Return the directory of the stream's micro-batches."""
    (found,) = job.glob("run-*/stream-0-1")
    return found


def batches(job: Path) -> list[int]:
    """Return the micro-batches that are there."""
    return sorted(int(path.name) for path in directory_of(job).glob("[0-9]*") if path.is_dir())


@pytest.mark.parametrize("mode", ["mixed", "streaming"])
def test_a_failure_at_every_step_of_a_stream_loses_and_repeats_nothing(
    environment: Environment, session: SparkSession, tmp_path: Path, failures: Failures, mode: str
) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    write_input(data)
    places = [
        "stream.begun:2:raise",
        "stream.written:2:raise",
        "stream.checked:2:raise",
        "stream.complete:2:raise",  # its rows may be read: it is not written again
        "live.staged:3:raise",
        "live.recorded:3:raise",
    ]
    env = environment(mode, **failures.at(*places))
    build(env, stream_of(session, data), data, out)
    run_to_the_end(env, out)
    failures.check_all_happened()
    assert written(out) == expected()
    assert session.streams.active == []
    left = batches(tmp_path / "job")
    assert left[-1] == FILES - 1
    assert not [*directory_of(tmp_path / "job").glob("[0-9]*.*")], "what was begun is removed"


def test_a_job_goes_on_in_its_directory_and_from_a_savepoint_with_its_offsets(
    environment: Environment, session: SparkSession, tmp_path: Path
) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    write_input(data)
    for number in range(2, FILES):
        (data / "live" / f"{number:03}.parquet").unlink()

    def job(name: str, frame: Any, **settings: Any) -> StreamExecutionEnvironment:
        directory = {"execution.checkpointing.dir": str(tmp_path / name)}
        env = environment("mixed", **directory, **settings)
        build(env, frame, data, out)
        return env

    seen = HISTORY
    for files in (2, 4):  # the second driver goes on behind what the first has read
        for number in range(2, files):
            write_live(data, number)
        client = job("first", stream_of(session, data)).execute_async("counted")
        seen = HISTORY + files * PER_FILE
        wait_for(client, lambda: written(out).total() == seen, 200)  # noqa: B023 - it is called here
        if files == 2:
            client.cancel().result()
    savepoint = client.stop_with_savepoint().result()
    client.get_job_execution_result().result()
    assert written(out) == expected(seen)
    assert len(batches(tmp_path / "first")) == 1, "what was read is removed"
    (source,) = read_savepoint(Path(savepoint)).sources
    assert [json.loads(offset) for offset in source.position["offsets"]] == [{"logOffset": 3}]

    for number in range(4):  # only the user can let a stream begin behind an offset
        (data / "live" / f"{number:03}.parquet").unlink()
    for number in range(4, FILES):
        write_live(data, number)
    restored = {
        "execution.state-recovery.path": savepoint,
        "execution.state-recovery.ignore-source-positions": True,
    }
    run_to_the_end(job("second", stream_of(session, data), **restored), out)
    assert written(out) == expected()


def test_what_goes_wrong_in_a_stream_fails_the_job(
    environment: Environment, session: SparkSession, tmp_path: Path
) -> None:
    def divided(n: int) -> int:
        return 1 // (n - 150)

    data, out = tmp_path / "data", tmp_path / "out"
    write_input(data)
    broken: Any = udf(divided, "long", useArrow=False)(col("n"))
    env = environment("mixed")
    build(env, stream_of(session, data).withColumn("n", broken), data, out)
    with pytest.raises(
        PenstockError, match=r"streaming DataFrame of key, n failed.*Zero"
    ) as failed:
        env.execute("counted")
    assert "_MicroBatchFailedError" not in str(failed.value)
    assert session.streams.active == []
    # Files of one time come in any order, and the job may fail before an epoch has read what was written.
    assert written(out) in [expected(HISTORY + files * PER_FILE) for files in range(FILES)]


def test_a_stream_that_spark_refuses_fails_the_job(
    environment: Environment, session: SparkSession, tmp_path: Path
) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    write_input(data)
    endless = stream_of(session, data).groupBy("key").agg({"n": "max"}).toDF("key", "n")
    env = environment("mixed")
    build(env, endless, data, out)
    with pytest.raises(PenstockError, match=r"streaming DataFrame of key, n failed: .*watermark"):
        env.execute("counted")


def test_other_columns_than_the_written_ones_are_refused(
    environment: Environment, session: SparkSession, tmp_path: Path
) -> None:
    write_input(tmp_path / "data")
    frame = stream_of(session, tmp_path / "data")
    for number, columns in enumerate((frame, frame.withColumn("n", col("n").cast("int")))):
        env = environment("streaming")
        env.from_dataframe(columns).map(lambda row: row["n"]).sink_to(DiscardingSink())
        if number:
            with pytest.raises(JobMismatchError, match="columns struct<key:bigint,n:int>"):
                env.execute("columns")
            continue
        client = env.execute_async("columns")
        recorded = tmp_path / "job" / "run-0" / "stream-0-0" / "columns.json"
        wait_for(client, recorded.exists, 200)
        client.cancel().result()


def test_other_offsets_than_the_written_ones_are_refused(
    environment: Environment, session: SparkSession, tmp_path: Path
) -> None:
    """Spark has planned other offsets under the number of a micro-batch that is written."""
    data, out = tmp_path / "data", tmp_path / "out"
    write_input(data)
    env = environment("mixed")
    build(env, stream_of(session, data), data, out)
    run_to_the_end(env, out)

    directory = directory_of(tmp_path / "job")
    newest = directory / f"{batches(tmp_path / 'job')[-1]:012}" / "_offsets"
    newest.write_bytes(newest.read_bytes().replace(b'"logOffset":5', b'"logOffset":6'))
    for name in (str(FILES - 1), f".{FILES - 1}.crc"):
        (directory / "query" / "commits" / name).unlink(missing_ok=True)
    env = environment("mixed")
    build(env, stream_of(session, data), data, out)
    with pytest.raises(StateError, match="has rows of other offsets"):
        env.execute("counted")
    assert written(out) == expected()


@pytest.mark.parametrize(
    "pattern",
    [
        "query/metadata",
        "query/offsets/[0-9]*",
        "query/commits/[0-9]*",
        "query/sources/0/[0-9]*",
        "columns.json",
    ],
)
def test_damage_of_what_a_stream_has_written_is_named(
    environment: Environment,
    session: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pattern: str,
) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    write_input(data)

    def failed(place: str) -> PenstockError:
        failpoint.count_anew()
        monkeypatch.setenv("PENSTOCK_FAILPOINT", f"{place}:raise")
        env = environment("mixed")
        build(env, stream_of(session, data), data, out)
        with pytest.raises(PenstockError) as caught:
            env.execute("counted")
        return caught.value

    assert "live.recorded" in failed("live.recorded:3").problem
    damaged = max(directory_of(tmp_path / "job").glob(pattern))
    content = damaged.read_bytes()
    damaged.write_bytes(content[: len(content) // 2])
    error = failed("nothing:1")
    assert (error.code, damaged.name in error.problem) == ("STATE", True), error
    assert written(out) <= expected()
    damaged.write_bytes(content)
    monkeypatch.delenv("PENSTOCK_FAILPOINT")
    env = environment("mixed")
    build(env, stream_of(session, data), data, out)
    run_to_the_end(env, out)
    assert written(out) == expected()
