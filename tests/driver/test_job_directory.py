"""The files of a job's directory are forced to the disk, except where no other driver would look for them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.common import Configuration, WatermarkStrategy
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DataGeneratorSource
from penstock.spark.job.job_directory import JobDirectory


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
