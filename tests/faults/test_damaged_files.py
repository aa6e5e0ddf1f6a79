"""Files that are cut short and files with a flipped bit.

The job stands in the middle of its live run. Each file of its checkpoint is damaged in turn, and
the job started: it refuses and names the file, or it does not need the file and the answer is
right. In no case is anything visible that a replay of the input does not give.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.in_process import Attempts, Kept
from tests.faults.visits_job import VisitsJob
from tests.spark.conftest import Environment


def cut_short(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0x10]) + data[middle + 1 :]


STEPS = [
    "job/job.json",
    "job/run-0.pinned.json",
    "job/run-0.done.json",
    "job/run-1.pinned.json",
    "job/run-1/control/000000.json",
    "out/totals/_penstock/*/*/commits/1-*.json",
]
HANDED_OVER = ["job/run-0/snapshot/*.parquet"]
"""It is removed once the live run has it in its checkpoint."""

QUERY = [
    "job/run-1/spark/metadata",
    "job/run-1/spark/offsets/[0-9]*",
    "job/run-1/spark/commits/[0-9]*",
    "job/run-1/spark/sources/1/[0-9]*",
]
STATE = [
    "job/run-1/spark/state/0/0/2_*.changelog",
    "job/run-1/spark/state/0/0/1_*.zip",
    "job/run-1/spark/state/0/_metadata/v2/[0-9]*",
    "job/run-1/spark/state/0/_stateSchema/default/[0-9]*",
]
"""Spark's, which are not always named."""

NOT_NEEDED = {
    # Without it, state is read from the changes of every micro-batch.
    "job/run-1/spark/state/0/0/1_*.zip",
}
"""Files whose damage may go unnoticed."""


@pytest.mark.parametrize(
    ("patterns", "place"),
    [
        (STEPS, "live.staged:3"),
        (HANDED_OVER, "live.started:1"),
        (QUERY, "live.staged:3"),
        (STATE, "live.staged:3"),
    ],
    ids=["steps", "handed over", "query", "state"],
)
def test_damage_is_named_or_does_not_matter(
    environment: Environment,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    patterns: list[str],
    place: str,
) -> None:
    job = VisitsJob(tmp_path)
    attempts = Attempts(job, environment)
    attempts.fail_at(place, monkeypatch)
    kept = Kept((job.checkpoints, job.out), tmp_path / "kept")
    complete = []
    for pattern in patterns:
        for damage in (cut_short, flipped):
            path = newest(tmp_path, pattern)
            before = path.read_bytes()
            path.write_bytes(damage(before))
            assert path.read_bytes() != before
            error = attempts.error()
            if error is None:
                job.assert_complete()
                complete.append(pattern)
            else:
                job.assert_nothing_wrong()
                assert patterns is STATE or path.name in error.problem, (path, error)
            kept.bring_back()
    assert set(complete) <= NOT_NEEDED
    attempts.succeed()
    job.assert_complete()


def newest(root: Path, pattern: str) -> Path:
    """Return the file of a pattern that was written last."""
    return max(root.glob(pattern), key=lambda path: path.stat().st_mtime_ns)
