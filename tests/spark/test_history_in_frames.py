"""History in a DataFrame, which is written to files beside live input: modes, failures, cancellation, savepoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, udf
from typer.testing import CliRunner

from penstock.cli.main import command_line
from penstock.common import Row
from penstock.connectors.spark_source import SparkSource
from penstock.datastream.connectors import DataGeneratorSource, HybridSource
from penstock.errors import JobCancelledError, PenstockError, SavepointMismatchError
from penstock.state.savepoint import read_savepoint
from tests.spark.conftest import Environment, Failures
from tests.spark.jobs.orders_in_files import CLICKS, HISTORY, KEYS, LATER, ROW, build, expected
from tests.spark.jobs.orders_in_frame import orders_frame, orders_of
from tests.spark.test_clients import written
from tests.spark.test_history_in_files import last_of, shown
from tests.spark.waiting import committed, wait_for

SMALL = {"execution.live.max-records-per-batch": 40}
RECOVERY = "execution.state-recovery.path"


def directories(job: Path) -> list[Path]:
    """Return the directories to which DataFrames were written, or are."""
    return sorted(job.glob("run-*/dataframe-*"))


def test_history_in_a_dataframe_gives_one_answer_in_every_mode(
    environment: Environment, session: SparkSession, tmp_path: Path
) -> None:
    for mode in ("streaming", "mixed", "batch"):
        job = tmp_path / f"job-{mode}"
        env = environment(mode, **SMALL, **{"execution.checkpointing.dir": str(job)})
        build(env, tmp_path / f"out-{mode}", orders_of(orders_frame(session)))
        result = env.execute("meeting")
        found = written(tmp_path / f"out-{mode}")
        if mode == "batch":  # a rolling aggregate gives its last result
            assert last_of(found) == last_of(expected())
            continue
        assert [(run.name, run.kind) for run in result.runs] == [("live", "live")]
        assert found == expected(), mode
        (directory,) = directories(job)
        sizes = len([*directory.glob("*.parquet")])
        assert sizes >= HISTORY / 10, "an epoch has several files"


def test_live_records_are_out_while_the_dataframe_is_written(
    environment: Environment, session: SparkSession, tmp_path: Path
) -> None:
    gate, out = tmp_path / "gate", tmp_path / "out"
    env = environment("mixed", **SMALL)
    build(env, out, orders_of(orders_frame(session, gate)))
    client = env.execute_async("meeting")
    wait_for(client, lambda: shown(out, "clicks") == CLICKS)
    assert shown(out) == 0
    (private,) = directories(tmp_path / "job")
    assert private.suffix, "nobody reads it yet"
    gate.touch()
    client.get_job_execution_result().result()
    assert written(out) == expected()
    (final,) = directories(tmp_path / "job")
    assert final == private.with_suffix("")


def test_failures_while_it_is_written_and_read_lose_and_repeat_nothing(
    environment: Environment, session: SparkSession, tmp_path: Path, failures: Failures
) -> None:
    places = [
        *(f"frame.{step}:1:raise" for step in ("begun", "written", "checked", "complete")),
        "live.staged:12:raise",
        "live.recorded:16:raise",
    ]
    env = environment("streaming", **failures.at(*places), **SMALL)
    build(env, tmp_path / "out", orders_of(orders_frame(session)))
    env.execute("meeting")
    failures.check_all_happened()
    assert written(tmp_path / "out") == expected()
    assert len(directories(tmp_path / "job")) == 1


def test_what_goes_wrong_in_the_dataframe_fails_the_job(
    environment: Environment, session: SparkSession, tmp_path: Path
) -> None:
    def divided(n: int) -> int:
        return 1 // (n - 700)

    frame = orders_frame(session)
    broken: Any = udf(divided, "long", useArrow=False)(col("n") * 700)
    env = environment("streaming", **SMALL)
    build(env, tmp_path / "out", orders_of(frame.withColumn("n", broken)), rate=1)
    with pytest.raises(PenstockError, match="ZeroDivisionError"):
        env.execute("meeting")
    assert shown(tmp_path / "out") == 0


def test_a_job_that_is_cancelled_while_it_writes_writes_again(
    environment: Environment, session: SparkSession, tmp_path: Path
) -> None:
    gate, out = tmp_path / "gate", tmp_path / "out"
    for is_last in (False, True):
        env = environment("streaming", **SMALL)
        build(env, out, orders_of(orders_frame(session, gate)))
        client = env.execute_async("meeting")
        wait_for(client, lambda: shown(out, "clicks") == CLICKS)
        if is_last:
            gate.touch()
            client.get_job_execution_result().result()
            break
        client.cancel()
        with pytest.raises(JobCancelledError):
            client.get_job_execution_result().result()
    assert written(out) == expected()
    assert len(directories(tmp_path / "job")) == 1


@pytest.mark.parametrize("offline", [False, True])
@pytest.mark.parametrize("when", ["writing", "reading", "read"])
def test_a_savepoint_says_what_was_read_of_a_dataframe(
    environment: Environment, session: SparkSession, tmp_path: Path, when: str, *, offline: bool
) -> None:
    gate, out = tmp_path / "gate", tmp_path / "out"
    count = 50 if when == "read" else HISTORY
    later = 3000 if when == "read" else LATER
    orders = _orders(orders_frame(session, gate, count), later)
    if when != "writing":
        gate.touch()
    env = environment("streaming", **SMALL)
    build(env, out, orders)
    client = env.execute_async("meeting")
    enough = {"writing": 0, "reading": 1, "read": count + 1}[when]
    wait_for(
        client,
        lambda: shown(out) >= enough and committed(tmp_path / "job" / "run-0") > 3,
    )
    if offline:
        client.cancel()
        taken = CliRunner().invoke(command_line(), ["savepoint", str(tmp_path / "job")])
        assert taken.exit_code == 0, taken.output
        savepoint = taken.stdout.strip()
    else:
        savepoint = client.stop_with_savepoint().result()
        client.get_job_execution_result().result()
    found = {source.name: source for source in read_savepoint(Path(savepoint)).sources}
    assert found["orders"].part == int(when == "read")
    gate.touch()
    settings = {"execution.checkpointing.dir": str(tmp_path / "second"), RECOVERY: savepoint}
    env = environment("streaming", **SMALL, **settings)
    build(env, out, orders)
    if when == "reading":
        with pytest.raises(SavepointMismatchError, match="a batch DataFrame with unread rows"):
            env.execute("meeting")
        return
    env.execute("meeting")
    assert written(out) == expected(count + later)


def _orders(frame: Any, later: int) -> HybridSource:
    """Return orders that go on in so many by positions."""
    behind = DataGeneratorSource(
        lambda i: Row(name="orders", key=i % KEYS, n=1), count=later, type_info=ROW
    )
    return HybridSource.builder(SparkSource(frame)).add_source(behind).build()
