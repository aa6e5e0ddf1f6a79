"""What Flink's file sink can be told and this one has no use for: accepted, kept, not acted on.

A file here ends with its micro-batch (or batch run), so that each is committed exactly once;
there is nothing to roll, and compaction is left to those who read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class RollingPolicy:
    """When a file ends. Every policy is that of `on_checkpoint_rolling_policy` here."""

    @staticmethod
    def default_rolling_policy(
        part_size: int = 128 * 1024 * 1024,
        rollover_interval: int = 60_000,
        inactivity_interval: int = 60_000,
    ) -> DefaultRollingPolicy:
        """Return Flink's default policy; sizes in bytes, times in milliseconds."""
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """Return the policy by which files end with every checkpoint."""
        return OnCheckpointRollingPolicy()


@dataclass(frozen=True, slots=True)
class DefaultRollingPolicy(RollingPolicy):
    """By size and time.

    Attributes:
        part_size: Bytes.
        rollover_interval: Milliseconds.
        inactivity_interval: Milliseconds.
    """

    part_size: int
    rollover_interval: int
    inactivity_interval: int


@dataclass(frozen=True, slots=True)
class OnCheckpointRollingPolicy(RollingPolicy):
    """With every checkpoint."""


@dataclass(frozen=True, slots=True)
class FileCompactStrategy:
    """When files would be compacted.

    Attributes:
        checkpoints: After so many checkpoints; None is never.
        size_threshold: From so many bytes on; None is any.
        threads: How many threads do it.
    """

    Builder: ClassVar[type[FileCompactStrategyBuilder]]
    checkpoints: int | None = None
    size_threshold: int | None = None
    threads: int = 1

    @staticmethod
    def builder() -> FileCompactStrategyBuilder:
        """Return a builder."""
        return FileCompactStrategyBuilder()


class FileCompactStrategyBuilder:
    """Collects what a `FileCompactStrategy` says."""

    def __init__(self) -> None:
        self._checkpoints: int | None = None
        self._size: int | None = None
        self._threads = 1

    def enable_compaction_on_checkpoint(
        self, num_checkpoints_before_compaction: int
    ) -> FileCompactStrategyBuilder:
        """Set after how many checkpoints."""
        self._checkpoints = num_checkpoints_before_compaction
        return self

    def set_size_threshold(self, size_threshold: int) -> FileCompactStrategyBuilder:
        """Set from how many bytes on."""
        self._size = size_threshold
        return self

    def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategyBuilder:
        """Set by how many threads."""
        self._threads = num_compact_threads
        return self

    def build(self) -> FileCompactStrategy:
        """Return the strategy."""
        return FileCompactStrategy(self._checkpoints, self._size, self._threads)


FileCompactStrategy.Builder = FileCompactStrategyBuilder


@dataclass(frozen=True, slots=True)
class FileCompactor:
    """How files would be made one.

    Attributes:
        delimiter: Bytes between them; None takes the first file alone.
    """

    delimiter: bytes | None = b""

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """Return one that puts files behind each other."""
        return FileCompactor(file_delimiter or b"")

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Return one that copies a single file."""
        return FileCompactor(None)
