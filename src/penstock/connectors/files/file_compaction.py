"""Options for the compaction of small files, named as in Flink's file sink.

`file_merger` merges the files, `hidden_files` describes where they are until then.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from penstock.connectors.files.file_formats import FileFormat
from penstock.connectors.files.file_naming import DEFAULT_PART_BYTES
from penstock.errors import ArgumentError
from penstock.filesystem.object_path import ObjectPath
from penstock.types import Duration

_COLUMNS = frozenset({FileFormat.PARQUET, FileFormat.CSV})


@dataclass(frozen=True, slots=True)
class FileCompactStrategy:
    """Condition for a merge of the small files of a directory: one of several is enough.

    Until then their records are durable, and no reader sees them.

    Attributes:
        checkpoints: When the oldest is of this number of micro-batches ago; None is no condition.
        size_threshold: When they have this number of bytes together; None is no condition. A file of this size is
            not small.
        threads: Number of threads in the driver that merge files of several directories.
        max_delay_ms: When the oldest was written this number of milliseconds ago; None is no condition.

    Example:
        >>> FileCompactStrategy.builder().set_size_threshold(1_000_000).build().size_threshold
        1000000
    """

    Builder: ClassVar[type[FileCompactStrategyBuilder]]
    checkpoints: int | None = None
    size_threshold: int | None = None
    threads: int = 1
    max_delay_ms: int | None = None

    @staticmethod
    def builder() -> FileCompactStrategyBuilder:
        """Return a builder."""
        return FileCompactStrategyBuilder()


class FileCompactStrategyBuilder:
    """Builds a `FileCompactStrategy`.

    Example:
        >>> strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(100)
        >>> strategy.set_max_delay(Duration.of_seconds(30)).build().max_delay_ms
        30000
    """

    def __init__(self) -> None:
        self._checkpoints: int | None = None
        self._size: int | None = None
        self._threads = 1
        self._max_delay_ms: int | None = None

    def enable_compaction_on_checkpoint(
        self, num_checkpoints_before_compaction: int
    ) -> FileCompactStrategyBuilder:
        """Merge files every so many micro-batches.

        Args:
            num_checkpoints_before_compaction: Their number.

        Raises:
            ArgumentError: It is less than 1.
        """
        self._checkpoints = _positive(num_checkpoints_before_compaction, "number of checkpoints")
        return self

    def set_size_threshold(self, size_threshold: int) -> FileCompactStrategyBuilder:
        """Merge files when they have a size together; see `FileCompactStrategy`.

        Args:
            size_threshold: In bytes.

        Raises:
            ArgumentError: It is less than 1.
        """
        self._size = _positive(size_threshold, "size threshold")
        return self

    def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategyBuilder:
        """Set the number of threads; see `FileCompactStrategy`.

        Args:
            num_compact_threads: Their number.

        Raises:
            ArgumentError: It is less than 1.
        """
        self._threads = _positive(num_compact_threads, "number of threads")
        return self

    def set_max_delay(self, max_delay: Duration) -> FileCompactStrategyBuilder:
        """Merge files when the oldest has this age, so that its records become visible. PyFlink has no such method.

        Args:
            max_delay: The age, by the clocks of the driver and of the writers of files.

        Raises:
            ArgumentError: It is no `Duration` of a millisecond or more.
        """
        if not isinstance(max_delay, Duration):
            raise ArgumentError.here(
                f"the greatest delay is {max_delay!r}",
                hint="Pass a Duration, for example Duration.of_seconds(30).",
            )
        self._max_delay_ms = _positive(max_delay.to_millis(), "greatest delay in milliseconds")
        return self

    def build(self) -> FileCompactStrategy:
        """Return the strategy.

        Raises:
            ArgumentError: It has no condition.
        """
        if (self._checkpoints, self._size, self._max_delay_ms) == (None, None, None):
            raise ArgumentError.here(
                "the strategy has no rule for when to merge files",
                hint="Call enable_compaction_on_checkpoint, set_size_threshold or set_max_delay.",
            )
        return FileCompactStrategy(self._checkpoints, self._size, self._threads, self._max_delay_ms)


FileCompactStrategy.Builder = FileCompactStrategyBuilder


@dataclass(frozen=True, slots=True)
class FileCompactor:
    """Kind of merge of files.

    Attributes:
        delimiter: Bytes between files of lines; None merges none, each file becomes visible as it is.

    Example:
        >>> FileCompactor.concat_file_compactor(b"|").delimiter
        b'|'
        >>> FileCompactor.identical_file_compactor().delimiter is None
        True
    """

    delimiter: bytes | None = b""

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """Return a compactor that puts files of one format into one file of that format.

        Lines follow one another; of CSV files one header stays; the row groups of Parquet files are made anew.

        Args:
            file_delimiter: Bytes between files of lines, whose last lines are ended; none by default.

        Raises:
            ArgumentError: These are no bytes.
        """
        if file_delimiter is not None and not isinstance(file_delimiter, bytes):
            raise ArgumentError.here(
                f"the delimiter of files is {file_delimiter!r}",
                hint="Pass bytes, such as b'--\\n'.",
            )
        return FileCompactor(file_delimiter or b"")

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Return a compactor that leaves files as they are; they become visible together."""
        return FileCompactor(None)


@dataclass(frozen=True, slots=True)
class FileCompaction:
    """Conditions and kind of the merges of a sink's small files.

    Attributes:
        strategy: When.
        compactor: The way to merge.
        target_bytes: Size from which on a file is not small, and no further one is merged into it.
    """

    strategy: FileCompactStrategy
    compactor: FileCompactor
    target_bytes: int

    @staticmethod
    def of(
        strategy: FileCompactStrategy, compactor: FileCompactor, part_size_bytes: int | None
    ) -> FileCompaction:
        """Return the compaction of a sink whose files have a size."""
        target = strategy.size_threshold or part_size_bytes or DEFAULT_PART_BYTES
        return FileCompaction(strategy, compactor, target)

    def check(self, path: Path | ObjectPath, file_format: FileFormat) -> None:
        """Refuse to merge files that cannot be."""
        if isinstance(path, ObjectPath):
            raise ArgumentError.here(
                f"files in {path} cannot be merged before they are visible: a store renames no objects",
                hint="Leave enable_compact out and make micro-batches larger, or write a Delta table and "
                "compact it.",
            )
        if self.compactor.delimiter and file_format in _COLUMNS:
            raise ArgumentError.here(
                f"no delimiter can separate the records of {file_format.value} files that are merged",
                hint="Call FileCompactor.concat_file_compactor() without a delimiter.",
            )


def _positive(number: int, what: str) -> int:
    if isinstance(number, int) and not isinstance(number, bool) and number > 0:
        return number
    raise ArgumentError.here(f"the {what} is {number!r}", hint="Pass a whole number of 1 or more.")
