"""Jobs on two executors that share nothing but the directories they name.

Each executor of `local-cluster` has a JVM and local directories of its own; its Python workers are started by a
script that gives them these for temporary files too. So a worker that looked for a file of another executor
would not find it. All jobs are those of one program, `jobs/cluster.py`: a driver and executors start once. Executors
that are lost at random moments are in `tests/faults`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.spark.jobs import cluster, demo_on_cluster
from tests.spark.visits import Visit, expected_totals, make_visits, write_visits

ROOT = Path(__file__).parents[2]
SETTINGS = {
    "spark.master": "local-cluster[2,1,1024]",
    "spark.executor.memory": "512m",
    # As in the driver: the second compiler and a concurrent collector take a core for what ends in a minute.
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    # Work begins when both executors are there.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
}
WORKER = """#!/bin/sh
export TMPDIR="$SPARK_LOCAL_DIRS"
exec {python} "$@"
"""


@dataclass(frozen=True, slots=True)
class Ran:
    """What the program said and wrote."""

    told: dict[str, Any]
    visits: list[Visit]
    rows: list[dict[str, Any]]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    root = tmp_path_factory.mktemp("cluster")
    worker = root / "worker"
    worker.write_text(WORKER.format(python=sys.executable))
    worker.chmod(0o755)
    visits = make_visits(600)
    data, out = root / "data", root / "out"
    write_visits(data, visits, cut=300)
    for number, name in ((1, "meanwhile"), (2, "later")):
        (data / name).mkdir()
        (data / "live" / f"{number}.parquet").rename(data / name / f"{number}.parquet")
    options = [f"-D{key}={value}" for key, value in SETTINGS.items()]
    arguments = [str(each) for each in (data, out, root / "jobs", root / "demo")]
    told = told_by(worker, "-m", "penstock", "run", cluster.__file__, *options, "--", *arguments)
    rows = [row for path in out.glob("*.parquet") for row in pq.read_table(path).to_pylist()]
    return Ran(told, visits, rows)


def told_by(worker: Path, *command: str) -> dict[str, Any]:
    """Run a program of the cluster; return what it printed."""
    ran = subprocess.run(
        [sys.executable, *command],
        env={
            **os.environ,
            "PYSPARK_PYTHON": str(worker),
            "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
        },
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    told: dict[str, Any] = json.loads(ran.stdout)
    return told


def test_every_result_is_there_once(ran: Ran) -> None:
    assert [ran.told[each] for each in ("first", "meanwhile", "all")] == [400, 500, 600]
    last = dict.fromkeys(expected_totals(ran.visits), (0, 0))
    for row in ran.rows:
        last[row["page"]] = max(last[row["page"]], (row["count"], row["total"]))
    assert last == expected_totals(ran.visits)
    shown = {(row["page"], row["count"]) for row in ran.rows}
    assert len(shown) == len(ran.rows) == len(ran.visits)


def test_state_moves_between_executors_that_share_no_local_directory(ran: Ran) -> None:
    executors = {row["local"] for row in ran.rows}
    assert len(executors) >= cluster.EXECUTORS, executors
    assert all(row["temporary"] == row["local"] for row in ran.rows)
    with_copies = {row["local"] for row in ran.rows if row["files"] > 0}
    assert len(with_copies) >= cluster.EXECUTORS, "executors have copies of state"


def test_another_executor_takes_the_place_of_one_that_is_lost(ran: Ran) -> None:
    before, after = set(ran.told["before"]), set(ran.told["after"])
    assert len(before) == len(after) == cluster.EXECUTORS
    assert before - after == {ran.told["killed"]}


def test_the_demo_on_executors_that_share_no_local_directory(ran: Ran) -> None:
    demo = ran.told["demo"]
    assert demo["flights"] == demo_on_cluster.some_flights().num_rows
    assert 0 < demo["live"] < demo["flights"]
    assert demo["alerts"] > 0
