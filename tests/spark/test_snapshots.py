"""Snapshots of logs on Spark: taken once, read again after failures, and carried by savepoints.

Every test compares with what one uninterrupted run would have written.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.api.environment.job import JobClient
from penstock.errors import SourceError
from penstock.state.savepoint import read_savepoint
from tests.log_world import CapturedLog
from tests.spark.conftest import Environment, Failures
from tests.spark.test_clients import written
from tests.spark.test_logs import counts, lines, start, stop
from tests.spark.waiting import wait_for

STEPS = ["snapshot.begins", "snapshot.captured", "snapshot.recorded"]
SMALL: dict[str, object] = {"execution.live.max-records-per-batch": 10}


@pytest.fixture
def log(tmp_path: Path) -> CapturedLog:
    made = CapturedLog(str(tmp_path / "log"))
    Path(made.directory).mkdir()
    made.add("a", *lines(0, 40))
    made.add("b", *lines(40, 60))
    return made


@pytest.mark.parametrize("mode", ["streaming", "mixed"])
def test_a_snapshot_is_begun_anew_until_it_is_complete_and_never_again(
    environment: Environment, tmp_path: Path, log: CapturedLog, failures: Failures, mode: str
) -> None:
    out = tmp_path / "out"
    places = [f"{step}:1:raise" for step in STEPS]
    client = start(environment(mode, **SMALL, **failures.at(*places)), log, out)
    wait_for(client, lambda: sum(written(out).values()) > 0)
    log.add("a", *lines(60, 80))
    wait_for(client, lambda: ("k0", 16) in written(out) and ("k4", 16) in written(out))
    failures.check_all_happened()
    # The first attempt failed before the source was asked, the second when it had answered.
    assert log.captures() == ["[]", "['a.lines', 'b.lines']"]
    heads = {split.id: split.head for split in log.discover({})}
    wait_for(client, lambda: log.confirmed() == heads)
    stop(client)
    log.add("b", *lines(80, 100))
    client = start(environment(mode, **SMALL), log, out)
    wait_for(client, lambda: ("k0", 20) in written(out) and ("k4", 20) in written(out))
    stop(client)
    assert len(log.captures()) == 2
    assert set(written(out).values()) == {1}


def test_a_bounded_log_is_read_by_a_batch_run(
    environment: Environment, tmp_path: Path, log: CapturedLog
) -> None:
    bounded = CapturedLog(log.directory, bounded=True)
    client = start(environment("batch"), bounded, tmp_path / "out")
    client.get_job_execution_result().result()
    assert set(written(tmp_path / "out")) == {(f"k{n}", 12) for n in range(5)}


class SlowLog(CapturedLog):
    kind = "slow"
    records_per_second = 25


def savepoint_of(client: JobClient, target: Path) -> str:
    path = client.stop_with_savepoint(False, str(target)).result()
    client.get_job_execution_result().result()
    return str(path)


@pytest.mark.parametrize("seen", [20, 60])
def test_a_job_goes_on_from_a_savepoint_without_a_snapshot(
    environment: Environment, tmp_path: Path, log: CapturedLog, seen: int
) -> None:
    out, slow = tmp_path / "out", SlowLog(log.directory)
    client = start(environment("streaming", **SMALL), slow, out)
    wait_for(client, lambda: written(out).total() >= seen)
    log.add("a", *lines(60, 70))
    taken = savepoint_of(client, tmp_path / "savepoint")
    (orders,) = read_savepoint(Path(taken)).sources
    assert orders.part == (0 if seen < 60 else 1)
    log.add("a", *lines(70, 80))
    (tmp_path / "job").rename(tmp_path / "earlier") if seen == 60 else None
    go_on = SMALL | {
        "execution.checkpointing.dir": str(tmp_path / "next"),
        "execution.state-recovery.path": taken,
    }
    client = start(environment("streaming", **go_on), log, out)
    wait_for(client, lambda: written(out) == counts(80))
    stop(client)
    client = start(environment("streaming", **go_on), log, out)
    log.add("b", *lines(80, 100))
    wait_for(client, lambda: written(out) == counts(100))
    stop(client)
    assert len(log.captures()) == 1


def test_a_snapshot_whose_files_are_gone_is_told(
    environment: Environment, tmp_path: Path, log: CapturedLog, failures: Failures
) -> None:
    env = environment("mixed", **failures.at("snapshot.recorded:1:raise"))
    env.get_configuration().set("restart-strategy.type", "none")
    client = start(env, log, tmp_path / "out")
    with pytest.raises(Exception, match="failpoint"):
        client.get_job_execution_result().result()
    assert list((tmp_path / "job" / "snapshots").glob("*/*")), "a failed start keeps its snapshot"
    (tmp_path / "job" / "snapshots").rename(tmp_path / "gone")
    client = start(environment("mixed"), log, tmp_path / "out")
    with pytest.raises(SourceError, match="snapshot of captured is incomplete"):
        client.get_job_execution_result().result()
