"""A driver that is killed while it stops with a savepoint, and one that starts from it.

The request is made once; each driver is killed at the next step and the last one is left alone.
The sinks must equal a replay of the input, and history is read by the first driver only.
"""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

from penstock.serde.atomic_file import read_verified
from penstock.spark.savepoint_requests import SavepointRequests
from tests.spark.test_clients import wait_for
from tests.spark.visits import (
    expected_quiet,
    expected_totals,
    make_visits,
    start_job,
    write_visits,
    written_quiet,
    written_totals,
)

MIXED = {"execution.checkpointing.interval-during-backlog": "0"}


def finish(process: subprocess.Popen[str], *, killed: bool) -> str:
    output, _ = process.communicate(timeout=240)
    assert process.returncode == (-signal.SIGKILL if killed else 0), output
    return output


def test_a_kill_around_a_savepoint_loses_and_repeats_nothing(tmp_path: Path) -> None:
    visits = make_visits(600)
    data, out, first = tmp_path / "data", tmp_path / "out", tmp_path / "first"
    write_visits(data, visits, cut=300)

    killing = {"PENSTOCK_FAILPOINT": "savepoint.begun:1:kill"}
    process = start_job(data, out, first, mode=MIXED, **killing)
    wait_for((first / "run-1.outline.json").exists, 120)
    requests = SavepointRequests(first)
    request = requests.submit(tmp_path / "savepoints", stop=True)
    finish(process, killed=True)
    assert requests.answer(request.id) is None

    killing = {"PENSTOCK_FAILPOINT": "savepoint.written:1:kill"}
    finish(start_job(data, out, first, mode=MIXED, **killing), killed=True)
    assert requests.answer(request.id) is None

    output = finish(start_job(data, out, first, mode=MIXED), killed=False)
    savepoint = requests.answer(request.id)
    assert isinstance(savepoint, Path)
    assert f"savepoint {savepoint}" in output
    before, _ = written_totals(out)
    assert before < len(visits), "the savepoint must not be at the end for this test"

    recovery = {"execution.state-recovery.path": str(savepoint), "parallelism.default": "3"}
    killing = {"PENSTOCK_FAILPOINT": "restore.copied:1:kill"}
    second = tmp_path / "second"
    finish(start_job(data, out, second, mode=MIXED | recovery, **killing), killed=True)
    output = finish(start_job(data, out, second, mode=MIXED | recovery), killed=False)
    assert "history" not in output
    assert read_verified(second / "restored.json")["run"] == 1
    count, last = written_totals(out)
    assert (count, last) == (len(visits), expected_totals(visits))
    assert written_quiet(out) == expected_quiet(visits)
