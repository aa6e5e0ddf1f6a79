"""A system whose time from event to sink is measured, ours or a peer's.

Events arise on the clock: the event `t` arises in the millisecond `t` since the epoch, so there are
1,000 a second, and whoever holds one knows when it arose. The query never ends. A round is a
stretch of the clock:

    resumed | catching up | events that are measured | all of them are out
             SETTLE_SECONDS    records / 1000 seconds

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

Times = npt.NDArray[np.int64]

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
    """

    def __init__(self, values: dict[str, Any]) -> None:
        self.specification = BoundedSpecification(**values)
        self.shape = Shape(**self.specification.shape)
        self.work = Path(self.specification.work)
        self._last: Times = np.empty(0, dtype=np.int64)

    @abstractmethod
    def start(self) -> None:
        """Start the query and return."""

    @abstractmethod
    def check_alive(self) -> None:
        """Raise what ended the query, if it has ended."""

    @abstractmethod
    def arrivals(self) -> Iterable[tuple[int, Times]]:
        """Return all outputs so far: when they were committed, and when their events arose.

        Both in epoch milliseconds, one entry per commit.
        """

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
        begin = _now() + round(SETTLE_SECONDS * 1000)
        end = begin + self.shape.records
        measured = np.empty((0, 2), dtype=np.int64)
        while len(measured) < end - begin:
            self.check_alive()
            time.sleep(_POLL_SECONDS if _now() > end else (end - _now()) / 1000 + _POLL_SECONDS)
            measured = self._between(begin, end)
        latencies = measured[:, 1] - measured[:, 0]
        self._last = measured[:, 0] - begin
        return {
            "records": len(measured),
            "seconds": (end - begin) / 1000,
            LATENCY: {name: float(np.quantile(latencies, q)) for name, q in _QUANTILES.items()},
            "commits": len(np.unique(measured[:, 1])),
        }

    def check(self) -> dict[str, Any]:
        """Return the digest of the events of the last round, counted from its begin."""
        return asdict(Outputs(len(self._last), as_text(digest_of(self._last))))

    def _between(self, begin: int, end: int) -> npt.NDArray[np.int64]:
        found = []
        for committed, arose in self.arrivals():
            inside = arose[(arose >= begin) & (arose < end)]
            found.append(np.stack([inside, np.full(len(inside), committed)], axis=1))
        return np.concatenate(found) if found else np.empty((0, 2), dtype=np.int64)


def expected(shape: Shape) -> Outputs:
    """Return the outputs of a round: every event of it once."""
    events = np.arange(shape.records, dtype=np.int64)
    return Outputs(len(events), as_text(digest_of(events)))


def _now() -> int:
    return time.time_ns() // 1_000_000
