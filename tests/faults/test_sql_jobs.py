"""Scripts of SQL: killed at steps of an epoch, stopped with a savepoint and started again after a change; the job of the proposal."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.answers.coded_join_rows import NO_MATCH, expected
from benchmarks.model.digest import as_text, digest_of
from penstock.api.environment.job import JobClient
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import SavepointMismatchError
from tests.faults.drivers import ROOT, Drivers
from tests.spark.conftest import Environment
from tests.spark.waiting import wait_for

COUNT, KEYS = 1_200, 7
PLACES = [
    "live.staged:1",
    "epoch.record-written:1",  # no record yet, only its temporary file
    "epoch.record-linked:2",  # the epoch counts, and its sink did not commit
    "sink.manifest-written:2",
    "live.committed:2",
]
SCRIPT = f"""
CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '{COUNT}', 'fields.n.kind' = 'sequence',
  'fields.n.start' = '1', 'fields.n.end' = '{COUNT}');
CREATE TABLE totals (k BIGINT, c BIGINT, s BIGINT) WITH ('connector' = 'filesystem', 'path' = '{{out}}',
  'format' = 'debezium-json');
CREATE VIEW by_key AS SELECT MOD(n, {KEYS}) AS k, COUNT(*) AS c, SUM({{summed}}) AS s FROM numbers GROUP BY MOD(n, {KEYS});
INSERT INTO totals SELECT {{selected}} FROM by_key;
"""
SETTINGS = {"execution.runtime-mode": "STREAMING", "execution.live.max-records-per-batch": "40"}
RECOVERY = "execution.state-recovery.path"


def script(out: Path, summed: str = "n", selected: str = "k, c, s") -> str:
    return SCRIPT.format(out=out, summed=summed, selected=selected)


def changes(out: Path, *names: str) -> Counter[tuple[Any, ...]]:
    """Return how often each row of some columns is there after all changes that were written."""
    left: Counter[tuple[Any, ...]] = Counter()
    files = out.iterdir() if out.exists() else ()
    for path in (each for each in files if each.is_file() and each.name[0] not in "._"):
        for line in path.read_text().splitlines():
            change = json.loads(line)
            for side, sign in (("before", -1), ("after", 1)):
                row = change.get(side)
                if row is not None:
                    left[tuple(row[name] for name in names or ("k", "c", "s"))] += sign
    return Counter({row: n for row, n in left.items() if n})


def totals(times: int = 1) -> Counter[tuple[Any, ...]]:
    of_key = [[n for n in range(1, COUNT + 1) if n % KEYS == k] for k in range(KEYS)]
    return Counter((k, len(each), times * sum(each)) for k, each in enumerate(of_key))


def test_a_kill_at_every_step_loses_and_repeats_nothing(tmp_path: Path) -> None:
    file = tmp_path / "job.sql"
    file.write_text(script(tmp_path / "out"))
    drivers = Drivers(file, (), tmp_path / "checkpoints", tmp_path / "markers", SETTINGS)
    for place in PLACES:
        drivers.is_killed_at(place)
    assert changes(tmp_path / "out") != totals()
    drivers.succeeds()
    assert changes(tmp_path / "out") == totals()


def test_a_changed_script_goes_on_from_a_savepoint_or_is_refused(
    environment: Environment, tmp_path: Path
) -> None:
    def made(name: str, **settings: Any) -> StreamExecutionEnvironment:
        directory = {"execution.checkpointing.dir": str(tmp_path / name)}
        return environment("streaming", **SETTINGS | directory | settings)

    def started(env: StreamExecutionEnvironment, text: str) -> JobClient:
        env.sql_session.add(text)
        return env.execute_async("totals")

    client = started(made("first"), script(tmp_path / "before"))
    wait_for(client, lambda: bool(changes(tmp_path / "before")))
    savepoint = client.stop_with_savepoint().result()
    client.get_job_execution_result().result()
    before = changes(tmp_path / "before")
    assert before != totals()

    with pytest.raises(SavepointMismatchError, match="group by-"):
        started(made("below", **{RECOVERY: savepoint}), script(tmp_path / "x", summed="n * 2"))
    above = script(tmp_path / "after", selected="k, c, s * 10")
    client = started(made("above", **{RECOVERY: savepoint, "parallelism.default": 3}), above)
    client.get_job_execution_result().result()
    # Groups that have changed since are taken back as the new script would have written them.
    after = changes(tmp_path / "after")
    for (k, c, s), n in before.items():
        after[k, c, s * 10] += n
    assert Counter({row: n for row, n in after.items() if n}) == totals(10)


def test_the_job_of_the_proposal_runs_on_files_as_its_comment_says(tmp_path: Path) -> None:
    """Its sink is `blackhole`; here it writes the changes, so that they can be compared."""
    sink = f"'connector' = 'filesystem', 'path' = '{tmp_path / 'out'}', 'format' = 'debezium-json'"
    text = (ROOT / "examples/coded_join_files.sql").read_text()
    assert text.count("'connector' = 'blackhole'") == 1
    for name in ("binlog_functions.py", "coded_join_files.sql"):
        shutil.copy(ROOT / "examples" / name, tmp_path / name)
    file = tmp_path / "coded_join_files.sql"
    file.write_text(text.replace("'connector' = 'blackhole'", sink))
    environ = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    binlog = [sys.executable, "-m", "benchmarks.inputs.binlog", "binlog", "200", "80"]
    subprocess.run(binlog, cwd=tmp_path, env=environ, check=True)
    command = [sys.executable, "-m", "penstock", "sql", str(file), "-Dparallelism.default=2"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environ, stderr=subprocess.PIPE, text=True
    ) as process:
        wanted = expected(200, 80)
        found = (0, "")
        until = time.monotonic() + 120
        while time.monotonic() < until and process.poll() is None:
            found = joined(tmp_path / "out")
            if found == (wanted.count, wanted.digest):
                break
            time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert found == (wanted.count, wanted.digest), told
    assert process.returncode == 128 + signal.SIGINT, told


def joined(out: Path) -> tuple[int, str]:
    """Return how many rows the changes leave, and the digest of their offsets."""
    rows = changes(out, "offset", "refund_offset").elements()
    pairs = [(offset, NO_MATCH if refund is None else refund) for offset, refund in rows]
    numbers = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return len(pairs), as_text(digest_of(numbers[:, 0], numbers[:, 1]))
