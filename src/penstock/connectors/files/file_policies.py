"""Rolling and compaction policies of Flink's file sink.

A file ends with its micro-batch (or batch run) at the latest, so that each is committed exactly once. A rolling
policy may end it earlier, by its size. Compaction is accepted, without effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class RollingPolicy:
    """When a file ends: with every checkpoint, and by the default policy before, at a size.

    Example:
        >>> RollingPolicy.on_checkpoint_rolling_policy()
        OnCheckpointRollingPolicy()
    """

    @staticmethod
    def default_rolling_policy(
        part_size: int = 128 * 1024 * 1024,
        rollover_interval: int = 60_000,
        inactivity_interval: int = 60_000,
    ) -> DefaultRollingPolicy:
        """Return Flink's default policy.

        Args:
            part_size: Bytes.
            rollover_interval: Milliseconds; without effect, as no file outlives its micro-batch.
            inactivity_interval: The same.
        """
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """Return the policy by which files end with every checkpoint."""
        return OnCheckpointRollingPolicy()


@dataclass(frozen=True, slots=True)
class DefaultRollingPolicy(RollingPolicy):
    """A file ends by its size.

    Attributes:
        part_size: Bytes.
        rollover_interval: Milliseconds; without effect.
        inactivity_interval: Milliseconds; without effect.

    Example:
        >>> RollingPolicy.default_rolling_policy(part_size=1_000_000).part_size
        1000000
    """

    part_size: int
    rollover_interval: int
    inactivity_interval: int


@dataclass(frozen=True, slots=True)
class OnCheckpointRollingPolicy(RollingPolicy):
    """A file ends with every checkpoint.

    Example:
        >>> RollingPolicy.on_checkpoint_rolling_policy()
        OnCheckpointRollingPolicy()
    """


@dataclass(frozen=True, slots=True)
class FileCompactStrategy:
    """When files would be compacted. Has no effect.

    Attributes:
        checkpoints: After this number of checkpoints; None is never.
        size_threshold: From this size in bytes; None is any.
        threads: Number of threads.

    Example:
        >>> FileCompactStrategy.builder().set_size_threshold(1_000_000).build().size_threshold
        1000000
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
    """Builds a `FileCompactStrategy`.

    Example:
        >>> FileCompactStrategy.builder().set_num_compact_threads(2).build().threads
        2
    """

    def __init__(self) -> None:
        self._checkpoints: int | None = None
        self._size: int | None = None
        self._threads = 1

    def enable_compaction_on_checkpoint(
        self, num_checkpoints_before_compaction: int
    ) -> FileCompactStrategyBuilder:
        """Set after how many checkpoints: `num_checkpoints_before_compaction`."""
        self._checkpoints = num_checkpoints_before_compaction
        return self

    def set_size_threshold(self, size_threshold: int) -> FileCompactStrategyBuilder:
        """Set from how many bytes: `size_threshold`."""
        self._size = size_threshold
        return self

    def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategyBuilder:
        """Set the number of threads: `num_compact_threads`."""
        self._threads = num_compact_threads
        return self

    def build(self) -> FileCompactStrategy:
        """Return the strategy."""
        return FileCompactStrategy(self._checkpoints, self._size, self._threads)


FileCompactStrategy.Builder = FileCompactStrategyBuilder


@dataclass(frozen=True, slots=True)
class FileCompactor:
    """How files would be compacted. Has no effect.

    Attributes:
        delimiter: Bytes between them; None takes the first file alone.

    Example:
        >>> FileCompactor.concat_file_compactor(b"|").delimiter
        b'|'
    """

    delimiter: bytes | None = b""

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """Return a compactor that concatenates files, with `file_delimiter` between them."""
        return FileCompactor(file_delimiter or b"")

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Return a compactor that copies a single file."""
        return FileCompactor(None)
