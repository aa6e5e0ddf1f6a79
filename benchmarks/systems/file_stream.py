"""A system that reads a feed as an endless stream of files, ours or a peer's.

It never stops between rounds: state, JVM and workers stay as a live job has them. What is measured
is the time from one commit to a later one:

    deliver 1 + M micro-batches -> commit 0 | commit 1 ... commit M
                                   lead-in  |<--- measured ------>|

The lead-in is there because the process was stopped while others took their turns: Spark ends
Python workers that were idle for a minute, and starting them is not what is measured. It also
keeps the time in which a query notices new files out of every system's figure.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.inputs.feed import CHECK, FILL, LIVE, Delivery, Feed
from benchmarks.model.program import Outputs

_ALIVE_SECONDS = 1.0
_CHECK_FLAG = "check"


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How many live micro-batches a system gets.

    Attributes:
        warm_up_batches: Before the first round.
        round_batches: Measured ones of a round; the lead-in comes on top.
    """

    warm_up_batches: int
    round_batches: int

    def to_json(self) -> dict[str, int]:
        """Return its attributes."""
        return asdict(self)

    def batches_after(self, rounds: int) -> int:
        """Return how many micro-batches were delivered after some rounds."""
        return self.warm_up_batches + rounds * (1 + self.round_batches)


@dataclass(frozen=True, slots=True)
class StreamSpecification:
    """What the process of such a system is told.

    Attributes:
        feed: See `Feed.to_json`.
        work: Empty directory of its own.
        parallelism: Cores and subtasks.
        rhythm: See `Rhythm.to_json`.
        options: Those of the `BenchSystem`.
        settings: `KEY=VALUE` of the command line; for our own systems.
        spawned: When the process was started, on the monotonic clock of the machine.
    """

    feed: dict[str, Any]
    work: str
    parallelism: int
    rhythm: dict[str, int]
    options: dict[str, str]
    settings: dict[str, str]
    spawned: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Return its attributes."""
        return asdict(self)


class Commits:
    """The commits of a query, reported by the thread that makes them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._at: list[tuple[float, int]] = []

    def add(self, records: int) -> None:
        """Report a committed micro-batch, now."""
        with self._changed:
            self._at.append((time.monotonic(), self.total + records))
            self._changed.notify_all()

    @property
    def total(self) -> int:
        """Records committed so far."""
        return self._at[-1][1] if self._at else 0

    def times_from(self, total: int, end: int, check_alive: Callable[[], None]) -> list[float]:
        """Wait until `end` records are committed; return the times of commits after `total`.

        Args:
            total: Records committed earlier.
            end: Records in all.
            check_alive: Raises if the query has failed; called about once a second.
        """
        with self._changed:
            while self.total < end:
                if not self._changed.wait(_ALIVE_SECONDS):
                    check_alive()
            return [at for at, committed in self._at if committed > total]


class FileStreamSystem(ABC):
    """Answers the protocol of `benchmarks.systems.serve` over a query that is always running.

    Attributes:
        specification: What it was told.
        work: Its directory.
        commits: Where a subclass reports every committed micro-batch.
        delivery: `delivery.pattern` is what the query reads.
        files_per_batch: Files the query must take for a micro-batch.
    """

    def __init__(self, values: dict[str, Any]) -> None:
        self.specification = StreamSpecification(**values)
        self.work = Path(self.specification.work)
        self._rhythm = Rhythm(**self.specification.rhythm)
        self._feed = Feed.from_json(self.specification.feed)
        self.files_per_batch = self._feed.files
        self.delivery = Delivery(self._feed, self.work)
        self.commits = Commits()
        self.flag = self.work / _CHECK_FLAG
        self._next = 0

    @abstractmethod
    def start(self) -> None:
        """Start the query on `delivery.pattern` and return."""

    @abstractmethod
    def check_alive(self) -> None:
        """Raise what ended the query, if it has ended."""

    @abstractmethod
    def start_check(self) -> None:
        """From now on keep outputs instead of dropping them; may restart the query."""

    @abstractmethod
    def outputs(self) -> Outputs:
        """Return count and digest of the outputs since `start_check`."""

    @abstractmethod
    def close(self) -> None:
        """Stop the query."""

    @property
    @abstractmethod
    def checkpoint(self) -> Path:
        """Where the query keeps its progress and state."""

    def warm_up(self) -> dict[str, Any]:
        """Start cold, fill the state with all keys, and run some live micro-batches."""
        started = time.monotonic()
        numbers = range(self._feed.sweep_batches)
        records = self.delivery.deliver(FILL, numbers)
        self.start()
        filled = self.commits.times_from(0, records, self.check_alive)
        self._run(self._rhythm.warm_up_batches)
        return {
            "cold_seconds": filled[0] - self.specification.spawned,
            "fill_records": records,
            "fill_seconds": filled[-1] - started,
        }

    def round(self) -> dict[str, Any]:
        """Run a lead-in and the measured micro-batches."""
        delivered = time.monotonic()
        at = self._run(1 + self._rhythm.round_batches)
        return {
            "records": self._rhythm.round_batches * self._feed.micro_batch,
            "seconds": at[-1] - at[0],
            "latencies": [after - before for before, after in pairwise(at)],
            "lead_in_seconds": at[0] - delivered,
            "checkpoint_bytes": _size_bytes(self.checkpoint),
        }

    def check(self) -> dict[str, Any]:
        """Touch every key once more and return the digest of the rows that come out."""
        self.start_check()
        before = self.commits.total
        records = self.delivery.deliver(CHECK, range(self._feed.sweep_batches))
        self.commits.times_from(before, before + records, self.check_alive)
        return asdict(self.outputs())

    def _run(self, count: int) -> list[float]:
        """Deliver the next live micro-batches and return the times of their commits."""
        numbers: Sequence[int] = range(self._next, self._next + count)
        self._next += count
        before = self.commits.total
        records = self.delivery.deliver(LIVE, numbers)
        at = self.commits.times_from(before, before + records, self.check_alive)
        if len(at) != count:
            raise RuntimeError(
                f"{records} records were committed in {len(at)} micro-batches instead of {count}"
            )
        return at


def _size_bytes(directory: Path) -> int:
    """Return the bytes of all files below; a file may vanish while they are counted."""
    total = 0
    for path in directory.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:
            continue
    return total
