"""The checkpoint directory, opened without Spark: whose it is, and with which uids a job goes on."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock
from penstock.common import Configuration, WatermarkStrategy
from penstock.connectors.python.data_generator import DataGeneratorSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import JobDirectoryError, JobMismatchError, SavepointError
from penstock.filesystem.stored_path import mounted
from penstock.plan.physical import PhysicalPlan
from penstock.spark.job.job_directory import JobDirectory
from penstock.spark.savepoints.savepoint_requests import SavepointRequests
from penstock.state.savepoint import (
    Savepoint,
    copy_state,
    prepare_directory,
    restore_state,
    write_manifest,
)


def plan_of(*uids: str | None) -> PhysicalPlan:
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"parallelism.default": 1})
    )
    source = DataGeneratorSource(lambda i: i)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "s")
    for uid in uids:
        stream = stream.key_by(lambda v: v).reduce(max).name("reduce")
        if uid is not None:
            stream.uid(uid)
    stream.sink_to(DiscardingSink())
    return env.plan()


def uids_in(path, plan) -> list[str]:
    directory = JobDirectory.open(str(path), plan, "job")
    directory.release()
    return [op.uid for level in directory.plan.levels for op in level.operators]


def test_an_unchanged_program_without_uids_goes_on(tmp_path):
    plan = plan_of(None, None)
    first = uids_in(tmp_path, plan)
    assert len(set(first)) == 2
    assert uids_in(tmp_path, plan_of(None, None)) == first


def test_another_graph_is_told_how_to_keep_the_state(tmp_path):
    uids_in(tmp_path, plan_of("a"))
    with pytest.raises(JobMismatchError) as refused:
        uids_in(tmp_path, plan_of("a", "b"))
    assert f"penstock upgrade {tmp_path} NEW_DIR" in refused.value.hint


# Nobody else may read what a job keeps, and nothing is unpickled that the job did not write.


def everything_in(path: Path) -> dict[str, int]:
    found = [path, *path.rglob("*")]
    return {str(each.relative_to(path.parent)): each.stat().st_mode & 0o777 for each in found}


@pytest.fixture(params=[0o022, 0o000])
def umask(request):
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_files_are_for_their_owner_only(tmp_path):
    path = tmp_path / "job"
    directory = JobDirectory.open(str(path), plan_of("a"), "job")
    directory.record("run-0.staged", {"x": 1})
    directory.run_directory(0, "snapshot")
    requests = SavepointRequests(path)
    requests.fail(requests.submit(None), SavepointError("no", hint="Wait."))
    requests.submit(None)
    state = tmp_path / "part.parquet"
    pq.write_table(pa.table({"operator": ["a"], "blob": [b"b"]}), state)
    target = path / "savepoints" / "1"
    prepare_directory(target)
    files = copy_state([state], target)
    taken = Savepoint("1", "now", "id", "job", "live", 1, 128, files=files)
    write_manifest(target, taken)
    restore_state(target, taken, path / "restored")
    directory.release()
    found = everything_in(path)
    assert len(found) > 10
    assert {name: oct(mode) for name, mode in found.items() if mode & 0o077} == {}


def test_a_temporary_directory_is_for_its_owner_only():
    directory = JobDirectory.open(None, plan_of("a"), "job")
    try:
        assert not mounted(directory.path).stat().st_mode & 0o077
    finally:
        directory.release()


def test_a_digest_is_that_of_the_job(tmp_path):
    first = JobDirectory.open(str(tmp_path / "a"), plan_of("a"), "job")
    other = JobDirectory.open(str(tmp_path / "b"), plan_of("a"), "job")
    try:
        digest = first.digest_of(b"data")
        assert digest is not None
        first.check_digest(b"data", digest, "run-0.staged.json")
        for data, given in [
            (b"data", other.digest_of(b"data")),
            (b"other", digest),
            (b"data", None),
            (b"data", 7),
        ]:
            with pytest.raises(JobDirectoryError, match=r"run-0\.staged\.json"):
                first.check_digest(data, given, "run-0.staged.json")
    finally:
        first.release()
        other.release()


UNPICKLED: dict[str, str] = {
    "expressions/arrow/calls.py": "calls of functions of the user, which tasks of the job packed, or its state",
    "connectors/cache.py": "files of cache(), in a directory of mkdtemp, which is 0700",
    "connectors/staged.py": "staged records of this job, below its directory, which is 0700",
    "runtime/task/live_subtask.py": "memory of a subtask, out of the log of its state",
    "runtime/flow/record_copies.py": "what the same process pickled",
    "wire/coded_rows/leaves.py": "a value of state or of a frame",
    "wire/frame.py": "frames, which Spark moves between processes of the job",
    "types/record_form.py": "a declared type, which the same process pickled",
    "state/schema/stored_form.py": "what `serialize` of the same type wrote, given by the program",
    "wire/user_code.py": "programs, which the driver gives to its workers",
    "spark/driver/batch_run.py": "the record of a staged run, whose keyed digest is checked before",
    "spark/worker/state_tasks.py": "views of logs, which the driver gives to its workers",
    "spark/live/epochs/epoch_run.py": "messages, which Spark brings from workers of the job",
    "spark/live/epochs/epoch_tasks.py": "input of an epoch, which the driver gives to its workers",
    "spark/live/epochs/epoch_journal.py": "the outcome of an epoch, whose keyed digest is checked before",
    "spark/savepoints/settled_part.py": "memory of a subtask, out of the log of its state",
    "runtime/task/subtask_memory.py": "the same",
    "spark/driver/sink_stage.py": "messages, which Spark brings from workers of the job",
    "spark/inspect/state_diff.py": "what the same process pickled",
    "state/log/blob.py": "state: of the job's own directory, or of a savepoint, which the user names",
    "state/log/change_log.py": "the same",
    "state/backends/lmdb/format.py": "local copies, in Spark's local directories; used if the log knows them",
    "state/backends/lmdb/table.py": "the same",
    "state/replay.py": "names of a blob's operator and key for messages",
    "testing/law/on_spark.py": "the error of a driver that it started, in a temporary directory, which is 0700",
    "testing/law/spark_driver.py": "records of the sink of that driver, in the same directory",
    "testing/law/comparison.py": "what the same process pickled",
    "types/value_kinds.py": "what the same process pickled",
}
"""Where something is unpickled, and why it may be. A new place is a reviewed line here."""


def test_every_place_that_unpickles_is_known():
    root = Path(penstock.__file__).parent
    pattern = re.compile(r"(pickle\.loads?\(|pickle\.Unpickler|marshal\.loads?\(|shelve\.)")
    found = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if pattern.search(path.read_text(encoding="utf-8"))
    }
    assert found == set(UNPICKLED)


def bytes_in(path: Path) -> dict[str, bytes]:
    return {str(each): each.read_bytes() for each in path.rglob("*") if each.is_file()}


def test_another_graph_is_refused_without_a_change(tmp_path):
    uids_in(tmp_path, plan_of("a"))
    before = bytes_in(tmp_path)
    with pytest.raises(JobMismatchError):
        JobDirectory.open(str(tmp_path), plan_of("b"), "job")
    assert bytes_in(tmp_path) == before
    assert uids_in(tmp_path, plan_of("a")) == ["a"]


def test_a_directory_with_other_files_is_refused_without_a_change(tmp_path):
    (tmp_path / "report.csv").touch()
    with pytest.raises(JobDirectoryError, match="not empty"):
        JobDirectory.open(str(tmp_path), plan_of("a"), "job")
    assert list(tmp_path.iterdir()) == [tmp_path / "report.csv"]


def test_a_first_start_that_is_refused_leaves_nothing(tmp_path):
    directory = JobDirectory.open(str(tmp_path / "new"), plan_of("a"), "job")
    directory.record("run-0.pinned", {})
    directory.run_directory(0, "snapshot")
    directory.refuse()
    assert not list(tmp_path.iterdir())
