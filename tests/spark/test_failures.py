"""Bad input, bad functions, bad directories: a Penstock error with a hint, and a clean sink."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.api.environment.job import JobClient
from penstock.common import Types, WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.connectors import (
    CollectionSource,
    DataGeneratorSource,
    FileSink,
    FileSource,
    HybridSource,
)
from penstock.errors import PenstockError
from penstock.spark.session.java_runtime import find_java
from tests.spark.conftest import Environment
from tests.spark.test_logs import stop
from tests.spark.waiting import wait_for

NO_TIME = WatermarkStrategy.no_watermarks()
ROW = Types.ROW_NAMED(["n", "half"], [Types.LONG(), Types.LONG()])


def numbers(env: StreamExecutionEnvironment, history: int, live: int) -> DataStream:
    source = (
        HybridSource.builder(CollectionSource.of(range(history)))
        .add_source(CollectionSource.of(range(history, history + live)))
        .build()
    )
    return env.from_source(source, NO_TIME, "numbers")


def visible(directory: Path) -> list[dict[str, Any]]:
    return [row for path in directory.glob("*.parquet") for row in pq.read_table(path).to_pylist()]


def halves(n: int) -> tuple[int, int]:
    return n, 100 // (n - 7)


def test_a_function_that_raises_in_history_leaves_the_sink_empty(
    environment: Environment, tmp_path: Path
) -> None:
    env = environment("mixed")
    numbers(env, 10, 3).map(halves, ROW).sink_to(FileSink.parquet(tmp_path / "out"))
    with pytest.raises(PenstockError) as caught:
        env.execute()
    assert caught.value.code == "USER_FUNCTION"
    assert "'halves'" in caught.value.problem
    assert "record 7" in caught.value.problem
    assert "ZeroDivisionError" in caught.value.problem
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__
    assert caught.value.origin.function == "halves"
    assert visible(tmp_path / "out") == []


def test_a_function_that_raises_live_keeps_what_was_committed(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        raise OSError("the executors are gone")

    monkeypatch.setattr("penstock.spark.live.epochs.epoch_run.remove_local_copies", gone)
    env = environment("mixed")
    keyed = numbers(env, 5, 5).key_by(lambda n: n % 2)
    keyed.map(halves, ROW).sink_to(FileSink.parquet(tmp_path / "out"))
    with pytest.raises(PenstockError) as caught:
        env.execute()
    assert caught.value.code == "USER_FUNCTION"
    assert "key 1" in caught.value.problem
    assert sorted(row["n"] for row in visible(tmp_path / "out")) == [0, 1, 2, 3, 4]


def test_a_record_that_does_not_fit_the_sink_is_named(
    environment: Environment, tmp_path: Path
) -> None:
    env = environment("batch")
    numbers(env, 2, 1).map(lambda n: (n, "x"), ROW).sink_to(FileSink.parquet(tmp_path / "out"))
    with pytest.raises(PenstockError) as caught:
        env.execute()
    assert caught.value.code == "TYPE_MISMATCH"
    assert "half" in caught.value.problem
    assert visible(tmp_path / "out") == []


def test_a_function_that_cannot_be_shipped_names_its_operator(environment: Environment) -> None:
    env = environment("batch")
    lock = threading.Lock()
    numbers(env, 1, 1).map(lambda n: (n, lock)).name("locked").print()
    with pytest.raises(PenstockError) as caught:
        env.execute()
    assert caught.value.code == "USER_CODE"
    assert "'locked'" in caught.value.problem
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__


def test_a_missing_path_names_it(environment: Environment, tmp_path: Path) -> None:
    env = environment("mixed")
    env.from_source(FileSource.parquet(str(tmp_path / "nowhere")), NO_TIME, "rows").print()
    with pytest.raises(PenstockError) as caught:
        env.execute()
    assert caught.value.code == "SOURCE"
    assert "nowhere" in caught.value.problem
    assert caught.value.origin is not None


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_a_file_that_is_not_parquet_is_refused(
    environment: Environment, tmp_path: Path, mode: str
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.parquet").write_text("this is no parquet file")
    env = environment(mode)
    rows = env.from_source(FileSource.parquet(str(tmp_path / "in"), ROW), NO_TIME, "rows")
    rows.sink_to(FileSink.parquet(tmp_path / "out"))
    with pytest.raises(PenstockError) as caught:
        env.execute()
    assert caught.value.code == "SOURCE"
    assert visible(tmp_path / "out") == []


def test_a_live_record_of_the_wrong_shape_is_refused(
    environment: Environment, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.json").write_text('{"n": 1, "half": "two"}\n')
    env = environment("streaming")
    rows = env.from_source(FileSource.json(str(tmp_path / "in"), ROW), NO_TIME, "rows")
    rows.sink_to(FileSink.parquet(tmp_path / "out"))
    with pytest.raises(PenstockError) as caught:
        env.execute()
    assert caught.value.code == "SOURCE", (caught.value, caught.value.details)
    assert visible(tmp_path / "out") == []


def test_history_that_changes_before_a_restart_is_refused(
    environment: Environment, tmp_path: Path
) -> None:
    path = tmp_path / "in" / "0.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"n": [1, 2]}), path)

    def job(fail: bool) -> StreamExecutionEnvironment:
        env = environment("batch")
        rows = env.from_source(FileSource.parquet(str(path.parent)), NO_TIME, "rows")
        rows.map(lambda _: 1 // (0 if fail else 1)).name("divide").print()
        return env

    with pytest.raises(PenstockError):
        job(fail=True).execute()
    pq.write_table(pa.table({"n": [1, 2, 3]}), path)
    with pytest.raises(PenstockError) as caught:
        job(fail=False).execute()
    assert caught.value.code == "SOURCE_HISTORY_CHANGED"
    assert "0.parquet" in caught.value.problem


def test_a_start_that_makes_no_state_leaves_the_recorded_functions(
    environment: Environment, tmp_path: Path
) -> None:
    def start(function: Any) -> JobClient:
        env = environment("streaming", **{"execution.live.max-records-per-batch": 10})
        made = env.from_source(DataGeneratorSource(int, count=None), NO_TIME, "numbers")
        made.map(function, ROW).uid("pairs").sink_to(FileSink.parquet(tmp_path / "out"))
        return env.execute_async("pairs")

    client = start(lambda n: (n, n))
    wait_for(client, lambda: bool(visible(tmp_path / "out")))
    stop(client)
    recorded = tmp_path / "job" / "functions.json"
    before = recorded.read_bytes()
    failing = start(lambda n: (n, n // 0))
    with pytest.raises(PenstockError, match="ZeroDivisionError"):
        failing.get_job_execution_result().result()
    assert recorded.read_bytes() == before
    client = start(lambda n: (n, n + 0))
    wait_for(client, lambda: recorded.read_bytes() != before)
    stop(client)


def test_a_directory_of_another_job_or_graph_is_refused(
    environment: Environment, tmp_path: Path
) -> None:
    env = environment("batch", **{"pipeline.name": "first"})
    numbers(env, 1, 1).map(str).print()
    env.execute()
    modes = {str(path): path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    reachable = {path for path, mode in modes.items() if mode & 0o077} - {
        path
        for path in modes
        for above in Path(path).parents
        if modes.get(str(above), 0o777) == 0o700
    }
    assert "job.json" in {Path(path).name for path in modes}
    assert not {path for path in reachable if "run-0" in path or path.endswith(".json")}
    env = environment("batch", **{"pipeline.name": "second"})
    numbers(env, 1, 1).map(str).print()
    with pytest.raises(PenstockError) as caught:
        env.execute()
    assert caught.value.code == "JOB_MISMATCH"
    assert "'first'" in caught.value.problem
    env = environment("batch", **{"pipeline.name": "first"})
    numbers(env, 1, 1).map(str).map(str).print()
    with pytest.raises(PenstockError) as caught:
        env.execute()
    assert caught.value.code == "JOB_MISMATCH"
    assert "operators" in caught.value.problem


def test_a_directory_with_something_else_is_refused(
    environment: Environment, tmp_path: Path
) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "thesis.doc").touch()
    env = environment("batch")
    numbers(env, 1, 1).print()
    with pytest.raises(PenstockError) as caught:
        env.execute()
    assert caught.value.code == "JOB_DIRECTORY"
    assert "thesis.doc" in caught.value.problem


@pytest.mark.parametrize("which", ["checkpoint", "sink"])
def test_a_directory_that_cannot_be_written_is_refused(
    environment: Environment, tmp_path: Path, which: str
) -> None:
    (tmp_path / "file").touch()
    below_a_file = tmp_path / "file" / "directory"
    settings = {"execution.checkpointing.dir": str(below_a_file)} if which == "checkpoint" else {}
    env = environment("batch", **settings)
    target = below_a_file if which == "sink" else tmp_path / "out"
    numbers(env, 1, 1).map(lambda n: (n, n), ROW).sink_to(FileSink.parquet(target))
    with pytest.raises(PenstockError) as caught:
        env.execute()
    assert caught.value.code == {"checkpoint": "JOB_DIRECTORY", "sink": "SINK"}[which]
    assert str(tmp_path / "file") in caught.value.problem


def test_two_drivers_on_one_directory_one_is_refused(
    environment: Environment, tmp_path: Path
) -> None:
    script = (
        "import fcntl, sys, time; f = open(sys.argv[1], 'a+'); "
        "fcntl.flock(f, fcntl.LOCK_EX); print('locked', flush=True); time.sleep(60)"
    )
    (tmp_path / "job").mkdir()
    other = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "job" / "lock")],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "locked\n"
        env = environment("batch")
        numbers(env, 1, 1).print()
        with pytest.raises(PenstockError) as caught:
            env.execute()
        assert caught.value.code == "JOB_LOCKED"
    finally:
        other.kill()
        other.communicate()


def test_no_java_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PenstockError) as caught:
        find_java(os.environ)
    assert caught.value.code == "ENVIRONMENT"
    assert "apt-get install" in caught.value.hint


def test_an_old_java_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(PenstockError) as caught:
        find_java(os.environ)
    assert "11" in caught.value.problem
