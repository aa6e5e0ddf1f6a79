"""A system whose time from event to sink is measured, ours or a peer's.

Events arise on the clock: the event `e` arises in the millisecond `e // RATE` since the epoch, so there
are `RATE` in a millisecond, and whoever holds one knows when it arose. The query never ends. A round
is a stretch of the clock:

    resumed | catching up | events that are measured | all of them are out
             SETTLE_SECONDS    records / RATE ms

Catching up is what arose while the process was stopped because others took their turns.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.model.digest import as_text, digest_of
from benchmarks.model.measurement import LATENCY
from benchmarks.model.program import Outputs
from benchmarks.model.shape import Shape
from benchmarks.systems.bounded import BoundedSpecification

Events = npt.NDArray[np.int64]

RATE = "events-per-ms"
"""Option of the program: events that arise in a millisecond."""
LEVELS = "levels"
"""Option of the program: keyed operators between source and sink, each behind an exchange."""
SETTLE_SECONDS = 5.0
WARM_UP_SECONDS = 15.0
_POLL_SECONDS = 0.05
_QUANTILES = {"p50": 0.5, "p99": 0.99}


class LatencySystem(ABC):
    """Answers the protocol of `benchmarks.systems.serve`.

    Attributes:
        specification: What it was told.
        shape: Its `records` are those of a round.
        work: Its directory.
        rate: Events that arise in a millisecond.
    """

    def __init__(self, values: dict[str, Any]) -> None:
        self.specification = BoundedSpecification(**values)
        self.shape = Shape(**self.specification.shape)
        self.work = Path(self.specification.work)
        self.rate = self.shape.parameters[RATE]
        self._last: Events = np.empty(0, dtype=np.int64)

    @abstractmethod
    def start(self) -> None:
        """Start the query and return."""

    @abstractmethod
    def check_alive(self) -> None:
        """Raise what ended the query, if it has ended."""

    @abstractmethod
    def arrivals(self) -> Iterable[tuple[int, Events]]:
        """Return all outputs so far: when they were committed, in epoch milliseconds, and which."""

    @abstractmethod
    def close(self) -> None:
        """Stop the query."""

    def warm_up(self) -> dict[str, Any]:
        """Start cold, wait for the first output, and go on for a while."""
        self.start()
        while not list(self.arrivals()):
            self.check_alive()
            time.sleep(_POLL_SECONDS)
        cold = time.monotonic() - self.specification.spawned
        time.sleep(WARM_UP_SECONDS)
        return {"cold_seconds": cold}

    def round(self) -> dict[str, Any]:
        """Measure the events of a stretch of the clock."""
        return self.measure(now_ms() + round(SETTLE_SECONDS * 1000))

    def measure(self, begin_ms: int) -> dict[str, Any]:
        """Return the answer to a round: latencies of the events that arise from `begin_ms` on."""
        begin = begin_ms * self.rate
        end = begin + self.shape.records
        end_ms = -(-end // self.rate)
        measured = np.empty((0, 2), dtype=np.int64)
        while len(measured) < end - begin:
            self.check_alive()
            left_ms = max(end_ms - now_ms(), 0)
            time.sleep(left_ms / 1000 + _POLL_SECONDS)
            measured = self._between(begin, end)
        latencies = measured[:, 1] - measured[:, 0] // self.rate
        self._last = measured[:, 0] - begin
        return {
            "records": len(measured),
            "seconds": (end_ms - begin_ms) / 1000,
            LATENCY: {name: float(np.quantile(latencies, q)) for name, q in _QUANTILES.items()},
            "commits": len(np.unique(measured[:, 1])),
        }

    def check(self) -> dict[str, Any]:
        """Return the digest of the events of the last round, counted from its begin."""
        return asdict(Outputs(len(self._last), as_text(digest_of(self._last))))

    def _between(self, begin: int, end: int) -> npt.NDArray[np.int64]:
        found = []
        for committed, events in self.arrivals():
            inside = events[(events >= begin) & (events < end)]
            found.append(np.stack([inside, np.full(len(inside), committed)], axis=1))
        return np.concatenate(found) if found else np.empty((0, 2), dtype=np.int64)


def expected(shape: Shape) -> Outputs:
    """Return the outputs of a round: every event of it once."""
    events = np.arange(shape.records, dtype=np.int64)
    return Outputs(len(events), as_text(digest_of(events)))


def now_ms() -> int:
    """Return the time in epoch milliseconds."""
    return time.time_ns() // 1_000_000
