"""A driver that is killed while it stops with a savepoint, and one that starts from it.

The request is made once; each driver is killed at the next step and the last one is left alone.
The sinks must equal a replay of the input, and history is read by the first driver only.
"""

from __future__ import annotations

from pathlib import Path

from penstock.spark.savepoints.savepoint_requests import SavepointRequests
from penstock.wire.atomic_file import read_verified
from tests.faults.drivers import Drivers
from tests.faults.visits_job import VisitsJob
from tests.spark.visits import written_totals


def test_a_kill_around_a_savepoint_loses_and_repeats_nothing(tmp_path: Path) -> None:
    job = VisitsJob(tmp_path, epochs=6)
    first = job.drivers

    first.is_killed_at("live.committed:1")
    requests = SavepointRequests(job.checkpoints)
    request = requests.submit(tmp_path / "savepoints", stop=True)
    # Begun; then in a record, and not written; then written, and not answered.
    for place in ("live.staged:1", "live.recorded:1", "savepoint.written:1"):
        first.is_killed_at(place)
        assert requests.answer(request.id) is None

    output = first.succeeds()
    savepoint = requests.answer(request.id)
    assert isinstance(savepoint, Path)
    assert f"savepoint {savepoint}" in output
    before, _ = written_totals(job.out)
    assert before < len(job.visits), "the savepoint must not be at the end for this test"

    recovery = {"execution.state-recovery.path": str(savepoint), "parallelism.default": "3"}
    second = Drivers(
        first.script,
        first.arguments,
        tmp_path / "second",
        tmp_path / "markers of the second",
        {**first.settings, **recovery},
    )
    second.is_killed_at("restore.copied:1")
    second.is_killed_at("restore.recorded:1")
    output = second.succeeds()
    assert "history" not in output
    assert read_verified(second.checkpoints / "restored.json")["run"] == 1
    job.assert_complete()
