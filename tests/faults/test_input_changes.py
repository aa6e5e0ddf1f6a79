"""Input that changes behind the job's back: before it is read, while it is read, behind the cut.

History is what it was when the job was planned. If it is no longer, the job says which file and
nothing becomes visible; with the file back as it was, it goes on as if nothing had been.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.spark.driver import batch_run
from tests.faults.in_process import Attempts, Kept
from tests.faults.visits_job import VisitsJob
from tests.spark.conftest import Environment


def rewritten(path: Path) -> None:
    """As long as before."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def grown(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def removed(path: Path) -> None:
    path.unlink()


CHANGES = [rewritten, grown, cut_short, removed]


@pytest.mark.parametrize("when", ["before it is read", "after it was read"])
def test_history_that_changed_since_it_was_planned_is_refused(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    job = VisitsJob(tmp_path)
    attempts = Attempts(job, environment)
    place = {"before it is read": "batch.pinned", "after it was read": "batch.ran"}[when]
    path = job.data / "history" / "1.parquet"
    kept = Kept((job.data,), tmp_path / "kept")
    for change in CHANGES:
        happened: list[str] = []

        def meanwhile(
            name: str, change: Callable[[Path], None] = change, happened: list[str] = happened
        ) -> None:
            if name == place:
                change(path)
                happened.append(name)

        with monkeypatch.context() as patch:
            patch.setattr(batch_run, "failpoint", meanwhile)
            error = attempts.fail()
        assert happened == [place], error
        assert error.code in {"SOURCE_HISTORY_CHANGED", "SOURCE"}, change
        assert "history/1.parquet" in error.problem, change
        job.assert_nothing_visible()
        kept.bring_back()
    attempts.succeed()
    job.assert_complete()


def test_a_file_that_comes_after_the_plan_is_no_history(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = VisitsJob(tmp_path)
    attempts = Attempts(job, environment)
    attempts.fail_at("batch.pinned:1", monkeypatch)
    shutil.copy2(job.data / "live" / "0.parquet", job.data / "history" / "late.parquet")
    attempts.succeed()
    job.assert_complete()


@pytest.mark.parametrize("planned", [True, False], ids=["planned", "listed"])
def test_a_live_file_removed_before_it_is_read_is_named(
    environment: Environment,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    planned: bool,
) -> None:
    """Retention past the cut: a micro-batch is planned with the file, or the live run only began."""
    job = VisitsJob(tmp_path, reads_files=True)
    attempts = Attempts(job, environment)
    attempts.fail_at("live.staged:2" if planned else "live.started:1", monkeypatch)
    shown = {path.name for path in (job.out / "totals").glob("*.parquet")}
    lost = job.data / "live" / ("0.parquet" if planned else "2.parquet")
    lost.rename(tmp_path / "elsewhere")
    error = attempts.fail()
    assert error.code in {"SOURCE", "SOURCE_HISTORY_CHANGED"}
    assert lost.name in error.problem
    assert shown <= {path.name for path in (job.out / "totals").glob("*.parquet")}
    (tmp_path / "elsewhere").rename(lost)
    attempts.succeed()
    job.assert_complete()
