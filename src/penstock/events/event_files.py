"""The files of a log of events, in a directory of their own in the checkpoint directory.

    events/events.jsonl        the latest events, appended
    events/earlier.jsonl       those before, thinned; replaced as a whole

Nothing but this module touches them. A driver that is killed may leave half a line; the next one begins a new
line behind it, and readers skip it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from penstock.events.event_json import from_line
from penstock.events.job_events import JobEvent
from penstock.failpoint import failpoint

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
        """Append whole lines, all or none. They are written at once, and not synced: events are no state.

        Raises:
            OSError: They cannot be written.
        """
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

        Raises:
            OSError: They cannot be written.
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
        found: list[tuple[object, ...]] = []
        for name in (EARLIER, LATEST):
            try:
                stat = (self._directory / name).stat()
            except (FileNotFoundError, NotADirectoryError):
                continue
            found.append((stat.st_ino, stat.st_size, stat.st_mtime_ns))
        return tuple(found)

    def lines(self) -> Iterator[str]:
        """Yield all lines, the earliest first, each once.

        Raises:
            OSError: They cannot be read.
        """
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
        """Yield all events, the earliest first; lines that are torn or of another version are skipped.

        Raises:
            OSError: They cannot be read.
        """
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
