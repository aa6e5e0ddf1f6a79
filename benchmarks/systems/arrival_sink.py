"""A sink that notes when events are committed. A row is (key, event, count).

A commit appends a line to a file: `{"epoch": "0-17", "at": 1700000000000, "events": [...]}`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from benchmarks.systems.latency_system import Events
from penstock.datastream.connectors import Committer, Sink, SinkContext, SinkWriter


@dataclass(frozen=True, slots=True)
class ArrivalSink(Sink):
    """Notes arrivals in `file`."""

    kind: ClassVar[str] = "arrivals"
    file: str

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Return a writer that keeps events."""
        return _Writer()

    def create_committer(self, context: SinkContext) -> Committer:
        """Return a committer that appends to the file."""
        return _Committer(Path(self.file))


def read_arrivals(file: Path) -> Iterator[tuple[int, Events]]:
    """Return what was noted; of an epoch that was committed twice the first time."""
    seen = set()
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    for noted in map(json.loads, lines):
        if noted["epoch"] not in seen:
            seen.add(noted["epoch"])
            yield noted["at"], np.array(noted["events"], dtype=np.int64)


class _Writer(SinkWriter):
    def __init__(self) -> None:
        self._events: list[int] = []

    def write(self, values: list[Any]) -> None:
        self._events += [event for _, event, _ in values]

    def prepare_commit(self) -> list[Any]:
        return self._events

    def abort(self) -> None:
        self._events = []


class _Committer(Committer):
    def __init__(self, file: Path) -> None:
        self._file = file

    def recover(self) -> None:
        """Nothing is staged, so nothing is left over."""

    def commit(self, epoch: str, committables: Sequence[Any]) -> None:
        at = time.time_ns() // 1_000_000
        if committables:
            with self._file.open("a", encoding="utf-8") as file:
                noted = {"epoch": epoch, "at": at, "events": list(committables)}
                file.write(f"{json.dumps(noted)}\n")
