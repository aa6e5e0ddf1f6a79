"""The positions stream: the ranges of split sources and the control events of each micro-batch.

A Python data source with admission control. Its offset is, as JSON,

    {"control": 2, "tick": 0, "3": [100, 250], ...}

the number of delivered control events, the last tick, and per source the next position of every
split. A tick is an instant (epoch milliseconds) at which every subtask must be called. Spark writes
the offset of a micro-batch to its checkpoint before running it, so a repeated micro-batch has the
same ranges and events. The driver writes control events into files, because this reader runs in
another process.

The end of a source is sent in the micro-batch with its last records, which saves a micro-batch. If a
source has no records left when the run begins, the driver sends its end (`bounded_inputs`).
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from penstock.spark.failures.translation import carrying
from penstock.spark.sources.position_rows import POSITIONS_DDL
from penstock.spark.sources.split_advance import Budgets, SplitReading, advance, is_at_end
from penstock.wire.atomic_file import read_verified, write_verified
from penstock.wire.fence import Fence

_TICK = "tick.json"


class ControlLog:
    """Numbered control events for every subtask."""

    def __init__(self, directory: Path, fence: Callable[[], None] | None = None) -> None:
        """Open a log.

        Args:
            directory: Directory of the log.
            fence: Called before each write; None for readers.
        """
        self._directory = directory
        self._fence = fence

    def append(self, event: str, source: int = -1, ends: Sequence[int] = ()) -> None:
        """Add an event durably, unless the log contains it.

        Args:
            event: See `POSITIONS_DDL`.
            source: The source of the event `end`.
            ends: Sources that end in the same micro-batch, before the event.
        """
        payload: dict[str, Any] = {"event": event, "source": source}
        if ends:
            payload["ends"] = list(ends)
        if payload not in self.events():
            write_verified(self._directory / f"{self.count():06d}.json", payload, self._fence)

    def count(self) -> int:
        """Return the number of events."""
        return sum(1 for _ in self._directory.glob("[0-9]*.json"))

    def set_tick(self, instant_ms: int) -> None:
        """Set the tick, so that every subtask is called, also without records."""
        write_verified(self._directory / _TICK, {"tick": instant_ms}, self._fence)

    def tick(self) -> int:
        """Return the last tick, 0 if there was none."""
        path = self._directory / _TICK
        return int(read_verified(path)["tick"]) if path.exists() else 0

    def events(self) -> list[dict[str, Any]]:
        """Return all events, in order."""
        return [read_verified(path) for path in sorted(self._directory.glob("[0-9]*.json"))]


@dataclass
class PositionRows(InputPartition):
    """A few rows of the stream."""

    rows: list[tuple[str, int, int, int, int, bool]]


def _reading(described: dict[str, Any]) -> SplitReading:
    return SplitReading(
        described["source"],
        tuple((start, stop) for start, stop in described["splits"]),
        described["rate"],
        described.get("ends", False),
        described.get("tasks"),
    )


class PositionsReader(DataSourceStreamReader):
    """Advances positions, within limits per micro-batch and per second."""

    def __init__(self, options: dict[str, str]) -> None:
        self._control = ControlLog(Path(options["control"]))
        self._fence = Fence.of_text(options["fence"]) if "fence" in options else None
        self._readings = [_reading(each) for each in json.loads(options["sources"])]
        factor = int(options.get("catch_up_factor", "1"))
        self._budgets = Budgets(int(options["max_records"]), factor)
        self._first_records = int(options.get("first_records", "0"))
        self._last_call = time.monotonic()

    @carrying()
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return the offset before all events and positions."""
        begin: dict[str, Any] = {"control": 0, "tick": 0}
        for reading in self._readings:
            begin[str(reading.source)] = [start for start, _ in reading.splits]
        return begin

    @carrying()
    def latestOffset(self, start: dict[str, Any], limit: Any = None) -> dict[str, Any]:  # noqa: N802
        """Return the offset at the end of the next micro-batch.

        Spark's JVM calls this before it records the offset. So a JVM that has outlived its driver, or
        whose driver was replaced, starts no further micro-batch.

        Raises:
            WorkerFailure: Another driver has taken over; it contains a `JobFencedError`.
        """
        if self._fence is not None:
            self._fence()
        now = time.monotonic()
        elapsed, self._last_call = now - self._last_call, now
        end: dict[str, Any] = {"control": self._control.count(), "tick": self._control.tick()}
        for reading in self._readings:
            name = str(reading.source)
            budget = self._budget(reading, start, elapsed)
            end[name] = advance(start[name], reading.splits, budget)
            self._budgets.spend(reading, sum(end[name]) - sum(start[name]))
        return end

    @carrying()
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return partitions with the splits that advanced, and one for control events.

        There is one partition per split. If a source has a number of tasks, it has no more partitions,
        and several such sources share them.
        """
        tasks: dict[int, list[tuple[str, int, int, int, int, bool]]] = {}
        found = []
        ended: list[tuple[str, int]] = []
        for reading in self._readings:
            name = str(reading.source)
            if reading.ends and start[name] != end[name] and is_at_end(end[name], reading.splits):
                ended.append(("end", reading.source))
            for split, (first, last) in enumerate(zip(start[name], end[name], strict=True)):
                stop = reading.splits[split][1]
                if last > first:
                    row = ("range", reading.source, split, first, last, last == stop)
                    if reading.tasks is None:
                        found.append(PositionRows([row]))
                    else:
                        tasks.setdefault(split % reading.tasks, []).append(row)
        found += [PositionRows(tasks[task]) for task in sorted(tasks)]
        events = self._control.events()[start["control"] : end["control"]]
        rows = ended + [("end", source) for e in events for source in e.get("ends", ())]
        rows += [(e["event"], e["source"]) for e in events]
        if not events and end["tick"] > start["tick"]:
            rows.append(("tick", -1))
        if rows:
            found.append(PositionRows([(*row, 0, 0, 0, False) for row in rows]))
        return found

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a partition."""
        assert isinstance(partition, PositionRows)
        yield from partition.rows

    def stop(self) -> None:
        """End the process if the JVM has closed the connection, as it does when a query ends.

        Spark's runner takes that for a failure, and would print a traceback after a successful job.
        """
        if isinstance(sys.exception(), EOFError | ConnectionError):
            os._exit(0)

    def _budget(self, reading: SplitReading, start: dict[str, Any], elapsed: float) -> int:
        if self._first_records and not start["control"]:
            return self._first_records  # no micro-batch has run yet: state must still be decoded
        return self._budgets.of(reading, start[str(reading.source)], elapsed)


class PositionsSource(DataSource):
    """Registers the stream with Spark."""

    @classmethod
    def name(cls) -> str:
        """Return the format name."""
        return "penstock-positions"

    def schema(self) -> str:
        """Return the schema."""
        return POSITIONS_DDL

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802
        """Return the reader."""
        return PositionsReader(dict(self.options))
