"""The snapshot of a log as the first part of a source: files in the job's directory, whose splits are the files.

    log          ┌─ snapshot part: what was captured when the job started      backlog
                 └─ the log from the positions on at which the snapshot was taken

It is captured once per job. What was captured is recorded, so that a restart reads it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, cast

from penstock.errors import SourceError
from penstock.graph.backlog_end import BacklogEnd, Cut, LogSourcePart, SourcePart
from penstock.graph.log_source import LogSource
from penstock.graph.log_values import LogBatch, LogSplit
from penstock.graph.source import Source

_END = BacklogEnd(is_snapshot=True)


@dataclass(frozen=True, slots=True)
class Captured:
    """A capture.

    Attributes:
        directory: Where the files are.
        files: Name and number of records of each file.
        tail: Where each split is read on, and where it ends.
    """

    directory: str
    files: tuple[tuple[str, int], ...]
    tail: tuple[Cut, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the form to record; it lacks the directory."""
        return {
            "files": [list(file) for file in self.files],
            "tail": [cut.to_json() for cut in self.tail],
        }

    @classmethod
    def from_json(cls, recorded: Mapping[str, Any], directory: Path) -> Captured:
        """Return what `to_json` recorded, whose files are in `directory`."""
        files = tuple((name, records) for name, records in recorded["files"])
        return cls(str(directory), files, tuple(Cut(*cut) for cut in recorded["tail"]))

    def check_files(self, described: str) -> None:
        """Refuse a snapshot whose files are gone.

        Raises:
            SourceError: A file is missing.
        """
        gone = [name for name, _ in self.files if not Path(self.directory, name).is_file()]
        if gone:
            raise SourceError(
                f"the snapshot of {described} is incomplete: {Path(self.directory, gone[0])} is missing",
                hint="Bring the file back, or start in a new checkpoint directory, which captures "
                "what is there.",
            )


@dataclass(frozen=True, slots=True)
class SnapshotPart(SourcePart, LogSource):
    """The snapshot of a log, one split per file, numbered records.

    Attributes:
        source: The log.
        captured: What was captured; None before.
    """

    source: LogSource
    end: BacklogEnd = _END
    is_backlog: bool = True
    decided: tuple[Cut, ...] | None = None
    captured: Captured | None = None

    kind: ClassVar[str] = "snapshot"
    is_dense: ClassVar[bool] = True

    @property
    def makes_records_anew(self) -> bool:  # type: ignore[override]
        """True if records are new every time."""
        return self.source.makes_records_anew

    def capture(self, directory: Path) -> Captured:
        """Let the log capture what is there.

        Raises:
            SourceError: The log failed.
        """
        taken = self.source.exact_take_snapshot(directory)
        files = () if taken is None else tuple(taken.files.items())
        positions = {} if taken is None else dict(taken.positions)
        found = self.source.exact_discover(positions)
        # A split that is not in the snapshot has none of its records there.
        begins = [positions.get(split.id, split.start or split.earliest) for split in found]
        ends = [split.head if self.source.is_bounded else None for split in found]
        tail = (
            Cut(begin, begin, end, split.id)
            for begin, end, split in zip(begins, ends, found, strict=True)
        )
        return Captured(str(directory), files, tuple(tail))

    def discover(self, known: Mapping[str, int]) -> Sequence[LogSplit]:
        """Return the files."""
        del known
        files = () if self.captured is None else self.captured.files
        return [LogSplit(name, 0, records) for name, records in files]

    def read(self, split: str, start: int, end: int) -> LogBatch:
        """Return records of a file."""
        assert self.captured is not None, "it is captured before it is read"
        return self.source.read_snapshot(Path(self.captured.directory, split), start, end)


def with_snapshot_part(source: Source) -> tuple[Source, ...]:
    """Return the snapshot and the tail of a log that takes a snapshot; any other source alone."""
    if not source.takes_snapshot:
        return (source,)
    log = cast("LogSource", source)
    return (SnapshotPart(log), LogSourcePart(log, _END, is_backlog=False))


def snapshot_part_of(parts: Sequence[Source]) -> tuple[int, SnapshotPart] | None:
    """Return the part of a source that is a snapshot, with its index; None if there is none."""
    found = enumerate(parts)
    return next(((at, part) for at, part in found if isinstance(part, SnapshotPart)), None)


def with_captured(parts: tuple[Source, ...], captured: Captured) -> tuple[Source, ...]:
    """Return the parts of a source with what was captured."""
    found = snapshot_part_of(parts)
    assert found is not None, "it has captured something"
    at, part = found
    snapshot = replace(part, captured=captured)
    tail = replace(cast("LogSourcePart", parts[at + 1]), decided=captured.tail)
    return (*parts[:at], snapshot, tail, *parts[at + 2 :])
