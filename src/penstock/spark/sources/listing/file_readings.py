"""Reading of the files of one source in a loop of epochs: positions are numbers of files.

| kind | its files | position of a file |
|---|---|---|
| `PinnedReading` | the same from the start on | its place in the order of reading |
| `WrittenReading` | the same, when all are written (`frame_reads`) | likewise |
| `ListedReading` | those there now; more appear | that of the file log |
| `StreamedReading` | those of the micro-batches of a stream (`frame_reads`) | the number of its micro-batch |

Files are read in the order of modification time, then of name. An epoch takes the number of files that the options
set, and more if many wait; any number is right, because only the position is recorded. Beside other sources it takes
files with about as many records as the epoch may have. The estimate uses the records per byte of earlier epochs, so the
first epoch takes one file. A file is read as a whole, so one is the least.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

from penstock.connectors.files.local_listing import Listed
from penstock.spark.sources.file_paths import plain, uri_of
from penstock.spark.sources.listing.file_log import FileLog, PinnedFile
from penstock.spark.sources.split_advance import taken_at_once

_CATCH_UP_BYTES = 512 << 20
"""Size in bytes of all files of an epoch above which their number is not raised."""

_SHARE = 10
"""Time between two listings, as a multiple of the time that one takes."""


@dataclass(frozen=True, slots=True)
class FileCaps:
    """Limits of the files of an epoch.

    Attributes:
        usual: Usual greatest number.
        catch_up_factor: Multiple of the usual number that an epoch takes while many files wait.
    """

    usual: int
    catch_up_factor: int = 1

    def of(self, waiting: int) -> int:
        """Return the greatest number of files, given how many wait."""
        return taken_at_once(waiting, self.usual, self.catch_up_factor)

    def fitting(self, sizes: Iterable[int]) -> int:
        """Return how many of some files, in order, an epoch takes."""
        totals = list(accumulate(sizes))
        within = sum(total <= _CATCH_UP_BYTES for total in totals)
        return min(len(totals), max(self.usual, within))


class FileReading(ABC):
    """The reading of one source.

    Attributes:
        ends: True if the source ends with this run.
        is_history: True if further parts follow.
    """

    names: ClassVar[None] = None
    """Files have no names that the source gives them."""

    begin: ClassVar[tuple[int, ...]] = (0,)
    """The position of the first file."""

    measures_input: ClassVar[bool] = True
    """True if the files that wait are all of its pending input."""

    def __init__(
        self, source: int, caps: FileCaps, *, ends: bool, part: int = 0, is_history: bool = False
    ) -> None:
        self.source = source
        self.ends = ends
        self.part = part
        self.is_history = is_history
        self._caps = caps
        self._taken_bytes = 0
        self._read_bytes = self._read_records = 0.0

    @property
    def awaits_files(self) -> bool:
        """True if nothing can be read yet, so that it needs no share of an epoch."""
        return False

    @property
    def is_counted(self) -> bool:
        """True if the number of waiting files is known."""
        return True

    @abstractmethod
    def open(self, position: int) -> None:
        """Begin, or begin again, behind the files before a position."""

    def close(self) -> None:
        """End what `open` began."""

    @abstractmethod
    def advance(self, position: int, most_records: int | None = None) -> int:
        """Return the position behind the files of the next epoch; from now on the files before it have theirs."""

    @abstractmethod
    def files(self, first: int, last: int) -> list[PinnedFile]:
        """Return the files of positions `[first, last)`."""

    @abstractmethod
    def is_at_end(self, position: int) -> bool:
        """Return whether no file will have this position."""

    @abstractmethod
    def files_left(self, position: int) -> int:
        """Return the number of known waiting files."""

    def is_pinned_here(self, position: int) -> bool:
        """Return whether a file has got its position from this driver, not long ago."""
        del position
        return True

    def forget_before(self, position: int) -> None:
        """Note that an epoch with the files before a position was recorded."""
        del position

    def note_read(self, records: int) -> None:
        """Note how many records the files had that `advance` took last."""
        if self._taken_bytes:
            self._read_records = self._read_records / 2 + records
            self._read_bytes = self._read_bytes / 2 + self._taken_bytes
            self._taken_bytes = 0

    def _taken(self, sizes: Sequence[int], most_records: int | None) -> int:
        """Return the number of files, in order, that the next epoch takes."""
        taken = self._fitting(sizes, most_records)
        self._taken_bytes = sum(sizes[:taken])
        return taken

    def _fitting(self, sizes: Sequence[int], most_records: int | None) -> int:
        """Return how many of some files, in order, an epoch takes."""
        fitting = self._caps.fitting(sizes)
        if most_records is None or not fitting:
            return fitting
        most_bytes = most_records * self._read_bytes / max(self._read_records, 1.0)
        within = sum(total <= most_bytes for total in accumulate(sizes[:fitting]))
        return max(within, 1)


class PinnedReading(FileReading):
    """Reads files that are known at the start."""

    def __init__(
        self,
        source: int,
        caps: FileCaps,
        files: Mapping[str, tuple[int, int]],
        *,
        ends: bool,
        part: int = 0,
        is_history: bool = False,
        order: list[str] | None = None,
    ) -> None:
        """Put the files in order."""
        super().__init__(source, caps, ends=ends, part=part, is_history=is_history)
        self._facts = files
        self._order = reading_order(files) if order is None else order

    def open(self, position: int) -> None:
        """Do nothing."""
        del position

    def advance(self, position: int, most_records: int | None = None) -> int:
        """Return the position behind the files of the next epoch."""
        most = self._caps.of(len(self._order) - position)
        sizes = [self._facts[uri][0] for uri in self._order[position : position + most]]
        return position + self._taken(sizes, most_records)

    def files(self, first: int, last: int) -> list[PinnedFile]:
        """Return the files of positions `[first, last)`."""
        return [PinnedFile(uri, *self._facts[uri]) for uri in self._order[first:last]]

    def is_at_end(self, position: int) -> bool:
        """Return whether all files are read."""
        return position == len(self._order)

    def files_left(self, position: int) -> int:
        """Return the number of files that are left."""
        return len(self._order) - position


def reading_order(files: Mapping[str, tuple[int, int]]) -> list[str]:
    """Return the URIs of pinned files in the order in which a loop of epochs reads them."""
    return sorted(files, key=lambda uri: (files[uri][1], plain(uri)))


@dataclass(frozen=True, slots=True)
class Lister:
    """Lister of the files of a directory.

    Attributes:
        listed: Returns the files there are, those whose names it gets True for.
        listed_now: Returns a file as it is now, given its name; None if there is none.
    """

    listed: Callable[[Callable[[str], bool]], list[Listed]]
    listed_now: Callable[[str], Listed | None]
    least_pause_seconds: float


class ListedReading(FileReading):
    """Reads the files that a directory has and gets.

    A file gets a position with the epoch that reads it. Before, it may vanish or change as it likes.
    """

    def __init__(
        self,
        source: int,
        caps: FileCaps,
        log: FileLog,
        lister: Lister,
        now_seconds: Callable[[], float] = time.monotonic,
        *,
        part: int = 0,
    ) -> None:
        """Begin without a listing."""
        super().__init__(source, caps, ends=False, part=part)
        self._log = log
        self._lister = lister
        self._now_seconds = now_seconds
        self._next_look = now_seconds()
        self._waiting: list[Listed] = []  # the next one is the last
        self._is_listed = False
        self._pinned_before = 0

    @property
    def is_counted(self) -> bool:
        """True if the directory was listed."""
        return self._is_listed

    def open(self, position: int) -> None:
        """Read the log."""
        self._log.open(position)
        self._pinned_before = self._log.end

    def advance(self, position: int, most_records: int | None = None) -> int:
        """Return the position behind the files of the next epoch, after giving them positions."""
        if self._now_seconds() >= self._next_look:
            self._look()
        most = self._caps.of(self.files_left(position))
        missing = most - (self._log.end - position)
        if missing > 0 and self._waiting:
            self._pin(missing, most_records)
        files = self._log.files(position, min(self._log.end, position + most))
        return position + self._taken([file.size for file in files], most_records)

    def files(self, first: int, last: int) -> list[PinnedFile]:
        """Return the files of positions `[first, last)`."""
        return self._log.files(first, last)

    def is_at_end(self, position: int) -> bool:
        """Return False."""
        del position
        return False

    def files_left(self, position: int) -> int:
        """Return the files with a position, and those of the last listing without one."""
        return self._log.end - position + len(self._waiting)

    def seconds_to_listing(self) -> float:
        """Return the time until the directory is listed again."""
        return max(self._next_look - self._now_seconds(), 0.0)

    def is_pinned_here(self, position: int) -> bool:
        """Return whether the position is none that the log had when it was opened."""
        return position >= self._pinned_before

    def forget_before(self, position: int) -> None:
        """Drop the files before a position."""
        self._log.forget_before(position)

    def _look(self) -> None:
        begun = self._now_seconds()
        known = self._log.known
        self._waiting = sorted(self._lister.listed(lambda name: not known.has(name)), reverse=True)
        self._is_listed = True
        now = self._now_seconds()
        self._next_look = now + max(self._lister.least_pause_seconds, _SHARE * (now - begun))

    def _pin(self, most: int, most_records: int | None) -> None:
        """Give positions to the next files that wait, as they are now."""
        first = [self._waiting.pop() for _ in range(min(most, len(self._waiting)))]
        taken = self._fitting([size for _, _, size in first], most_records)
        self._waiting += reversed(first[taken:])
        there = [
            now
            for _, name, _ in first[:taken]
            if (now := self._lister.listed_now(name)) is not None
        ]
        pinned = [PinnedFile(uri_of(name), size, time_ms) for time_ms, name, size in there]
        if pinned and not self._log.add(pinned):
            known = self._log.known
            self._waiting = [file for file in self._waiting if not known.has(file[1])]
            self._next_look = self._now_seconds()
