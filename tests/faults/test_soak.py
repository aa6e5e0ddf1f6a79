"""Fifty random kills of one job while its input keeps arriving.

Before each kill new files arrive; after it, the job must show all of them before the next one.
Seed and order of the kills are in the output of a test that fails. In the end the sink equals a
replay of all input.
"""

from __future__ import annotations

import json
import logging
import random
import signal
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

from tests.faults.drivers import CLUSTER, MIXED, SECONDS, Drivers
from tests.faults.processes import executors_below, is_alive, kill, wait_for, workers_below

JOB = Path(__file__).parent / "jobs" / "totals.py"
KILLS = ["driver"] * 8 + ["executor"] * 16 + ["worker"] * 26
KEYS = 40
RECORDS = 60
"""Of one file."""
RESTARTS = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "20",
    "restart-strategy.fixed-delay.delay": "100 ms",
}
"""Spark gives a micro-batch up if it loses the shuffle of a stage it has begun to read."""

_logger = logging.getLogger(__name__)

Answer = tuple[Counter[tuple[int, int]], dict[int, tuple[int, int]]]
"""How often each (key, count) was shown, and the last (count, total) of each key."""


@dataclass(slots=True)
class Feed:
    """Writes input files, and knows what they add up to.

    Attributes:
        data: Directory of the input.
        chance: Makes the records.
        files: How many were written.
        records: What they hold, in order.
    """

    data: Path
    chance: random.Random
    files: int = 0
    records: list[tuple[int, int]] = field(default_factory=list)

    def write(self, part: str) -> None:
        """Add a file to `history` or `live`; it appears as a whole."""
        rows = [(self.chance.randrange(KEYS), self.chance.randrange(1000)) for _ in range(RECORDS)]
        directory = self.data / part
        directory.mkdir(parents=True, exist_ok=True)
        hidden = self.data / "hidden"
        hidden.write_text(
            "".join(json.dumps({"key": key, "amount": amount}) + "\n" for key, amount in rows)
        )
        hidden.rename(directory / f"{self.files:04d}.json")
        self.files += 1
        self.records.extend(rows)

    def replayed(self) -> Answer:
        """Return what the job must have shown."""
        counts: Counter[tuple[int, int]] = Counter()
        last: dict[int, tuple[int, int]] = {}
        for key, amount in self.records:
            count, total = last.get(key, (0, 0))
            last[key] = count + 1, total + amount
            counts[key, count + 1] += 1
        return counts, last


def shown(out: Path) -> Answer:
    """Return what is visible. Totals in between depend on the order within a micro-batch."""
    counts: Counter[tuple[int, int]] = Counter()
    last: dict[int, tuple[int, int]] = {}
    for path in out.glob("*.parquet"):
        for row in pq.read_table(path).to_pylist():
            counts[row["key"], row["count"]] += 1
            last[row["key"]] = max(last.get(row["key"], (0, 0)), (row["count"], row["total"]))
    return counts, last


def count_shown(out: Path) -> int:
    """Return how many results are visible."""
    return sum(pq.read_metadata(path).num_rows for path in out.glob("*.parquet"))


def test_fifty_random_kills_lose_and_repeat_nothing(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    chance = random.Random(seed)  # noqa: S311 - not a secret
    kills = list(KILLS)
    chance.shuffle(kills)
    _logger.warning("seed %d: %s", seed, kills)
    feed = Feed(tmp_path / "data", chance)
    for _ in range(3):
        feed.write("history")
    (tmp_path / "data" / "live").mkdir()
    out = tmp_path / "out"
    settings = MIXED | CLUSTER | RESTARTS
    arguments = (f"{feed.data}/history", f"{feed.data}/live", str(out))
    drivers = Drivers(JOB, arguments, tmp_path / "job", tmp_path / "markers", settings)
    process = drivers.start()
    done: Counter[str] = Counter()
    try:
        for what in kills:
            feed.write("live")
            feed.write("live")
            process = accident(what, process, drivers, chance)
            done[what] += 1
            wait_until_shown(process, out, feed, f"after kill {done}")
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=SECONDS)
        assert process.returncode == 130, output
    finally:
        process.kill()
    assert done == Counter(KILLS)
    assert shown(out) == feed.replayed()


def accident(
    what: str, process: subprocess.Popen[str], drivers: Drivers, chance: random.Random
) -> subprocess.Popen[str]:
    """Kill at a random moment; return the driver that goes on."""
    time.sleep(chance.uniform(0, 1.5))
    if what == "driver":
        kill_driver(process)
        return drivers.start()
    found = {"executor": executors_below, "worker": workers_below}[what]
    wait_for(lambda: bool(found(process.pid)), SECONDS, f"there is no {what} to kill")
    victim = chance.choice(found(process.pid))
    kill(victim)
    assert not is_alive(victim)
    return process


def kill_driver(process: subprocess.Popen[str]) -> None:
    """Kill a driver; its exit status is the proof."""
    process.send_signal(signal.SIGKILL)
    output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == -signal.SIGKILL, output


def wait_until_shown(process: subprocess.Popen[str], out: Path, feed: Feed, when: str) -> None:
    """Wait until there is a result for every record."""
    deadline = time.monotonic() + SECONDS
    while count_shown(out) < len(feed.records):
        if process.poll() is not None:
            raise AssertionError(f"the driver ended {when}: {process.communicate()[0]}")
        assert time.monotonic() < deadline, f"{count_shown(out)} of {len(feed.records)} {when}"
        time.sleep(0.1)
