"""The kit for log sources passes those that keep their promises, and names what others break."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock.datastream.connectors import LogBatch, LogSplit
from penstock.errors import ArgumentError, SourceError, UserCodeError
from penstock.testing import check_log_source
from tests.log_world import AppendedLog, WorldLog

CONTENT = {
    "a": {at: (f"k{at % 3}", at, at) for at in (0, 1, 4, 5, 6, 40, 41, 99)},
    "b": {at * 3: ("x", at, at) for at in range(200)},
    "none": {},
}


@pytest.mark.parametrize("most", [1, 3, 1000])
def test_a_log_that_keeps_its_promises_passes(most: int) -> None:
    check_log_source(WorldLog.of(CONTENT, most=most))
    check_log_source(WorldLog.of(CONTENT, most=most, stamped=False), most_records=7, seed=most)


def test_a_log_of_files_passes(tmp_path: Path) -> None:
    source = AppendedLog(str(tmp_path))
    source.add("a", *([f"k{n % 3}", n] for n in range(50)))
    source.add("b", ["x", 1])
    check_log_source(source)


class Unlike(WorldLog):
    """Breaks one promise."""


def _other(self: Any, split: str, start: int, end: int) -> LogBatch:
    batch = WorldLog.read(self, split, start, end)
    return LogBatch([(*r, object()) for r in batch.records], batch.next_position)


def _ahead(self: Any, split: str, start: int, end: int) -> LogBatch:
    """Also gives the record at the end of the range, as an inclusive end would."""
    batch = WorldLog.read(self, split, start, min(end + 1, self.world.head(split)))
    return LogBatch(batch.records, min(batch.next_position, end), batch.timestamps)


def _forgetful(self: Any, split: str, start: int, end: int) -> LogBatch:
    """Begins behind the first record if the range begins between two records."""
    batch = WorldLog.read(self, split, start, end)
    if start in self.world.splits[split] or start == 0:
        return batch
    return LogBatch(batch.records[1:], batch.next_position, (batch.timestamps or ())[1:])


def _falling(self: Any, known: Any) -> Any:
    """Has two positions less whenever it is told what is known."""
    found = WorldLog.discover(self, known)
    return [LogSplit(s.id, 0, max(s.head - 2, known[s.id]) if known else s.head) for s in found]


def _consuming(self: Any, positions: Any) -> None:
    """Removes what was confirmed, and a record more."""
    for split, position in positions.items():
        for at in sorted(at for at in self.world.splits[split] if at >= position)[:1]:
            del self.world.splits[split][at]


def _timestamped_late(self: Any, split: str, timestamp_ms: int, start: int, end: int) -> int:
    return end


BROKEN: list[tuple[dict[str, Callable[..., Any]], str]] = [
    ({"read": _other}, "gave other records for positions"),
    ({"read": _ahead}, "gave"),
    ({"read": _forgetful}, "cut at"),
    ({"discover": _falling}, "head"),
    ({"confirm": _consuming}, "read after confirm()"),
    ({"position_at": _timestamped_late}, "which is not that of the first record"),
    ({"cost": lambda *_: -1}, "cost()"),
]


@pytest.mark.parametrize(("methods", "problem"), BROKEN, ids=[next(iter(m)) for m, _ in BROKEN])
def test_a_broken_promise_is_named(methods: dict[str, Any], problem: str) -> None:
    made = WorldLog.of(CONTENT)
    source = type("Broken", (WorldLog,), methods)(made.world_name)
    with pytest.raises(SourceError, match="world") as error:
        check_log_source(source)
    assert problem in error.value.problem
    assert error.value.hint


@dataclass(frozen=True)
class Locked(WorldLog):
    lock: Any = None


def test_a_log_that_cannot_be_shipped_is_refused() -> None:
    made = Locked(WorldLog.of(CONTENT).world_name, lock=threading.Lock())
    with pytest.raises(UserCodeError, match="world cannot be shipped to the workers"):
        check_log_source(made)


def test_a_log_without_records_proves_nothing() -> None:
    with pytest.raises(SourceError, match="has no records to check, in 1 splits"):
        check_log_source(WorldLog.of({"a": {}}))
    with pytest.raises(ArgumentError, match="is no LogSource"):
        check_log_source("log")  # type: ignore[arg-type]
