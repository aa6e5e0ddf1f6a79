"""The log of events of a job whose directory is in a store: objects, since nothing can be appended to one.

    events/earlier.jsonl                  lines of before, thinned; replaced as a whole
    events/000000000007-<token>.jsonl     the lines after, in the order of the numbers

A driver writes its newest object again with each flush, until that has `CHUNK_BYTES`. Another driver has another token, so
one that was replaced spoils no object of its successor.
"""

from __future__ import annotations

import secrets

from penstock.events.event_files import DIRECTORY, EARLIER, EventFiles
from penstock.filesystem.stored_path import JobPath, StoredPath
from penstock.wire.job_files import byte_count

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
        """Append whole lines.

        Raises:
            OSError: They cannot be written.
        """
        if self._number is None:
            names = self._names()
            self._size = sum(byte_count(self._below / name) for name in names)
            self._number = _number_of(names[-1]) + 1 if names else 0
        elif len(self._text) >= CHUNK_BYTES:
            self._number, self._text = self._number + 1, ""
        path = self._below / f"{self._number:012}-{self._token}.jsonl"
        path.store.write(path.at, (self._text + lines).encode())
        self._text += lines
        self._size += len(lines.encode())

    def rotate(self, earlier: str) -> None:
        """Replace the earlier lines, which then contain the latest ones too; see `EventFiles.rotate`.

        Raises:
            OSError: They cannot be written.
        """
        path, names = self._below / EARLIER, self._names()
        path.store.write(path.at, earlier.encode())
        path.store.delete([(self._below / name).at for name in names])
        self._number = (-1 if self._number is None else self._number) + 1
        self._text, self._size = "", 0

    def stamp(self) -> tuple[tuple[object, ...], ...]:
        """Return a value that changes with the objects."""
        names = self._names()
        last = names[-1:] and self._below.store.size_of((self._below / names[-1]).at)
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
        found = self._below.store.names_in(self._below.at)
        return sorted(name for name in found if name[:1].isdigit())


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
