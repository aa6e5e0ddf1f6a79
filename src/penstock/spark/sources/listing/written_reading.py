"""Reads the files of a DataFrame that is written beside what the other sources give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from penstock.spark.sources.listing.file_readings import FileCaps, PinnedReading


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
