"""Local copies of state: where they are while a job runs, and that nothing is left behind."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.common import WatermarkStrategy
from penstock.datastream import KeyedProcessFunction, ValueStateDescriptor
from penstock.datastream.connectors import NumberSequenceSource
from penstock.spark.worker.worker_memory import LocalCopies
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.backends.lmdb.backend import LmdbBackend
from tests.spark.conftest import Environment


def folders_of_workers(session: SparkSession) -> list[Path]:
    """Return everything below the folders in which workers keep copies."""

    def look(_: int) -> list[str]:
        root = Path(os.environ["SPARK_LOCAL_DIRS"].split(",")[0]) / "penstock-state"
        return [str(path) for path in root.glob("*/*")]

    found = session.sparkContext.parallelize(range(4), 4).flatMap(look).collect()
    return sorted({Path(path) for path in found})


class Count(KeyedProcessFunction):
    """Counts per key, and emits where the copies are as well."""

    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.state.update((self.state.value() or 0) + 1)
        root = Path(os.environ["SPARK_LOCAL_DIRS"].split(",")[0]) / "penstock-state"
        yield value % 7, self.state.value(), len(list(root.rglob("data.mdb")))


@pytest.mark.parametrize(("backend", "files"), [("lmdb", True), ("hashmap", False)])
def test_copies_are_files_of_the_executor_and_go_with_the_job(
    environment: Environment, session: SparkSession, backend: str, files: bool
) -> None:
    settings = {"state.backend.type": backend, "execution.live.max-records-per-batch": 100}
    env = environment("streaming", **settings)
    numbers = env.from_source(
        NumberSequenceSource(0, 299), WatermarkStrategy.no_watermarks(), "numbers"
    )
    counted = numbers.key_by(lambda n: n % 7).process(Count())
    with counted.execute_and_collect() as results:
        found = list(results)
    last = {key: count for key, count, _ in sorted(found)}
    assert last == {key: len(range(key, 300, 7)) for key in range(7)}
    assert (max(number for _, _, number in found) > 0) is files
    assert folders_of_workers(session) == []


def test_a_factory_makes_the_backend_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path / 'a'},{tmp_path / 'b'}")
    assert isinstance(LocalCopies("hashmap", "job-0", "d").factory(1, 0)(), HashBackend)
    made = LocalCopies("lmdb", "job-0", "d").factory(1, 0)()
    assert isinstance(made, LmdbBackend)
    made.close()
