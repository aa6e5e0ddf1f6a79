"""`CheckpointConfig`: how often the job makes its progress durable."""

from __future__ import annotations

from datetime import timedelta
from enum import Enum

from penstock.config.configuration import Configuration
from penstock.config.options import CHECKPOINT_DIR, CHECKPOINT_INTERVAL, INTERVAL_DURING_BACKLOG

_MILLISECOND = timedelta(milliseconds=1)


class CheckpointingMode(Enum):
    """The guarantee asked for."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    """Accepted; what happens is exactly once all the same."""


class CheckpointConfig:
    """A view of the checkpointing keys of a configuration."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def set_checkpoint_interval(self, checkpoint_interval: int) -> None:
        """Set the time between two micro-batches, in milliseconds."""
        self._configuration.set(CHECKPOINT_INTERVAL, timedelta(milliseconds=checkpoint_interval))

    def get_checkpoint_interval(self) -> int:
        """Return the time between two micro-batches, in milliseconds."""
        return self._configuration.get(CHECKPOINT_INTERVAL) // _MILLISECOND

    def set_checkpoint_interval_during_backlog(self, checkpoint_interval: int) -> None:
        """Set the interval while history is read, in milliseconds; 0 reads it as a batch."""
        self._configuration.set(
            INTERVAL_DURING_BACKLOG, timedelta(milliseconds=checkpoint_interval)
        )

    def get_checkpoint_interval_during_backlog(self) -> int | None:
        """Return the interval while history is read, None if it is not set."""
        interval = self._configuration.get(INTERVAL_DURING_BACKLOG)
        return None if interval is None else interval // _MILLISECOND

    def set_checkpoint_directory(self, directory: str) -> None:
        """Set where progress and state are kept."""
        self._configuration.set(CHECKPOINT_DIR, directory)

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Return EXACTLY_ONCE, the only mode."""
        return CheckpointingMode.EXACTLY_ONCE

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> None:
        """Accept any mode; both give exactly once."""
