"""Who touches files by himself. What is in the directory of a job is reached by `JobPath` alone.

A module that opens, lists or removes files through `pathlib`, `os`, `shutil` or `tempfile` is in the table, with what these
files are. They are never those of a job, which may be in a store, but for the rows `OWN`, which ask what kind of path it is, and `MOUNTED`: what uses these is refused
for a job in a store (`penstock/spark/job/stored_lock.py`).
"""

from __future__ import annotations

import ast
from pathlib import Path

import penstock

ROOT = Path(penstock.__file__).parent
PACKAGES = ("connectors", "observe/events", "graph", "runtime", "spark", "state", "testing", "wire")
CALLS = frozenset(
    {
        "open",
        "os.fdopen",
        "os.link",
        "os.listdir",
        "os.makedirs",
        "os.mkdir",
        "os.open",
        "os.remove",
        "os.rename",
        "os.replace",
        "os.scandir",
        "os.stat",
        "os.statvfs",
        "os.unlink",
        "os.walk",
        "pathlib",
        "shutil",
        "tempfile",
    }
)

LAYER = "what makes mounted files and objects of a store alike"
SCRATCH = "files of this machine that nobody else sees"
MOUNTED = "mounted only: jobs in a store are refused"
USERS = "files of the user's: sources, sinks, programs, savepoints"
SYSTEM = "the machine: processes, installed packages, sockets"
OWN = "the arm for mounted files; the other one is in the same function, or beside it"

TOUCHING: dict[str, str] = {
    "observe/events/event_log.py": OWN,
    "graph/endpoints.py": OWN,
    "spark/driver/snapshots.py": OWN,
    "spark/job/job_directory.py": OWN,
    "spark/job/job_lock.py": OWN,
    "spark/job/job_steps.py": OWN,
    "spark/job/mounted_path.py": OWN,
    "spark/job/observed_job.py": OWN,
    "spark/job/outside.py": OWN,
    "spark/worker/state_tasks.py": OWN,
    "state/log/extent.py": OWN,
    "state/log/epoch_log.py": OWN,
    "wire/fence.py": OWN,
    "state/savepoint.py": LAYER,
    "wire/atomic_file.py": LAYER,
    "wire/job_files.py": LAYER,
    "connectors/cache.py": SCRATCH,
    "runtime/spill/spill_space.py": SCRATCH,
    "runtime/task/batch_level.py": SCRATCH,
    "runtime/task/live_subtask.py": SCRATCH,
    "spark/failures/final_failures.py": SCRATCH,
    "spark/live/epochs/epoch_job.py": SCRATCH,
    "spark/worker/worker_memory.py": SCRATCH,
    "state/backends/lmdb/backend.py": SCRATCH,
    "state/backends/lmdb/directory.py": SCRATCH,
    "state/backends/lmdb/file.py": SCRATCH,
    "testing/drivers.py": SCRATCH,
    "testing/harness_run.py": SCRATCH,
    "testing/law/on_spark.py": SCRATCH,
    "testing/law/spark_driver.py": SCRATCH,
    "testing/in_process.py": SCRATCH,
    "testing/live_run.py": SCRATCH,
    "testing/log_kit.py": SCRATCH,
    "testing/law/own_samples.py": SCRATCH,
    "connectors/delta/delta_sink.py": MOUNTED,
    "connectors/delta/staged_tables.py": MOUNTED,
    "connectors/epoch_marks.py": MOUNTED,
    "connectors/files/batch_function_sink.py": MOUNTED,
    "connectors/files/digest_sink.py": MOUNTED,
    "connectors/kafka/producers.py": MOUNTED,
    "connectors/postgres/capture.py": MOUNTED,
    "connectors/postgres/postgres_source.py": MOUNTED,
    "connectors/redis/redis_sink.py": MOUNTED,
    "graph/log_source.py": MOUNTED,
    "graph/log_values.py": MOUNTED,
    "graph/hybrid.py": MOUNTED,
    "spark/sources/listing/stream_writer.py": MOUNTED,
    "spark/sources/frame_reads.py": MOUNTED,
    "spark/sources/listing/frame_writer.py": MOUNTED,
    "spark/sources/unreadable_files.py": USERS,
    "connectors/delta/table_log.py": USERS,
    "connectors/delta/delta_source.py": USERS,
    "connectors/files/file_commits.py": USERS,
    "connectors/files/file_compaction.py": USERS,
    "connectors/files/file_merger.py": USERS,
    "connectors/files/lines/decoder.py": USERS,
    "spark/sources/line_reads.py": USERS,
    "connectors/files/hidden_files.py": USERS,
    "connectors/files/file_naming.py": USERS,
    "connectors/files/file_sink.py": USERS,
    "connectors/files/file_source.py": USERS,
    "connectors/files/staged_files.py": USERS,
    "connectors/local_path.py": USERS,
    "connectors/python/print_sink.py": USERS,
    "spark/driver/dependencies.py": USERS,
    "spark/driver/restore.py": USERS,
    "spark/inspect/state_diff.py": USERS,
    "graph/dataset.py": USERS,
    "spark/inspect/state_reader.py": USERS,
    "spark/savepoints/requested_savepoint.py": USERS,
    "spark/upgrade/handover.py": OWN,
    "spark/upgrade/history_choice.py": USERS,
    "spark/upgrade/position_diff.py": USERS,
    "spark/upgrade/shadow.py": USERS,
    "spark/savepoints/savepoint_requests.py": USERS,
    "spark/sources/dataframes.py": USERS,
    "spark/sources/file_paths.py": USERS,
    "connectors/files/local_listing.py": USERS,
    "connectors/files/written_files.py": USERS,
    "spark/inspect/output_diff.py": USERS,
    "testing/law/input_directory.py": USERS,
    "testing/law/sample_files.py": USERS,
    "testing/law/script.py": USERS,
    "testing/law/written_test.py": USERS,
    "runtime/task/garbage_collection.py": SYSTEM,
    "spark/failures/known_failures.py": SYSTEM,
    "spark/session/factory.py": SYSTEM,
    "spark/session/java_runtime.py": SYSTEM,
    "spark/session/process_identity.py": SYSTEM,
    "spark/session/settings.py": SYSTEM,
    "spark/session/temporary_directory.py": SYSTEM,
    "spark/worker/worker_environment.py": SYSTEM,
    "spark/worker/daemon.py": SYSTEM,
    "spark/inspect/small_state.py": OWN,
}


def touched(path: Path) -> set[str]:
    """Return which of the calls and modules a module uses."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & CALLS
        elif isinstance(node, ast.ImportFrom) and node.module in CALLS:
            found.add(str(node.module))
        elif isinstance(node, ast.Call):
            found |= {ast.unparse(node.func)} & CALLS
    return found


def modules() -> dict[str, set[str]]:
    return {
        str(path.relative_to(ROOT)): names
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if (names := touched(path))
    }


def test_every_module_that_touches_files_says_which() -> None:
    assert sorted(modules()) == sorted(TOUCHING)


def test_the_rows_are_seen_by_the_test() -> None:
    assert touched(ROOT / "wire" / "atomic_file.py") >= {"os.open", "os.link", "pathlib"}
    assert touched(ROOT / "spark" / "live" / "epochs" / "epoch_run.py") == set()
