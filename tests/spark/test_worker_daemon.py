"""The process that workers are forked from: one for all kinds of tasks, with one thread of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyspark
import pytest
from pyspark.sql import SparkSession

from penstock.spark.session.factory import worker_settings
from penstock.spark.session.job_settings import job_settings
from penstock.spark.worker import daemon

THREADS = """
import pathlib
from penstock.spark.worker.daemon import preload
preload()
print(*sorted(p.read_text().strip() for p in pathlib.Path("/proc/self/task").glob("*/comm")))
"""


def test_nothing_that_is_loaded_leaves_a_thread_with_locks_at_a_fork() -> None:
    if not Path("/proc/self/task").exists():
        pytest.skip("threads are listed in /proc only")
    ran = subprocess.run(
        [sys.executable, "-c", THREADS],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},  # Spark sets it for workers
    )
    others = [name for name in ran.stdout.split() if not name.startswith("python")]
    assert set(others) <= {"jemalloc_bg_thd"}  # jemalloc takes its locks around a fork


def test_sparks_zip_gives_way_to_the_installed_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = Path(pyspark.__file__).parent
    zips = [str(home / "python" / "lib" / name) for name in ("pyspark.zip", "py4j-src.zip")]
    before = [*zips, "/users", *sys.path]
    monkeypatch.setattr(sys, "path", list(before))
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))  # a distribution of Spark has only the zip
    daemon.use_installed_pyspark()
    assert sys.path == before
    monkeypatch.setenv("SPARK_HOME", str(home))
    daemon.use_installed_pyspark()
    assert sys.path == before[2:]


HUNG_UP = """
import socket
from penstock.spark.worker import daemon
here, there = socket.socketpair()
there.close()
daemon.ended_by_hang_up({})(here)
"""


@pytest.mark.parametrize(
    ("work", "message"),
    [("lambda here: here.send(b'1')", ""), ("lambda here: 1 / 0", "ZeroDivision")],
)
def test_a_worker_of_a_task_that_is_cancelled_prints_no_traceback(work: str, message: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", HUNG_UP.format(work)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    assert message in ran.stderr
    assert bool(message) is ("Traceback" in ran.stderr)


def test_workers_of_both_kinds_are_forked_from_one_process(session: SparkSession) -> None:
    def of_rdd(_: object) -> tuple[int, str]:
        return os.getppid(), pyspark.__file__

    def of_frame(batches: object) -> object:
        assert batches is not None
        yield pa.RecordBatch.from_pydict({"parent": [os.getppid()], "file": [pyspark.__file__]})

    with job_settings(session, None):
        rdd = session.sparkContext.parallelize(range(2), 2).map(of_rdd).collect()
        frame = session.range(2).mapInArrow(of_frame, "parent LONG, file STRING").collect()  # type: ignore[arg-type]
    found = {*rdd, *map(tuple, frame)}
    assert len(found) == 1
    assert {file for _, file in found} == {pyspark.__file__}


def test_other_interpreters_and_clusters_keep_sparks_own(monkeypatch: pytest.MonkeyPatch) -> None:
    local = {"spark.master": "local[2,4]"}
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    ours = {"spark.python.daemon.module": daemon.__name__}
    assert worker_settings(local) == ours
    assert worker_settings({**local, "spark.pyspark.python": sys.executable}) == ours
    assert worker_settings({"spark.master": "spark://host:7077"}) == {}
    assert worker_settings({**local, "spark.pyspark.python": "/other"}) == {}
    assert worker_settings({**local, "spark.python.daemon.module": "mine"}) == {}
    monkeypatch.setenv("PYSPARK_PYTHON", "/other")
    assert worker_settings(local) == {}
