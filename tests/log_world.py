"""Logs for tests: one in memory whose world a test changes, and one of appended files of JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from penstock.common import TypeInformation, Types
from penstock.datastream.connectors import LogBatch, LogSnapshot, LogSource, LogSplit


@dataclass
class World:
    """What a log has: the test changes it, and every copy of the log sees that.

    Attributes:
        splits: Id of a split to its records by position.
        heads: Id of a split to its head, where that is not behind the last record.
        earliest: Id of a split to its earliest position, where that is not 0.
        script: What happens before each call of `discover`, one after the other.
        known: What `discover` was told.
        reads: Ranges that were read.
        confirmed: What `confirm` was told.
    """

    splits: dict[str, dict[int, Any]]
    heads: dict[str, int] = field(default_factory=dict)
    earliest: dict[str, int] = field(default_factory=dict)
    script: list[Callable[[World], None]] = field(default_factory=list)
    known: list[dict[str, int]] = field(default_factory=list)
    reads: list[tuple[str, int, int]] = field(default_factory=list)
    confirmed: list[dict[str, int]] = field(default_factory=list)

    def head(self, split: str) -> int:
        """Return the head of a split."""
        return self.heads.get(split, max(self.splits[split], default=-1) + 1)


WORLDS: dict[str, World] = {}


@dataclass(frozen=True)
class WorldLog(LogSource):
    """A log of a world; `most` records a read, timestamps if records are (key, time, …) tuples."""

    world_name: str
    bounded: bool = False
    most: int = 3
    stamped: bool = True
    records_per_second: int | None = None

    kind: ClassVar[str] = "world"

    @classmethod
    def of(cls, splits: Mapping[str, Mapping[int, Any]], **how: Any) -> WorldLog:
        """Return a log of a new world."""
        name = f"world-{len(WORLDS)}"
        WORLDS[name] = World({split: dict(records) for split, records in splits.items()})
        return cls(name, **how)

    @property
    def world(self) -> World:
        """The world."""
        return WORLDS[self.world_name]

    @property
    def is_bounded(self) -> bool:
        return self.bounded

    def get_produced_type(self) -> TypeInformation:
        return Types.PICKLED_BYTE_ARRAY()

    def discover(self, known: Mapping[str, int]) -> Sequence[LogSplit]:
        world = self.world
        world.known.append(dict(known))
        if world.script:
            world.script.pop(0)(world)
        return [
            LogSplit(split, world.earliest.get(split, 0), world.head(split))
            for split in world.splits
        ]

    def read(self, split: str, start: int, end: int) -> LogBatch:
        self.world.reads.append((split, start, end))
        records = self.world.splits[split]
        positions = sorted(at for at in records if start <= at < end)
        taken = positions[: self.most]
        following = end if len(taken) == len(positions) else taken[-1] + 1
        values = [records[at] for at in taken]
        times = [value[1] for value in values] if self.stamped else None
        return LogBatch(values, following, times)

    def confirm(self, positions: Mapping[str, int]) -> None:
        self.world.confirmed.append(dict(positions))


@dataclass(frozen=True)
class AppendedLog(LogSource):
    """Files of JSON lines in a directory: a split is a file, a position is a byte.

    `NAME.earliest` beside `NAME.log` has its earliest position, `confirmed.json` what was confirmed.
    """

    directory: str
    bounded: bool = False
    confirm_fails: bool = False

    kind: ClassVar[str] = "appended"

    @property
    def is_bounded(self) -> bool:
        return self.bounded

    def get_produced_type(self) -> TypeInformation:
        return Types.PICKLED_BYTE_ARRAY()

    def discover(self, known: Mapping[str, int]) -> Sequence[LogSplit]:
        found = []
        for path in sorted(Path(self.directory).glob("*.log")):
            removed = path.with_suffix(".earliest")
            earliest = int(removed.read_text()) if removed.exists() else 0
            found.append(LogSplit(path.stem, earliest, path.read_bytes().rfind(b"\n") + 1))
        return found

    def read(self, split: str, start: int, end: int) -> LogBatch:
        with (Path(self.directory) / f"{split}.log").open("rb") as file:
            file.seek(max(start - 1, 0))
            if start:
                file.readline()  # what is left of the line before
            values: list[Any] = []
            at = file.tell()
            while at < end and len(values) < 500:
                line = file.readline()
                values.append(json.loads(line))
                at += len(line)
        return LogBatch([tuple(value) for value in values], min(at, end))

    def confirm(self, positions: Mapping[str, int]) -> None:
        if self.confirm_fails:
            raise ConnectionError("nobody listens")
        written = Path(self.directory, "confirmed.json.new")
        written.write_text(json.dumps(positions))
        written.replace(Path(self.directory, "confirmed.json"))

    def add(self, split: str, *records: Any) -> None:
        """Append records to a split."""
        with (Path(self.directory) / f"{split}.log").open("a") as file:
            file.write("".join(json.dumps(record) + "\n" for record in records))

    def confirmed(self) -> dict[str, int]:
        """Return what was confirmed last."""
        path = Path(self.directory, "confirmed.json")
        return json.loads(path.read_text()) if path.exists() else {}


@dataclass(frozen=True)
class NumberedLog(AppendedLog):
    """An `AppendedLog` whose positions are numbers of lines, so that a batch of n records has n positions."""

    kind: ClassVar[str] = "numbered"

    def discover(self, known: Mapping[str, int]) -> Sequence[LogSplit]:
        files = sorted(Path(self.directory).glob("*.log"))
        return [LogSplit(path.stem, 0, path.read_bytes().count(b"\n")) for path in files]

    def read(self, split: str, start: int, end: int) -> LogBatch:
        with (Path(self.directory) / f"{split}.log").open("rb") as lines:
            return LogBatch([tuple(json.loads(line)) for line in islice(lines, start, end)], end)


@dataclass(frozen=True)
class CapturedLog(AppendedLog):
    """An `AppendedLog` that begins with a snapshot of the lines there are, a file per split.

    `captures` in the directory has one line per call of `snapshot`.
    """

    kind: ClassVar[str] = "captured"

    def snapshot(self, directory: Path) -> LogSnapshot:
        with Path(self.directory, "captures").open("a") as file:
            file.write(f"{sorted(path.name for path in directory.iterdir())}\n")
        for left_over in directory.iterdir():
            left_over.unlink()
        files, positions = {}, {}
        for split in self.discover({}):
            lines = (Path(self.directory) / f"{split.id}.log").read_bytes()[: split.head]
            (directory / f"{split.id}.lines").write_bytes(lines)
            files[f"{split.id}.lines"] = lines.count(b"\n")
            positions[split.id] = split.head
        return LogSnapshot(files, positions)

    def read_snapshot(self, file: Path, start: int, end: int) -> LogBatch:
        with file.open("rb") as lines:
            wanted = [*islice(lines, start, min(end, start + 500))]
        return LogBatch([tuple(json.loads(line)) for line in wanted], start + len(wanted))

    def captures(self) -> list[str]:
        """Return what was in the directory at each call of `snapshot`."""
        path = Path(self.directory, "captures")
        return path.read_text().splitlines() if path.exists() else []
