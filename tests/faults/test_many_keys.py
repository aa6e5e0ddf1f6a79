"""Workers, executors and drivers that die with much state in them: nothing is lost, nothing doubled."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq

from tests.faults.drivers import CLUSTER, MIXED, ROOT, SECONDS, Drivers
from tests.faults.processes import executors_below, kill
from tests.spark.jobs.many_keys import key_of_live

JOB = ROOT / "tests" / "spark" / "jobs" / "many_keys.py"

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


def drivers_of(
    root: Path, keys: int, records: int, rate: int, settings: dict[str, str]
) -> tuple[Drivers, Path]:
    """Return drivers of the job, and its output."""
    out = root / "out"
    arguments = (str(out), str(keys), str(records), str(rate))
    settings = MIXED | settings
    return Drivers(JOB, arguments, root / "job", root / "markers", settings), out


def test_killed_executors_lose_and_double_nothing(tmp_path: Path) -> None:
    """With files, which go with the executor; objects go with any worker."""
    settings = CLUSTER | {
        "execution.live.max-records-per-batch": "2000",
        "state.backend.type": "lmdb",
    }
    drivers, out = drivers_of(tmp_path, 5000, 20_000, 2000, settings)
    process = drivers.start()
    killed: list[int] = []
    try:
        while len(killed) < 2 and process.poll() is None:
            time.sleep(0.5)
            results = sum(1 for _ in out.glob("*.parquet"))
            alive = executors_below(process.pid)
            if results > 10 * (len(killed) + 1) and len(alive) == 2:
                kill(alive[0])
                killed.append(alive[0])
        output, _ = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    assert len(killed) == 2, output
    assert process.returncode == 0, output
    assert written(out) == replay(5000, 20_000)


SEGMENT = ["epoch.segment-written:1", "epoch.segment-synced:1", "epoch.segment-named:1"]


def test_a_worker_killed_while_it_writes_a_segment(tmp_path: Path) -> None:
    """What a task writes to its log is a file of its own, if it is much; here that is what is handed over."""
    drivers, out = drivers_of(tmp_path, 200_000, 4000, 0, {})
    drivers.succeeds(*(f"{place}:kill" for place in SEGMENT))
    assert written(out) == replay(200_000, 4000)
    segments = list((tmp_path / "job/run-1/epochs/segments").glob("[0-9]*"))
    assert len(segments) >= 2, "both subtasks have one"


def test_a_million_keys_survive_the_driver(tmp_path: Path) -> None:
    keys, records = 1_000_000, 120_000
    settings = {
        "execution.live.max-records-per-batch": "30000",
        "state.backend.type": "lmdb",
    }
    drivers, out = drivers_of(tmp_path, keys, records, 0, settings)
    drivers.is_killed_at("live.committed:2")
    assert 0 < sum(written(out)[0].values()) < records
    drivers.succeeds()
    assert written(out) == replay(keys, records)
