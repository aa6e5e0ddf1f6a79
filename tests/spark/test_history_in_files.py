"""History in files that is read beside live input: modes, failures, savepoints, and files that appear behind it."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from penstock.cli.main import command_line
from penstock.datastream.connectors import DiscardingSink, FileSink
from penstock.observe.events.job_events import MicroBatch
from penstock.observe.events.listeners import also_listening
from penstock.state.savepoint import read_savepoint
from penstock.wire.atomic_file import read_verified
from tests.spark.conftest import Environment, Failures
from tests.spark.jobs.orders_in_files import (
    CLICKS,
    HISTORY,
    NO_TIME,
    PER_FILE,
    ROW,
    Counts,
    build,
    expected,
    orders_of,
    write_input,
    write_orders,
)
from tests.spark.test_clients import written
from tests.spark.test_epochs import Seen
from tests.spark.waiting import committed, wait_for

SMALL = {"execution.live.max-records-per-batch": 40}


def shown(out: Path, name: str = "orders") -> int:
    """Return how many results of a name are visible."""
    return sum(count for row, count in written(out).items() if row[0] == name)


def last_of(rows: Counts) -> dict[tuple[str, int], int]:
    found: dict[tuple[str, int], int] = {}
    for name, key, count in rows:
        found[name, key] = max(count, found.get((name, key), 0))
    return found


@pytest.mark.parametrize("later", ["files", "positions"])
def test_history_in_files_gives_one_answer_in_every_mode(
    environment: Environment, tmp_path: Path, later: str
) -> None:
    write_input(tmp_path / "in")
    for mode in ("streaming", "mixed", "batch"):
        env = environment(mode, **SMALL, **{"execution.checkpointing.dir": str(tmp_path / mode)})
        build(env, tmp_path / f"out-{mode}", orders_of(tmp_path / "in", later))
        result = env.execute("meeting")
        found = written(tmp_path / f"out-{mode}")
        if mode == "batch":  # a rolling aggregate gives its last result
            assert last_of(found) == last_of(expected())
            continue
        assert [(run.name, run.kind) for run in result.runs] == [("live", "live")]
        assert found == expected(), mode


def test_live_input_is_through_before_history_in_files_is(
    environment: Environment, tmp_path: Path
) -> None:
    write_input(tmp_path / "in")
    env = environment("mixed", **SMALL)
    seen = Seen()
    with also_listening(seen):
        build(env, tmp_path / "out", orders_of(tmp_path / "in", "files"))
        client = env.execute_async("meeting")
        wait_for(client, lambda: shown(tmp_path / "out", "clicks") == CLICKS)
        assert shown(tmp_path / "out") < HISTORY
        client.get_job_execution_result().result()
    assert written(tmp_path / "out") == expected()
    # Two sources with 40 records each, of which history has half: more than one file of 30, and fewer than three.
    sizes = [batch.records for batch in seen.of(MicroBatch)]
    assert max(sizes[: CLICKS // 40]) <= 40 + PER_FILE


def test_files_that_appear_behind_history_are_read_once_and_history_is_not_read_again(
    environment: Environment, tmp_path: Path
) -> None:
    write_orders(tmp_path / "in" / "history", 0, 300)
    orders = orders_of(tmp_path / "in", "live files")
    out, read = tmp_path / "out", 300
    for more in (60, 90):
        env = environment("mixed", **SMALL)
        build(env, out, orders)
        client = env.execute_async("meeting")
        wait_for(client, partial(has_shown, out, read))
        write_orders(tmp_path / "in" / "history", read, read + more)
        read += more
        wait_for(client, partial(has_shown, out, read))
        client.cancel()
    assert written(out) == expected(read)
    names = [path.name for path in (tmp_path / "job" / "run-0" / "files" / "0").iterdir()]
    assert "schema.json" in names
    assert len(names) > 1


def has_shown(out: Path, orders: int) -> bool:
    return shown(out) == orders


@pytest.mark.parametrize("offline", [False, True])
@pytest.mark.parametrize("part", [0, 1])
def test_a_savepoint_says_which_files_were_read(
    environment: Environment, tmp_path: Path, part: int, *, offline: bool
) -> None:
    """In history, and behind it: what was read of history is not read again as what has appeared."""
    out, first = tmp_path / "out", 1500 if part == 0 else 60
    write_orders(tmp_path / "in" / "history", 0, first)
    orders = orders_of(tmp_path / "in", "live files")
    env = environment("streaming", **SMALL)
    build(env, out, orders)
    client = env.execute_async("meeting")
    if part == 0:
        wait_for(client, lambda: committed(tmp_path / "job" / "run-0") > 4)
    else:
        wait_for(client, partial(has_shown, out, first))
        write_orders(tmp_path / "in" / "history", first, first + 60)
        wait_for(client, partial(has_shown, out, first + 60))
        first += 60
    if offline:
        client.cancel()
        taken = CliRunner().invoke(command_line(), ["savepoint", str(tmp_path / "job")])
        assert taken.exit_code == 0, taken.output
        savepoint = taken.stdout.strip()
    else:
        savepoint = client.stop_with_savepoint().result()
        client.get_job_execution_result().result()
    found = {source.name: source for source in read_savepoint(Path(savepoint)).sources}
    assert found["orders"].part == part
    if part == 0:
        assert shown(out) < first

    settings = {
        "execution.checkpointing.dir": str(tmp_path / "second"),
        "execution.state-recovery.path": savepoint,
        "parallelism.default": 1,
    }
    env = environment("streaming", **SMALL, **settings)
    build(env, out, orders)
    client = env.execute_async("meeting")
    wait_for(client, partial(has_shown, out, first))
    write_orders(tmp_path / "in" / "history", first, first + 60)
    wait_for(client, partial(has_shown, out, first + 60))
    wait_for(client, lambda: shown(out, "clicks") == CLICKS)
    client.cancel()
    assert written(out) == expected(first + 60)


def test_failures_in_history_of_files_and_behind_it_lose_and_repeat_nothing(
    environment: Environment, tmp_path: Path, failures: Failures
) -> None:
    write_input(tmp_path / "in")
    last = -(-HISTORY // (4 * PER_FILE))
    places = [
        "live.staged:2:raise",
        "live.recorded:4:raise",
        *(f"live.{step}:{last + n}:raise" for n, step in enumerate(("staged", "recorded"))),
    ]
    settings = {
        "execution.live.max-records-per-batch": 4 * PER_FILE,
        "execution.live.max-files-per-batch": 4,
    }
    env = environment("streaming", **failures.at(*places), **settings)
    build(env, tmp_path / "out", orders_of(tmp_path / "in", "positions"))
    env.execute("meeting")
    failures.check_all_happened()
    assert written(tmp_path / "out") == expected()


@pytest.mark.parametrize("beside", [True, False])
def test_history_beside_another_pipeline_is_read_in_as_many_tasks_as_the_job_says(
    environment: Environment, session: SparkSession, tmp_path: Path, *, beside: bool
) -> None:
    """The default leaves one of two cores; a job with one pipeline has nothing live to leave it to."""
    write_input(tmp_path / "in")
    totals: list[int] = []
    for most in (2, 1, None):
        out = tmp_path / f"out-{most}"
        limit = {} if most is None else {"execution.backlog.tasks": most}
        settings = {"execution.checkpointing.dir": str(tmp_path / f"job-{most}"), **limit}
        env = environment("mixed", **settings)
        orders = env.from_source(orders_of(tmp_path / "in", "positions"), NO_TIME, "orders", ROW)
        counts = orders.map(lambda row: (row.name, row.key, row.n)).key_by(lambda r: r[1]).sum(2)
        counts.map(lambda r: r, ROW).sink_to(FileSink.parquet(out))
        if beside:
            env.from_collection([1, 2]).map(lambda n: n).sink_to(DiscardingSink())
        result = env.execute("orders")
        assert ("history", "batch") in [(run.name, run.kind) for run in result.runs]
        assert written(out) == expected() - Counter(row for row in expected() if row[0] == "clicks")
        totals.append(tasks_of_history(session, tmp_path / f"job-{most}"))
    most, limited, free = totals
    assert most > 1
    assert limited == free == (1 if beside else most)


def tasks_of_history(session: SparkSession, directory: Path) -> int:
    """Return how many tasks the narrowest stage of run 0 had: that of levels has as many as the job sets."""
    job_id = read_verified(directory / "job.json")["job_id"]
    tracker = session.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(f"penstock-{job_id}-0")]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    return min(stage.numTasks for stage in stages if stage is not None)
