"""Random kills of one job while its input keeps arriving: ten of one over logs and files, four of one over a streaming DataFrame.

`make soak kills=200` kills the first one more often.

Files arrive before each kill; after it, the job must show all of them before the next one. The
other records of the first one come at a rate, from a function of their position; after each kill it must show a hundred
more of these. Seed and order of the kills are in the output of a test that fails. In the end the sink equals a replay of
all input, or of the positions that were read.
"""

from __future__ import annotations

import json
import logging
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

from penstock.testing.drivers import is_alive
from tests.faults.drivers import CLUSTER, MIXED, SECONDS, Drivers
from tests.faults.jobs import flow
from tests.faults.processes import executors_below, kill, wait_for, workers_below

JOB = Path(__file__).parent / "jobs" / "totals.py"
KILLS = int(os.environ.get("PENSTOCK_SOAK_KILLS", "10"))
"""Of logs and files."""
KILLS_OF_STREAM = {"driver": 1, "executor": 1, "worker": 2}
KEYS = 40
RECORDS = 60
"""Of one file."""
RATE = 400
PER_EPOCH = 50
MORE = 2 * PER_EPOCH
"""Least number of records that are shown between two kills."""
RESTARTS = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "20",
    "restart-strategy.fixed-delay.delay": "100 ms",
}
"""Spark gives a micro-batch up if it loses the shuffle of a stage it has begun to read."""
SETTINGS = MIXED | CLUSTER | RESTARTS

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


@dataclass(slots=True)
class Shown:
    """The number of results that are visible. A file that is visible does not change.

    Attributes:
        out: Directory of the sink.
        first_key: Least key of what comes from files.
        rows: File to the number of results, and of those among them that come from files.
    """

    out: Path
    first_key: int
    rows: dict[Path, tuple[int, int]] = field(default_factory=dict)

    def counts(self) -> tuple[int, int]:
        """Return how many results are visible, and how many of them come from files."""
        for path in self.out.glob("*.parquet"):
            if path not in self.rows:
                keys = pq.read_table(path, columns=["key"])["key"].to_pylist()
                self.rows[path] = len(keys), sum(key >= self.first_key for key in keys)
        results, of_files = zip(*self.rows.values(), strict=True) if self.rows else ((0,), (0,))
        return sum(results), sum(of_files)


def shown(rows: Iterable[Mapping[str, int]], first_key: int = 0) -> Answer:
    """Return what is visible of files. Totals in between depend on the order within a micro-batch."""
    counts: Counter[tuple[int, int]] = Counter()
    last: dict[int, tuple[int, int]] = {}
    for row in rows:
        key = row["key"] - first_key
        if key >= 0:
            counts[key, row["count"]] += 1
            last[key] = max(last.get(key, (0, 0)), (row["count"], row["total"]))
    return counts, last


def rows_of(out: Path) -> list[Mapping[str, int]]:
    """Return all rows that are visible."""
    return [row for path in out.glob("*.parquet") for row in pq.read_table(path).to_pylist()]


def test_random_kills_of_a_loop_lose_and_repeat_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    random_numbers = chance()
    feed = fed(tmp_path / "data", random_numbers)
    settings = SETTINGS | {
        "execution.live.max-records-per-batch": str(PER_EPOCH),
    }
    arguments = (str(out), "0", str(RATE), str(feed.data))
    drivers = Drivers(
        Path(flow.__file__), arguments, tmp_path / "job", tmp_path / "markers", settings
    )
    results = Shown(out, flow.FILE_KEYS)

    def arrive() -> Callable[[], bool]:
        feed.write("live")
        before, of_files = results.counts()

        def are_shown() -> bool:
            now, of_files_now = results.counts()
            enough = now - of_files_now >= before - of_files + MORE
            return enough and of_files_now == len(feed.records)

        return are_shown

    survive(drivers, shares(KILLS), random_numbers, arrive)
    rows = rows_of(out)
    assert len(rows) > (MORE + RECORDS) * KILLS
    flow.assert_shown(rows)
    assert shown(rows, flow.FILE_KEYS) == feed.replayed()


def test_random_kills_of_a_stream_lose_and_repeat_nothing(tmp_path: Path) -> None:
    random_numbers = chance()
    feed = fed(tmp_path / "data", random_numbers)
    out = tmp_path / "out"
    arguments = (f"{feed.data}/history", f"{feed.data}/live", str(out))
    drivers = Drivers(JOB, arguments, tmp_path / "job", tmp_path / "markers", SETTINGS)

    results = Shown(out, 0)

    def arrive() -> Callable[[], bool]:
        feed.write("live")
        feed.write("live")
        return lambda: results.counts()[1] >= len(feed.records)

    survive(drivers, KILLS_OF_STREAM, random_numbers, arrive)
    assert shown(rows_of(out)) == feed.replayed()


def fed(data: Path, chance: random.Random) -> Feed:
    """Return a feed that has written history."""
    feed = Feed(data, chance)
    for _ in range(3):
        feed.write("history")
    (data / "live").mkdir()
    return feed


def shares(kills: int) -> dict[str, int]:
    """Return how often to kill what, if there are so many kills."""
    drivers, executors = kills // 4, kills * 5 // 16
    return {"driver": drivers, "executor": executors, "worker": kills - drivers - executors}


def chance() -> random.Random:
    """Return a generator with a new seed, and log the seed."""
    seed = random.SystemRandom().randrange(1 << 32)
    _logger.warning("seed %d", seed)
    return random.Random(seed)  # noqa: S311 - not a secret


def survive(
    drivers: Drivers,
    kills: Mapping[str, int],
    chance: random.Random,
    arrive: Callable[[], Callable[[], bool]],
) -> None:
    """Kill in random order, then end the job by Ctrl-C.

    Args:
        drivers: The job.
        kills: How often to kill what.
        chance: Chooses order, moments and processes.
        arrive: Called before each kill; returns whether as much is visible as must be before the next one.
    """
    order = [what for what, times in kills.items() for _ in range(times)]
    chance.shuffle(order)
    _logger.warning("%s", order)
    process = drivers.start()
    done: Counter[str] = Counter()
    try:
        for what in order:
            are_shown = arrive()
            process = accident(what, process, drivers, chance)
            done[what] += 1
            _logger.info("kill %d of %d: %s", done.total(), len(order), what)
            wait_until_shown(process, are_shown, f"after kill {done}")
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=SECONDS)
        assert process.returncode == 130, output
    finally:
        process.kill()
    assert done == Counter(kills)


def accident(
    what: str, process: subprocess.Popen[str], drivers: Drivers, chance: random.Random
) -> subprocess.Popen[str]:
    """Kill at a random moment; return the driver that goes on."""
    time.sleep(chance.uniform(0, 1.5))
    if what == "driver":
        kill_driver(process)
        return drivers.start()
    found = {"executor": executors_below, "worker": workers_below}[what]
    wait_for(
        lambda: bool(found(process.pid)) or process.poll() is not None,
        SECONDS,
        f"there is no {what} to kill",
    )
    if process.poll() is not None:
        raise AssertionError(f"the driver ended by itself: {process.communicate()[0]}")
    victim = chance.choice(found(process.pid))
    kill(victim)
    assert not is_alive(victim)
    return process


def kill_driver(process: subprocess.Popen[str]) -> None:
    """Kill a driver; its exit status is the proof."""
    process.send_signal(signal.SIGKILL)
    output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == -signal.SIGKILL, output


def wait_until_shown(
    process: subprocess.Popen[str], are_shown: Callable[[], bool], when: str
) -> None:
    """Wait until enough results are visible."""
    deadline = time.monotonic() + SECONDS
    while not are_shown():
        if process.poll() is not None:
            raise AssertionError(f"the driver ended {when}: {process.communicate()[0]}")
        assert time.monotonic() < deadline, f"too few results {when}"
        time.sleep(0.1)
