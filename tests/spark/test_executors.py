"""Executors and drivers that die with much state in them: nothing is lost, nothing doubled."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.spark.jobs.many_keys import key_of_live

ROOT = Path(__file__).parents[2]
JOB = Path(__file__).parent / "jobs" / "many_keys.py"


def start(
    out: Path, keys: int, records: int, rate: int, settings: dict[str, str], **environ: str
) -> subprocess.Popen[str]:
    """Start the job in a process of its own."""
    settings = {
        "parallelism.default": "2",
        "execution.checkpointing.interval-during-backlog": "0",
        **settings,
    }
    options = [f"-D{key}={value}" for key, value in settings.items()]
    env: dict[str, Any] = {**os.environ, **environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    arguments = [str(out), str(keys), str(records), str(rate)]
    return subprocess.Popen(
        [sys.executable, "-m", "penstock", "run", str(JOB), *options, "--", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=env,
    )


Answer = tuple[Counter[tuple[int, int]], dict[int, tuple[int, int]]]
"""How often each (key, count) was emitted, and the last (count, total) of each key. Totals in
between depend on the order in which Spark reads the two splits of the source."""


def written(out: Path) -> Answer:
    counts: Counter[tuple[int, int]] = Counter()
    last: dict[int, tuple[int, int]] = {}
    for path in out.glob("*.parquet"):
        columns = pq.read_table(path).to_pydict()
        counts.update(zip(columns["key"], columns["count"], strict=True))
        for key, *result in zip(*columns.values(), strict=True):
            last[key] = max(last.get(key, (0, 0)), (result[0], result[1]))
    return counts, last


def replay(keys: int, records: int) -> Answer:
    state = {key: (1, key % 97) for key in range(keys)}
    counts: Counter[tuple[int, int]] = Counter()
    last: dict[int, tuple[int, int]] = {}
    for index in range(records):
        key = key_of_live(index, keys)
        count, total = state[key]
        last[key] = state[key] = count + 1, total + index % 89
        counts[key, count + 1] += 1
    return counts, last


def executors_below(driver: int) -> list[int]:
    """Return the executor JVMs that a driver process has, however far below it."""
    parents: dict[int, int] = {}
    backends = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            stat = (entry / "stat").read_text()
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
        if b"CoarseGrainedExecutorBackend" in command:
            backends.append(int(entry.name))

    def is_below(pid: int) -> bool:
        while pid in parents and pid != driver:
            pid = parents[pid]
        return pid == driver

    return [pid for pid in backends if is_below(pid)]


def test_killed_executors_lose_and_double_nothing(tmp_path: Path) -> None:
    """With files, which go with the executor; objects go with any worker (`test_workers.py`)."""
    settings = {
        "spark.master": "local-cluster[2,1,1024]",
        "spark.executor.memory": "512m",
        "execution.checkpointing.dir": str(tmp_path / "job"),
        "execution.live.max-records-per-batch": "2000",
        "state.backend.type": "lmdb",
    }
    out = tmp_path / "out"
    process = start(out, 5000, 20_000, 2000, settings)
    killed: list[int] = []
    try:
        deadline = time.monotonic() + 120
        while len(killed) < 2 and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.5)
            results = sum(1 for _ in out.glob("*.parquet"))
            alive = executors_below(process.pid)
            if results > 4 * (len(killed) + 1) and len(alive) == 2:
                os.kill(alive[0], signal.SIGKILL)
                killed.append(alive[0])
        output, _ = process.communicate(timeout=180)
    finally:
        process.kill()
    assert len(killed) == 2, output
    assert process.returncode == 0, output
    assert not any(Path(f"/proc/{pid}").exists() for pid in killed)
    assert written(out) == replay(5000, 20_000)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["hashmap", "lmdb"])
def test_a_million_keys_survive_the_driver(tmp_path: Path, backend: str) -> None:
    keys, records = 1_000_000, 120_000
    settings = {
        "execution.checkpointing.dir": str(tmp_path / "job"),
        "execution.live.max-records-per-batch": "30000",
        "state.backend.type": backend,
    }
    out = tmp_path / "out"
    armed = {
        "PENSTOCK_FAILPOINT": "live.committed:2:kill",
        "PENSTOCK_FAILPOINT_MARKER": str(tmp_path / "marker"),
    }
    process = start(out, keys, records, 0, settings, **armed)
    output, _ = process.communicate(timeout=240)
    assert process.returncode == -signal.SIGKILL, output
    assert (tmp_path / "marker").read_text() == "live.committed:2:kill"
    assert 0 < sum(written(out)[0].values()) < records
    process = start(out, keys, records, 0, settings)
    output, _ = process.communicate(timeout=240)
    assert process.returncode == 0, output
    assert written(out) == replay(keys, records)
