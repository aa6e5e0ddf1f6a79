"""A changed SELECT of a script reads the history again; other statements keep their state."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from penstock.cli.savepoint import take_savepoint
from penstock.datastream import StreamExecutionEnvironment
from tests.spark.conftest import Environment

Given = tuple[str, int, int]
"""(key, value, second)."""

HISTORY: tuple[Given, ...] = (("a", 1, 0), ("b", 2, 1), ("a", 3, 2))
LATER: tuple[Given, ...] = (("a", 4, 3), ("b", 5, 4), ("z", 0, 5))
"""The last one moves the watermark."""

TABLES = """
CREATE TABLE t (k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH (
  'connector' = 'filesystem', 'path' = '{base}/in', 'format' = 'json', 'source.monitor-interval' = '100 ms');
CREATE TABLE sums (k STRING, n BIGINT) WITH ('connector' = 'filesystem', 'path' = '{base}/sums', 'format' = 'json');
CREATE TABLE counts (k STRING, n BIGINT) WITH ('connector' = 'filesystem', 'path' = '{base}/counts', 'format' = 'json');
CREATE TABLE greatest (k STRING, n BIGINT) WITH ('connector' = 'filesystem', 'path' = '{base}/greatest', 'format' = 'json');
"""
OVER = "INSERT INTO {} SELECT k, CAST({} OVER (PARTITION BY k ORDER BY ts) AS BIGINT) FROM t;"


def add(base: Path, number: int, rows: tuple[Given, ...]) -> None:
    """Let a file of rows appear."""
    (base / "in").mkdir(exist_ok=True)
    staged = base / f"staged-{number}"
    lines = ({"k": k, "v": v, "ts": f"2026-01-01 00:00:{second:02}"} for k, v, second in rows)
    staged.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    staged.rename(base / "in" / f"{number}.json")


@contextmanager
def running(
    env: StreamExecutionEnvironment, base: Path, job: Path, *into_sums: str, **calls: str
) -> Iterator[tuple[Future[Any], list[str]]]:
    """Run a script that writes each table with the values of a call, one of them with several, and stop its job with a savepoint."""
    written = [*(("sums", call) for call in into_sums), *calls.items()]
    inserts = "\n".join(OVER.format(table, call) for table, call in written)
    script = f"{TABLES.format(base=base)} EXECUTE STATEMENT SET BEGIN {inserts} END;"
    savepoints: list[str] = []
    with ThreadPoolExecutor(1) as threads:
        ended = threads.submit(env.execute_sql, script)
        try:
            yield ended, savepoints
        finally:
            if not ended.done():
                console = Console(stderr=True)
                savepoints += take_savepoint(job, None, console, stop=True, limit=None)[:1]
        ended.result()


def wait_until(ended: Future[Any], holds: Callable[[], bool]) -> None:
    """Wait until something holds, for a minute at most."""
    deadline = time.monotonic() + 60
    while not holds():
        assert not ended.done(), ended.result()
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.05)


def written(base: Path, table: str) -> Counter[tuple[str, int]]:
    """Return the rows of a table."""
    lines = (
        line for path in (base / table).glob("*.json") for line in path.read_text().splitlines()
    )
    return Counter((row["k"], row["n"]) for row in map(json.loads, lines))


def sums(rows: tuple[Given, ...], factor: int) -> Iterator[tuple[str, int]]:
    """Yield the rows of SUM(v * factor), without that of the last row, which is not complete."""
    total: Counter[str] = Counter()
    for k, v, _ in rows[:-1]:
        total[k] += v * factor
        yield k, total[k]


def test_only_a_changed_select_reads_the_history_again(
    environment: Environment, tmp_path: Path
) -> None:
    add(tmp_path, 0, HISTORY)
    before = Counter(sums(HISTORY, 1))
    env, first, second = environment("streaming"), tmp_path / "job", tmp_path / "second"
    with running(env, tmp_path, first, sums="SUM(v)", counts="COUNT(v)") as (ended, savepoints):
        wait_until(ended, lambda: written(tmp_path, "sums") == before)
    settings: dict[str, Any] = {
        "execution.checkpointing.dir": str(second),
        "execution.state-recovery.path": savepoints[0],
        "execution.evolution": "allow",
    }
    changed = {"sums": "SUM(v * 10)", "counts": "COUNT(v)", "greatest": "MAX(v)"}
    every = HISTORY + LATER
    with running(environment("streaming", **settings), tmp_path, second, **changed) as (ended, _):
        add(tmp_path, 1, LATER)
        wait_until(ended, lambda: written(tmp_path, "greatest").total() == len(every) - 1)
    from_there = Counter(sums(every, 10)) - Counter(sums(HISTORY, 10))
    assert written(tmp_path, "sums") == before + from_there
    counts = [("a", 1), ("b", 1), ("a", 2), ("a", 3), ("b", 2)]
    assert written(tmp_path, "counts") == Counter(counts)
    greatest = [("a", 1), ("b", 2), ("a", 3), ("a", 4), ("b", 5)]
    assert written(tmp_path, "greatest") == Counter(greatest)


def test_a_further_insert_into_a_table_writes_the_history_and_the_first_one_does_not(
    environment: Environment, tmp_path: Path
) -> None:
    add(tmp_path, 0, HISTORY)
    env, first, second = environment("streaming"), tmp_path / "job", tmp_path / "second"
    with running(env, tmp_path, first, "SUM(v)") as (ended, savepoints):
        wait_until(ended, lambda: written(tmp_path, "sums").total() == len(HISTORY) - 1)
    settings: dict[str, Any] = {
        "execution.checkpointing.dir": str(second),
        "execution.state-recovery.path": savepoints[0],
        "execution.evolution": "allow",
    }
    every = HISTORY + LATER
    env = environment("streaming", **settings)
    with running(env, tmp_path, second, "SUM(v * 100)", "SUM(v)") as (ended, _):
        add(tmp_path, 1, LATER)
        wait_until(ended, lambda: written(tmp_path, "sums").total() >= 2 * (len(every) - 1))
    assert written(tmp_path, "sums") == Counter([*sums(every, 100), *sums(every, 1)])
