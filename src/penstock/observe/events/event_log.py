"""Writes the events of a job to its checkpoint directory.

A thread appends them (see `delivery`), so an epoch never waits for a file. While they cannot be written, on a disk
that is full, the job goes on, and they are written when there is room. The files have a bound: when the latest one is full,
what is before is thinned to half of its details, again and again, until it fits; milestones are thinned when
nothing else is left. The last event of each class stays, so the log keeps the begin of the job over any number of restarts.
"""

from __future__ import annotations

import logging
import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from penstock.errors import JobFencedError
from penstock.failpoint import failpoint
from penstock.filesystem.stored_path import JobPath, StoredPath
from penstock.observe.events.delivery import (
    END_SECONDS,
    FIRST_PAUSE_SECONDS,
    FLUSH_SECONDS,
    Delivery,
    DeliveryOver,
)
from penstock.observe.events.event_json import from_line, to_line
from penstock.observe.events.job_events import EVENTS, JobEvent, RunFinished, RunStarted
from penstock.observe.events.listeners import JobListener
from penstock.wire.job_files import byte_count

DIRECTORY = "events"
"""Name of the directory in a checkpoint directory."""

LATEST = "events.jsonl"
EARLIER = "earlier.jsonl"

_PRIVATE_DIRECTORY, _PRIVATE_FILE = 0o700, 0o600


class EventFiles:
    """The files of one job. One process writes them; any may read."""

    def __init__(self, directory: Path) -> None:
        """Prepare; nothing is created."""
        self._directory = directory / DIRECTORY

    @property
    def latest_bytes(self) -> int:
        """Size of the file that is appended to, 0 if there is none."""
        try:
            return (self._directory / LATEST).stat().st_size
        except FileNotFoundError:
            return 0

    def append(self, lines: str) -> None:
        """Append whole lines, all or none. They are written at once, and not synced: events are no state."""
        self._directory.mkdir(_PRIVATE_DIRECTORY, exist_ok=True)
        path = self._directory / LATEST
        with open(path, "ab", buffering=0, opener=_private) as file:
            size = file.seek(0, os.SEEK_END)
            left = memoryview((("\n" if self._is_torn(path) else "") + lines).encode())
            try:
                failpoint("events.append")
                while left:
                    left = left[file.write(left) :]
            except OSError:
                file.truncate(size)  # or they would be there twice, once they can be written
                raise

    def rotate(self, earlier: str) -> None:
        """Replace the earlier lines, which then contain the latest ones too.

        In between, and for good if the driver is killed there, the latest lines are in both files: `lines` has each once.
        """
        temporary = self._directory / f".{EARLIER}.tmp"
        try:
            with open(temporary, "wb", opener=_private) as file:
                failpoint("events.rotate")
                file.write(earlier.encode())
            temporary.replace(self._directory / EARLIER)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        (self._directory / LATEST).unlink(missing_ok=True)

    def stamp(self) -> tuple[tuple[object, ...], ...]:
        """Return a value that changes with the files."""
        stamps: list[tuple[object, ...]] = []
        for name in (EARLIER, LATEST):
            try:
                stat = (self._directory / name).stat()
            except (FileNotFoundError, NotADirectoryError):
                continue
            stamps.append((stat.st_ino, stat.st_size, stat.st_mtime_ns))
        return tuple(stamps)

    def lines(self) -> Iterator[str]:
        """Yield all lines, the earliest first, each once."""
        earlier, latest = self._read()
        if earlier and earlier[-1] in latest:  # a rotation that did not get to its end
            latest = latest[latest.index(earlier[-1]) + 1 :]
        yield from earlier
        yield from latest

    def _read(self) -> tuple[list[str], list[str]]:
        """Return the lines of both files at one moment: a rotation in between would hide some."""
        while True:
            before = self._inode(EARLIER)
            earlier, latest = self._lines_of(EARLIER), self._lines_of(LATEST)
            if self._inode(EARLIER) == before:
                return earlier, latest

    def _inode(self, name: str) -> tuple[int, int] | None:
        try:
            stat = (self._directory / name).stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return stat.st_ino, stat.st_mtime_ns

    def _lines_of(self, name: str) -> list[str]:
        try:
            data = (self._directory / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return []
        # Not `splitlines`, which ends a line at U+2028 too, as it may stand in a record.
        return [f"{line}\n" for line in data.decode("utf-8", "replace").split("\n") if line]

    def events(self) -> Iterator[JobEvent]:
        """Yield all events, the earliest first; lines that are torn or of another version are skipped."""
        for line in self.lines():
            event = from_line(line)
            if event is not None:
                yield event

    @staticmethod
    def _is_torn(path: Path) -> bool:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            if not size:
                return False
            file.seek(size - 1)
            return file.read(1) != b"\n"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, _PRIVATE_FILE)


CHUNK_BYTES = 64 << 10
"""Size from which on an object is not written again."""


class EventObjects(EventFiles):
    """The events of one job, in a store; see `EventFiles`."""

    def __init__(self, directory: StoredPath) -> None:
        """Prepare; nothing is created."""
        self._below = directory / DIRECTORY
        self._token = secrets.token_hex(4)
        self._number: int | None = None
        self._text = ""
        self._size = 0

    @property
    def latest_bytes(self) -> int:
        """Size of the lines that are not in the earlier ones."""
        return self._size

    def append(self, lines: str) -> None:
        """Append whole lines."""
        if self._number is None:
            names = self._names()
            self._size = sum(byte_count(self._below / name) for name in names)
            self._number = _number_of(names[-1]) + 1 if names else 0
        elif len(self._text) >= CHUNK_BYTES:
            self._number, self._text = self._number + 1, ""
        path = self._below / f"{self._number:012}-{self._token}.jsonl"
        path.store.write(path.address, (self._text + lines).encode())
        self._text += lines
        self._size += len(lines.encode())

    def rotate(self, earlier: str) -> None:
        """Replace the earlier lines, which then contain the latest ones too; see `EventFiles.rotate`."""
        path, names = self._below / EARLIER, self._names()
        path.store.write(path.address, earlier.encode())
        path.store.delete([(self._below / name).address for name in names])
        self._number = (-1 if self._number is None else self._number) + 1
        self._text, self._size = "", 0

    def stamp(self) -> tuple[tuple[object, ...], ...]:
        """Return a value that changes with the objects."""
        names = self._names()
        last = names[-1:] and self._below.store.size_of((self._below / names[-1]).address)
        return ((*names, last),)

    def _read(self) -> tuple[list[str], list[str]]:
        """Return the lines of the earlier object and of the others at one moment."""
        while True:
            names = self._names()
            earlier = _lines_of(self._below / EARLIER)
            latest = [line for name in names for line in _lines_of(self._below / name)]
            if self._names()[: len(names)] == names:  # otherwise a rotation came between
                return earlier, latest

    def _names(self) -> list[str]:
        """Return the names of the objects but the earlier one, in order."""
        names = self._below.store.names_in(self._below.address)
        return sorted(name for name in names if name[:1].isdigit())


def events_in(directory: JobPath) -> EventFiles:
    """Return the events of the job in a directory."""
    if isinstance(directory, StoredPath):
        return EventObjects(directory)
    return EventFiles(directory)


def _lines_of(path: StoredPath) -> list[str]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    return [f"{line}\n" for line in data.decode("utf-8", "replace").split("\n") if line]


def _number_of(name: str) -> int:
    return int(name.partition("-")[0])


MOST_BYTES = 4 << 20
"""Bound of all files of a log together."""

_Kind = tuple[str, str, str]
"""Class, pipeline and, of an event about a run, its name."""

_logger = logging.getLogger("penstock")


def _anybody() -> None:
    """Let any process write."""


class EventLog(JobListener):
    """The log of events of one job. Thread-safe."""

    def __init__(
        self,
        files: EventFiles,
        *,
        fence: Callable[[], None] = _anybody,
        most_bytes: int = MOST_BYTES,
        flush_seconds: float = FLUSH_SECONDS,
        end_seconds: float = END_SECONDS,
        first_pause_seconds: float = FIRST_PAUSE_SECONDS,
    ) -> None:
        """Start empty; nothing is written before the first event."""
        self._files = files
        self._fence = fence
        self._half = most_bytes // 2
        self._delivery = Delivery(
            self._write,
            "writing events",
            flush_seconds=flush_seconds,
            end_seconds=end_seconds,
            first_pause_seconds=first_pause_seconds,
        )

    def on_event(self, event: JobEvent) -> None:
        """Take an event; a thread writes it."""
        self._delivery.on_event(event)

    def close(self) -> None:
        """Write what was taken, and end the thread; later events are dropped."""
        self._delivery.close()

    def _write(self, events: Sequence[JobEvent]) -> None:
        try:
            self._fence()
        except JobFencedError as cause:
            raise DeliveryOver from cause
        lines = "".join(_lines(events))
        # Before they are appended: while files cannot be replaced, the latest one must not grow either.
        if self._files.latest_bytes > self._half:
            self._files.rotate(thinned(list(self._files.lines()), self._half))
        self._files.append(lines)


def _lines(events: Sequence[JobEvent]) -> Iterator[str]:
    """Yield the lines of events; one that has none, such as a gauge whose text raises, is left out."""
    for event in events:
        try:
            yield to_line(event)
        except Exception as cause:  # noqa: BLE001 - anything that a user's value may raise
            _logger.warning("an event %s cannot be written: %s", type(event).__name__, cause)


def thinned(lines: list[str], most_bytes: int) -> str:
    """Return lines that fit.

    Every second detail is left out until they do, then every second milestone of a kind, then the earliest lines.
    The last line of each kind stays as long as it fits.
    """
    kinds = [_kind(line) for line in lines]
    for are_milestones in (False, True):
        while _size(lines) > most_bytes:
            stay = _without_half(kinds, are_milestones=are_milestones)
            if all(stay):
                break
            lines = [line for line, stays in zip(lines, stay, strict=True) if stays]
            kinds = [kind for kind, stays in zip(kinds, stay, strict=True) if stays]
    while _size(lines) > most_bytes:
        lines = lines[len(lines) // 2 + 1 :]
    return "".join(lines)


def _without_half(kinds: list[tuple[_Kind, bool]], *, are_milestones: bool) -> list[bool]:
    """Return which lines stay: of details, or milestones too, every second of a kind, the last one too."""
    seen: Counter[_Kind] = Counter()
    stay = []
    for kind, is_detail in reversed(kinds):
        seen[kind] += 1
        stay.append(not (is_detail or are_milestones) or seen[kind] % 2 == 1)
    return stay[::-1]


def _size(lines: list[str]) -> int:
    return sum(len(line.encode()) for line in lines)


def _kind(line: str) -> tuple[_Kind, bool]:
    """Return the kind of a line, and whether it is a detail, as a line that is torn is."""
    event = from_line(line)
    if event is None:
        return ("", "", ""), True
    name = event.name if isinstance(event, RunStarted | RunFinished) else ""
    return (type(event).__name__, event.pipeline, name), EVENTS[type(event)].is_detail
