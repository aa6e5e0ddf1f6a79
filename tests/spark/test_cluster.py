"""Jobs on two executors that share nothing but the directories they name.

Each executor of `local-cluster` has a JVM and local directories of its own; its Python workers are started by a
script that gives them these for temporary files too. So a worker that looked for a file of another executor
would not find it. Executors that are lost at random moments are in `tests/faults`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.spark.jobs import cluster, demo_on_cluster
from tests.spark.visits import expected_totals, make_visits, write_visits

ROOT = Path(__file__).parents[2]
SETTINGS = {
    "spark.master": "local-cluster[2,1,1024]",
    "spark.executor.memory": "512m",
    # Work begins when both executors are there.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
}
WORKER = """#!/bin/sh
export TMPDIR="$SPARK_LOCAL_DIRS"
exec {python} "$@"
"""


@pytest.fixture
def worker(tmp_path: Path) -> Path:
    """Return the interpreter of workers."""
    script = tmp_path / "worker"
    script.write_text(WORKER.format(python=sys.executable))
    script.chmod(0o755)
    return script


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


def test_state_moves_between_executors_that_share_no_local_directory(
    tmp_path: Path, worker: Path
) -> None:
    visits = make_visits(600)
    data, out = tmp_path / "data", tmp_path / "out"
    write_visits(data, visits, cut=300)
    later = data / "later"
    later.mkdir()
    (data / "live" / "2.parquet").rename(later / "2.parquet")
    options = [f"-D{key}={value}" for key, value in SETTINGS.items()]
    arguments = [str(each) for each in (data, out, tmp_path / "jobs")]
    told = told_by(worker, "-m", "penstock", "run", cluster.__file__, *options, "--", *arguments)
    assert told == {"first": 500, "all": 600}

    rows = [row for path in out.glob("*.parquet") for row in pq.read_table(path).to_pylist()]
    last = dict.fromkeys(expected_totals(visits), (0, 0))
    for row in rows:
        last[row["page"]] = max(last[row["page"]], (row["count"], row["total"]))
    assert last == expected_totals(visits)
    assert len({(row["page"], row["count"]) for row in rows}) == len(rows) == len(visits)

    executors = {row["local"] for row in rows}
    assert len(executors) == 2, executors
    assert all(row["temporary"] == row["local"] for row in rows)
    with_copies = {row["local"] for row in rows if row["files"] > 0}
    assert with_copies == executors, "both have copies of state"


def test_the_demo_on_executors_that_share_no_local_directory(tmp_path: Path, worker: Path) -> None:
    settings = [f"{key}={value}" for key, value in SETTINGS.items()]
    settings += ["parallelism.default=2", "execution.live.single-task-work=0ms"]
    told = told_by(worker, demo_on_cluster.__file__, str(tmp_path / "demo"), *settings)
    assert told["flights"] == -(-336_776 // demo_on_cluster.EVERY)
    assert 0 < told["live"] < told["flights"]
    assert told["alerts"] > 0
