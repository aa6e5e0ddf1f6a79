"""The log of the files of one source in a live run: which file has which position.

    files/3/000000000000-0      {"files": [[uri, size, modification time in milliseconds], …], "first": 0}
    files/3/000000000016-0      … each part is put before an epoch is planned with its files
    files/3/000000000000-1      32 merged parts, which are removed then

A position is the number of a file, from 0. No driver replaces a part, so a position means the same file for as
long as the run lasts. A file without a part has no position yet: another listing may give it another one.

The driver has every name of the log as a digest of 16 bytes only, and the files themselves from the first unread
position on. The digests take 24 to 48 bytes a file, where a set of Python's takes 150: they are in one table with
open addressing; a search starts at the place of the digest and goes on until a slot is empty. The chance that two
of 10^9 names have the same digest is 10^-21.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

from penstock.errors import RESTORE_CHECKPOINTS, DecodeError, StateError
from penstock.filesystem.stored_path import JobPath
from penstock.spark.sources.file_paths import plain
from penstock.wire.atomic_file import (
    PRIVATE_DIRECTORY,
    put_verified,
    read_verified,
    remove_temporaries,
)

_SLOT = 16
_EMPTY = bytes(_SLOT)
_FIRST_SLOTS = 1 << 10


class KnownFiles:
    """A set of names of files."""

    def __init__(self) -> None:
        self._slots = _FIRST_SLOTS
        self._table = bytearray(_SLOT * _FIRST_SLOTS)
        self._count = 0

    def add(self, uris: Iterable[str]) -> None:
        """Add files by their URIs."""
        for uri in uris:
            self._put(_digest(plain(uri)))
            if 3 * self._count > 2 * self._slots:
                self._grow()

    def has(self, name: str) -> bool:
        """Return whether a file is in the set, given its name as `file_paths.plain` gives it."""
        digest = _digest(name)
        offset = self._place(digest)
        return self._table[offset : offset + _SLOT] == digest

    def __len__(self) -> int:
        """Return the number of names."""
        return self._count

    def _put(self, digest: bytes) -> None:
        offset = self._place(digest)
        if self._table[offset : offset + _SLOT] == _EMPTY:
            self._table[offset : offset + _SLOT] = digest
            self._count += 1

    def _place(self, digest: bytes) -> int:
        """Return where a digest is in the table, or would be."""
        table, end = self._table, _SLOT * self._slots
        offset = _SLOT * (int.from_bytes(digest[:8]) % self._slots)
        while (entry := table[offset : offset + _SLOT]) != digest and entry != _EMPTY:
            offset = (offset + _SLOT) % end
        return offset

    def _grow(self) -> None:
        before = self._table
        self._slots *= 2
        self._table = bytearray(_SLOT * self._slots)
        self._count = 0
        for offset in range(0, len(before), _SLOT):
            if (digest := bytes(before[offset : offset + _SLOT])) != _EMPTY:
                self._put(digest)


def _digest(name: str) -> bytes:
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_SLOT).digest()


_DIGITS = 12
_MERGED_PARTS = 32
_MOST_MERGED_FILES = 1 << 16
"""A part with more files is not merged: its JSON is decoded at once."""


class PinnedFile(NamedTuple):
    """A file with a position.

    Attributes:
        uri: As `DataFrame.inputFiles()` spells it.
    """

    uri: str
    size: int
    time_ms: int


class _Part(NamedTuple):
    first: int
    merges: int
    last: int

    def path(self, directory: JobPath) -> JobPath:
        return directory / f"{self.first:0{_DIGITS}d}-{self.merges}"


class FileLog:
    """The log of one source, as the driver that runs the job has it.

    Attributes:
        known: The files in the log, and others that must not get a position.
        end: The position of the next file.
    """

    def __init__(self, directory: JobPath, may_put: Callable[[], None]) -> None:
        """Begin without reading."""
        self._directory = directory
        self._may_put = may_put
        self._parts: list[_Part] = []
        self._unread: list[PinnedFile] = []
        self._begin = 0
        self.known = KnownFiles()
        self.end = 0

    def open(self, position: int) -> None:
        """Read the log."""
        if self._directory.is_dir():
            remove_temporaries(self._directory)
        self._parts, self._unread, self._begin, self.end = [], [], position, 0
        for part, files in _read(self._directory):
            self._take(part, files)
        _check_complete(self._directory, self.end, position)

    def add(self, files: Sequence[PinnedFile]) -> bool:
        """Give positions to files; return whether they got them.

        If an earlier driver, which woke up, was faster, its files get them, and the log is read again.
        """
        part = _Part(self.end, 0, self.end + len(files))
        self._directory.mkdir(PRIVATE_DIRECTORY, exist_ok=True)
        payload = {"first": part.first, "files": [list(file) for file in files]}
        try:
            put_verified(part.path(self._directory), payload, self._may_put, place="file-log")
        except FileExistsError:
            self.open(self._begin)
            return False
        self._take(part, files)
        self._merge()
        return True

    def files(self, first: int, last: int) -> list[PinnedFile]:
        """Return the files of positions `[first, last)`, none of which `forget_before` has named."""
        assert self._begin <= first <= last <= self.end, (self._begin, first, last, self.end)
        return self._unread[first - self._begin : last - self._begin]

    def forget_before(self, position: int) -> None:
        """Drop files that were read; their names stay known."""
        assert position <= self.end, (position, self.end)
        del self._unread[: max(position - self._begin, 0)]
        self._begin = max(position, self._begin)

    def _take(self, part: _Part, files: Sequence[PinnedFile]) -> None:
        self._parts.append(part)
        self.known.add(file.uri for file in files)
        self._unread += files[max(self._begin - part.first, 0) :]
        self.end = part.last

    def _merge(self) -> None:
        """Merge the newest parts while many of them were merged equally often."""
        while len(self._parts) >= _MERGED_PARTS:
            newest = self._parts[-_MERGED_PARTS:]
            merged = _Part(newest[0].first, newest[0].merges + 1, newest[-1].last)
            is_even = len({part.merges for part in newest}) == 1
            if not is_even or merged.last - merged.first > _MOST_MERGED_FILES:
                return
            files = [
                file for part in newest for file in _decoded(part.path(self._directory), part)[1]
            ]
            payload = {"first": merged.first, "files": [list(file) for file in files]}
            put_verified(
                merged.path(self._directory), payload, self._may_put, place="file-log-merge"
            )
            for part in newest:
                part.path(self._directory).unlink(missing_ok=True)
            self._parts[-_MERGED_PARTS:] = [merged]


def logged_files(directory: JobPath, until: int) -> dict[str, tuple[int, int]]:
    """Return the files of a log before a position: URI to size and modification time.

    No other thread may merge parts meanwhile.
    """
    logged: dict[str, tuple[int, int]] = {}
    for part, files in _read(directory):
        for file in files[: max(until - part.first, 0)]:
            logged[file.uri] = file.size, file.time_ms
    _check_complete(directory, len(logged), until)
    return logged


def _check_complete(directory: JobPath, files: int, read: int) -> None:
    if files < read:
        raise _damaged(directory, f"it has {files} files, and {read} were read")


def _read(directory: JobPath) -> Iterator[tuple[_Part, list[PinnedFile]]]:
    """Yield the parts in order; parts that are in a merged one are left out."""
    names = [path.name for path in directory.glob("[0-9]*-[0-9]*")]
    parts = sorted((int(name[:_DIGITS]), int(name[_DIGITS + 1 :])) for name in names)
    newest = dict(parts)  # of several parts from one position the one that was merged most often
    position = 0
    for first, merges in newest.items():
        if first > position:
            raise _damaged(
                directory, f"nothing has position {position}, and a part begins at {first}"
            )
        if first == position:
            part = _Part(first, merges, first)
            decoded = _decoded(part.path(directory), part)
            yield decoded
            position = decoded[0].last


def _decoded(path: JobPath, part: _Part) -> tuple[_Part, list[PinnedFile]]:
    try:
        recorded = read_verified(path)
    except DecodeError as cause:
        raise StateError(cause.problem, hint=cause.hint) from cause
    files = [PinnedFile(*file) for file in recorded["files"]]
    if recorded["first"] != part.first or not files:
        raise _damaged(path, f"it has {len(files)} files from position {recorded['first']}")
    return part._replace(last=part.first + len(files)), files


def _damaged(path: JobPath, what: str) -> StateError:
    return StateError(f"the log of files {path} is damaged: {what}", hint=RESTORE_CHECKPOINTS)
