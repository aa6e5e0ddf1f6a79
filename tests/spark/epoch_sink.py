"""A sink that says what came in which micro-batch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from penstock.datastream.connectors import Committer, Sink, SinkWriter


@dataclass(frozen=True)
class EpochSink(Sink):
    """Writes a JSON file per micro-batch that has records."""

    folder: Path

    kind: ClassVar[str] = "epochs"

    def create_writer(self, context: Any) -> SinkWriter:
        return _Collected()

    def create_committer(self, context: Any) -> Committer:
        return _Files(self.folder)

    def epochs(self) -> list[list[Any]]:
        """Return the records of each micro-batch, in order of micro-batches."""
        found = [json.loads(path.read_text(encoding="utf-8")) for path in self.folder.iterdir()]
        return [rows for _, rows in sorted(found)]


class _Collected(SinkWriter):
    def __init__(self) -> None:
        self._rows: list[Any] = []

    def write(self, values: list[Any]) -> None:
        self._rows += values

    def prepare_commit(self) -> list[Any]:
        return self._rows

    def abort(self) -> None:
        self._rows = []


class _Files(Committer):
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def recover(self) -> None:
        self._folder.mkdir(exist_ok=True)

    def commit(self, epoch: str, committables: Sequence[Any]) -> None:
        path = self._folder / f"{epoch}.json"
        if committables and not path.exists():
            number = len(list(self._folder.iterdir()))
            path.write_text(json.dumps([number, list(committables)]), encoding="utf-8")
