"""The directory of a job: which files are forced to the disk, and which plans it accepts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.common import Configuration, WatermarkStrategy
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DataGeneratorSource
from penstock.errors import JobMismatchError
from penstock.plan.physical import PhysicalPlan
from penstock.spark.job.job_directory import JobDirectory
from tests.runtime.jobs import STREAMING, environment


@pytest.mark.parametrize("is_temporary", [False, True])
def test_a_temporary_directory_is_not_forced_to_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_temporary: bool
) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration())
    source = DataGeneratorSource(lambda i: i, 10)
    env.from_source(source, WatermarkStrategy.no_watermarks(), "n").sink_to(DiscardingSink())
    syncs: list[int] = []
    monkeypatch.setattr(os, "fsync", syncs.append)
    directory = JobDirectory.open(None if is_temporary else str(tmp_path), env.plan(), "a job")
    directory.note_jvm(os.getpid())
    directory.record("run-0.pinned", {"files": {}})
    assert directory.step("run-0.pinned") == {"files": {}}
    assert directory.path.exists()
    directory.release()
    assert directory.path.exists() is not is_temporary
    if is_temporary:
        assert syncs == []
    else:
        assert len(syncs) >= 2 * len(["taken", "job", "noted", "pinned", "released"])


def plan_of(parallelism: int, own: int = 2, key_groups: int = 128) -> PhysicalPlan:
    settings = {**STREAMING, "pipeline.max-parallelism": str(key_groups)}
    env = environment(settings, parallelism)
    numbers = env.from_source(
        DataGeneratorSource(lambda i: i, 10), WatermarkStrategy.no_watermarks(), "n"
    )
    some = numbers.map(str).uid("some").set_parallelism(own)
    some.key_by(len).reduce(max).uid("most").sink_to(DiscardingSink()).uid("out")
    return env.plan()


def open_and_leave(path: Path, plan: PhysicalPlan) -> None:
    directory = JobDirectory.open(str(path), plan, "a job")
    directory.note_key_groups()
    directory.release()


def test_another_parallelism_and_a_multiple_of_the_key_groups_are_accepted(tmp_path: Path) -> None:
    open_and_leave(tmp_path, plan_of(2))
    assert len(plan_of(2).levels) != len(plan_of(3).levels)
    open_and_leave(tmp_path, plan_of(3))
    open_and_leave(tmp_path, plan_of(3, own=1))
    open_and_leave(tmp_path, plan_of(3, key_groups=512))
    for fewer in (128, 256, 768):
        with pytest.raises(JobMismatchError, match=f"has 512 key groups, but this job has {fewer}"):
            JobDirectory.open(str(tmp_path), plan_of(3, key_groups=fewer), "a job")
    open_and_leave(tmp_path, plan_of(2, key_groups=512))
