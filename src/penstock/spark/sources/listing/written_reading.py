"""Reads the files of a DataFrame that is written beside what the other sources give: of a batch one, or of a stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Protocol

from penstock.spark.sources.listing.file_log import PinnedFile
from penstock.spark.sources.listing.file_readings import FileCaps, FileReading, PinnedReading


class Writer(Protocol):
    """Writes the files; see `frame_writer`."""

    def start(self) -> None:
        """Begin, unless it is done or under way."""

    def check(self) -> bool:
        """Return whether all files are there; raises what went wrong."""

    def stop(self) -> None:
        """Cancel what is under way."""


class WrittenReading(PinnedReading):
    """Reads files that are known when all of them are written. Until then there are none, and no end.

    Writing begins when the source comes to the part.

    Args:
        source: Id of the source.
        caps: How many files an epoch takes.
        writer: Writes the files.
        listed: Returns URI to size and modification time of the files, in order of their rows.
        ends: Whether the source ends with this run.
        part: Index of the part of the source.
        is_history: Whether further parts follow.
    """

    def __init__(
        self,
        source: int,
        caps: FileCaps,
        writer: Writer,
        listed: Callable[[], Mapping[str, tuple[int, int]]],
        *,
        ends: bool,
        part: int = 0,
        is_history: bool = False,
    ) -> None:
        super().__init__(source, caps, {}, ends=ends, part=part, is_history=is_history, order=[])
        self._writer = writer
        self._listed = listed
        self._is_written = False

    @property
    def awaits_files(self) -> bool:
        """True if files are being written.

        Raises:
            BaseException: What went wrong with that.
        """
        if not self._is_written and self._writer.check():
            self._facts = self._listed()
            self._order = list(self._facts)
            self._is_written = True
        return not self._is_written

    def open(self, at: int) -> None:
        """Begin to write."""
        super().open(at)
        self._writer.start()

    def advance(self, at: int, most_records: int | None = None) -> int:
        """Return the position behind the files of the next epoch: of none, as long as they are written."""
        return at if self.awaits_files else super().advance(at, most_records)

    def is_at_end(self, at: int) -> bool:
        """Return whether all files are read."""
        return self._is_written and super().is_at_end(at)

    def close(self) -> None:
        """Cancel what is under way."""
        self._writer.stop()


class Stream(Protocol):
    """Writes micro-batches of a stream; see `stream_writer`."""

    def start(self, at: int) -> None:
        """Begin behind the micro-batches before a position."""

    def check(self) -> None:
        """Raise what went wrong."""

    def stop(self) -> None:
        """Stop writing."""

    def forget_before(self, position: int) -> None:
        """Learn that the micro-batches before a position are read."""


class StreamedReading(FileReading):
    """Reads the micro-batches of a stream, in order of their numbers, which are the positions. A micro-batch is read as a whole.

    Args:
        source: Id of the source.
        caps: How many micro-batches an epoch takes.
        stream: Writes them.
        listed: Returns URI to size and modification time of the files of a micro-batch; None if it is not complete.
        part: Index of the part of the source, which is the last one.
    """

    measures_input: ClassVar[bool] = False
    """Only the stream itself could count what it has not written yet."""

    def __init__(
        self,
        source: int,
        caps: FileCaps,
        stream: Stream,
        listed: Callable[[int], Mapping[str, tuple[int, int]] | None],
        *,
        part: int = 0,
    ) -> None:
        super().__init__(source, caps, ends=False, part=part)
        self._stream = stream
        self._listed = listed
        self._waiting: list[Mapping[str, tuple[int, int]]] = []
        self._begin = 0

    def open(self, at: int) -> None:
        """Start the stream."""
        self._begin, self._waiting = at, []
        self._stream.start(at)

    def close(self) -> None:
        """Stop the stream."""
        self._stream.stop()

    def advance(self, at: int, most_records: int | None = None) -> int:
        """Return the position behind the micro-batches of the next epoch.

        Raises:
            PenstockError: The stream has failed, and what it has written is read.
        """
        while (files := self._listed(self._begin + len(self._waiting))) is not None:
            self._waiting.append(files)
        waiting = self._waiting[at - self._begin :]
        if not waiting:
            self._stream.check()
        sizes = [sum(size for size, _ in files.values()) for files in waiting]
        return at + self._taken(sizes, most_records)

    def files(self, first: int, last: int) -> list[PinnedFile]:
        """Return the files of the micro-batches `[first, last)`."""
        batches = self._waiting[first - self._begin : last - self._begin]
        return [PinnedFile(uri, *facts) for files in batches for uri, facts in files.items()]

    def is_at_end(self, at: int) -> bool:
        """Return False."""
        del at
        return False

    def files_left(self, at: int) -> int:
        """Return the number of micro-batches that wait."""
        return self._begin + len(self._waiting) - at

    def forget_before(self, position: int) -> None:
        """Drop the micro-batches before a position."""
        del self._waiting[: max(position - self._begin, 0)]
        self._begin = max(position, self._begin)
        self._stream.forget_before(position)
