"""Small files are merged in the background, on Spark: in every mode, over failures, with savepoints and at the end."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from penstock.cli.main import command_line
from penstock.common import Types, WatermarkStrategy
from penstock.connectors.files.hidden_files import UNPUBLISHED
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import (
    BucketAssigner,
    DataGeneratorSource,
    FileSink,
    HybridSource,
    NumberSequenceSource,
)
from penstock.datastream.connectors.file_system import (
    FileCompactor,
    FileCompactStrategy,
    FileFormat,
    OutputFileConfig,
)
from penstock.errors import JobCancelledError
from tests.spark.conftest import Environment, Failures
from tests.spark.waiting import committed, wait_for

ROW = Types.ROW_NAMED(["group", "n"], [Types.STRING(), Types.LONG()])
COUNT = 600
NO_TIME = WatermarkStrategy.no_watermarks()
RECOVERY = "execution.state-recovery.path"


def sink_of(out: Path, checkpoints: int) -> FileSink:
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(checkpoints).build()
    return (
        FileSink.for_bulk_format(out, FileFormat.PARQUET)
        .with_bucket_assigner(BucketAssigner.by_columns("group"))
        .with_output_file_config(OutputFileConfig.builder().with_part_suffix(".parquet").build())
        .enable_compact(strategy, FileCompactor.concat_file_compactor())
        .build()
    )


def files_in(out: Path) -> list[Path]:
    return sorted(out.glob("group=*/*.parquet"))


def numbers_in(session: SparkSession, out: Path) -> list[int]:
    """Return the numbers that a reader finds, in order."""
    if not files_in(out):
        return []
    rows = session.read.parquet(str(out)).select("group", "n").collect()
    assert all(row.group == f"g{row.n % 2}" for row in rows)
    return sorted(row.n for row in rows)


@pytest.mark.parametrize("mode", ["batch", "streaming", "mixed"])
def test_every_row_is_visible_once_whatever_fails(
    environment: Environment, session: SparkSession, tmp_path: Path, failures: Failures, mode: str
) -> None:
    out = tmp_path / "out"
    steps = ["sink.renamed-first:1", "sinks.published:1"]
    if mode != "batch":
        steps += [
            "sink.manifest-written:5",
            *(f"compaction.{step}:1" for step in ("begun", "merged", "shown", "one-deleted")),
            *(f"compaction.{step}:2" for step in ("decided", "deleted")),
        ]
    settings = failures.at(*(f"{step}:raise" for step in steps))
    settings["execution.live.max-records-per-batch"] = 25
    env = environment(mode, **settings)
    first, rest = NumberSequenceSource(0, 99), NumberSequenceSource(100, COUNT - 1)
    source = HybridSource.builder(first).add_source(rest).build()
    numbers = env.from_source(source, NO_TIME, "numbers")
    numbers.map(lambda n: (f"g{n % 2}", n), ROW).sink_to(sink_of(out, 4)).uid("out")
    env.execute("merged")
    failures.check_all_happened()
    assert numbers_in(session, out) == [*range(COUNT)]
    if mode != "batch":
        assert len(files_in(out)) <= COUNT // 25, "an epoch has four files"
    assert list(out.glob("_penstock/*/*/hidden/*/files/*/*")) == []


def endless(env: StreamExecutionEnvironment, out: Path) -> None:
    """Build a job whose files are merged by no condition."""
    source = DataGeneratorSource(lambda n: n, records_per_second=500)
    numbers = env.from_source(source, NO_TIME, "numbers").uid("numbers")
    numbers.map(lambda n: (f"g{n % 2}", n), ROW).sink_to(sink_of(out, 1_000_000)).uid("out")


def test_all_is_visible_in_a_savepoint_and_when_a_job_was_cancelled(
    environment: Environment, session: SparkSession, tmp_path: Path
) -> None:
    out, job = tmp_path / "out", tmp_path / "job"
    settings: dict[str, str] = {}
    for attempt in range(2):
        env = environment("streaming", **settings)
        endless(env, out)
        before = len(numbers_in(session, out))
        client = env.execute_async("endless")
        wait_for(client, lambda: committed(job / "run-0") > 3)  # noqa: B023 - it is waited for here
        assert len(numbers_in(session, out)) == before
        assert [*(job / UNPUBLISHED).iterdir()] != []
        if attempt == 0:
            savepoint = client.trigger_savepoint().result()
            in_savepoint = len(numbers_in(session, out))
            assert in_savepoint > 0
            savepoint = client.stop_with_savepoint().result()
            client.get_job_execution_result().result()
        else:
            client.cancel()
            with pytest.raises(JobCancelledError):
                client.get_job_execution_result().result()
        found = numbers_in(session, out)
        assert len(found) > before
        assert found == [*range(len(found))]
        assert [*(job / UNPUBLISHED).iterdir()] == []
        job = tmp_path / "second"
        settings = {"execution.checkpointing.dir": str(job), RECOVERY: savepoint}


def test_no_savepoint_is_taken_without_a_driver_while_output_is_hidden(
    environment: Environment, tmp_path: Path
) -> None:
    env = environment("streaming")
    endless(env, tmp_path / "out")
    client = env.execute_async("endless")
    wait_for(client, lambda: committed(tmp_path / "job" / "run-0") > 1)
    client.cancel()
    mark = tmp_path / "job" / UNPUBLISHED / "out"
    mark.touch()  # as if the driver had been killed
    refused = CliRunner().invoke(command_line(), ["savepoint", str(tmp_path / "job")])
    assert refused.exit_code == 1
    assert "before all of its output was merged and visible" in refused.output.replace("\n", " ")
    mark.unlink()
    assert CliRunner().invoke(command_line(), ["savepoint", str(tmp_path / "job")]).exit_code == 0
