"""`CheckpointConfig`: how often the job makes its progress durable."""

from __future__ import annotations

from penstock.api.environment.checkpoint_storage import CheckpointStorage
from penstock.api.environment.durations import Length, length_of, milliseconds_of
from penstock.api.environment.setting_values import checked_count, checked_flag, checked_member
from penstock.config.accepted_options import (
    ALIGNED_TIMEOUT,
    CHECKPOINT_RETENTION,
    CHECKPOINT_TIMEOUT,
    CHECKPOINTING_MODE,
    FORCED_UNALIGNED,
    MAX_CONCURRENT_CHECKPOINTS,
    MIN_PAUSE,
    TOLERABLE_FAILED_CHECKPOINTS,
    UNALIGNED_CHECKPOINTS,
)
from penstock.config.checkpoint_modes import CheckpointingMode, ExternalizedCheckpointRetention
from penstock.config.configuration import Configuration
from penstock.config.options import CHECKPOINT_DIR, CHECKPOINT_INTERVAL, INTERVAL_DURING_BACKLOG
from penstock.types import Duration

_ANY_NUMBER = 2_147_483_647

__all__ = ["CheckpointConfig", "CheckpointingMode", "ExternalizedCheckpointRetention"]


class CheckpointConfig:
    """A view of the checkpointing keys of a configuration.

    A live run always makes checkpoints, one at the end of each micro-batch. What is set here
    beside the interval and the directory is kept and given back, and changes nothing.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def is_checkpointing_enabled(self) -> bool:
        """Return whether somebody set an interval; checkpoints are made all the same."""
        return any(self._configuration.contains_key(key) for key in CHECKPOINT_INTERVAL.keys)

    def set_checkpoint_interval(self, checkpoint_interval: Length) -> CheckpointConfig:
        """Set the time between two micro-batches, in milliseconds."""
        interval = length_of(checkpoint_interval, "set_checkpoint_interval")
        self._configuration.set(CHECKPOINT_INTERVAL, interval)
        return self

    def get_checkpoint_interval(self) -> int:
        """Return the time between two micro-batches in milliseconds, -1 if nobody set it."""
        if not self.is_checkpointing_enabled():
            return -1
        return milliseconds_of(self._configuration.get(CHECKPOINT_INTERVAL))

    def set_checkpoint_interval_during_backlog(
        self, checkpoint_interval: Length
    ) -> CheckpointConfig:
        """Set the interval while history is read, in milliseconds; 0 reads it as a batch."""
        interval = length_of(checkpoint_interval, "set_checkpoint_interval_during_backlog")
        self._configuration.set(INTERVAL_DURING_BACKLOG, interval)
        return self

    def get_checkpoint_interval_during_backlog(self) -> int | None:
        """Return the interval while history is read, None if it is not set."""
        interval = self._configuration.get(INTERVAL_DURING_BACKLOG)
        return None if interval is None else milliseconds_of(interval)

    def set_checkpoint_directory(self, directory: str) -> CheckpointConfig:
        """Set where progress and state are kept."""
        self._configuration.set(CHECKPOINT_DIR, directory)
        return self

    def set_checkpoint_storage(self, storage: CheckpointStorage | str) -> CheckpointConfig:
        """Set where progress and state are kept: a directory, or a storage that names one."""
        if isinstance(storage, str):
            return self.set_checkpoint_directory(storage)
        storage.store(self._configuration)
        return self

    def get_checkpoint_storage(self) -> CheckpointStorage | None:
        """Return where progress and state are kept, None if nobody said."""
        return CheckpointStorage.of(self._configuration)

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Return the mode that was set; what happens is exactly once."""
        return self._configuration.get(CHECKPOINTING_MODE)

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Accept any mode; both give exactly once."""
        mode = checked_member(checkpointing_mode, CheckpointingMode, "set_checkpointing_mode")
        self._configuration.set(CHECKPOINTING_MODE, mode)
        return self

    def get_checkpoint_timeout(self) -> int:
        """Return what was set, in milliseconds."""
        return milliseconds_of(self._configuration.get(CHECKPOINT_TIMEOUT))

    def set_checkpoint_timeout(self, checkpoint_timeout: Length) -> CheckpointConfig:
        """Accept a timeout in milliseconds."""
        timeout = length_of(checkpoint_timeout, "set_checkpoint_timeout")
        self._configuration.set(CHECKPOINT_TIMEOUT, timeout)
        return self

    def get_min_pause_between_checkpoints(self) -> int:
        """Return what was set, in milliseconds."""
        return milliseconds_of(self._configuration.get(MIN_PAUSE))

    def set_min_pause_between_checkpoints(
        self, min_pause_between_checkpoints: Length
    ) -> CheckpointConfig:
        """Accept a pause in milliseconds."""
        pause = length_of(min_pause_between_checkpoints, "set_min_pause_between_checkpoints")
        self._configuration.set(MIN_PAUSE, pause)
        return self

    def get_max_concurrent_checkpoints(self) -> int:
        """Return what was set."""
        return self._configuration.get(MAX_CONCURRENT_CHECKPOINTS)

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """Accept a number."""
        number = checked_count(max_concurrent_checkpoints, "set_max_concurrent_checkpoints", 1)
        self._configuration.set(MAX_CONCURRENT_CHECKPOINTS, number)
        return self

    def is_fail_on_checkpointing_errors(self) -> bool:
        """Return whether no failed checkpoint was said to be tolerable."""
        return self.get_tolerable_checkpoint_failure_number() == 0

    def set_fail_on_checkpointing_errors(
        self,
        fail_on_checkpointing_errors: bool,  # noqa: FBT001 - as in PyFlink
    ) -> CheckpointConfig:
        """Accept; a failed checkpoint always fails the run."""
        return self.set_tolerable_checkpoint_failure_number(
            0 if fail_on_checkpointing_errors else _ANY_NUMBER
        )

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """Return what was set."""
        return self._configuration.get(TOLERABLE_FAILED_CHECKPOINTS)

    def set_tolerable_checkpoint_failure_number(
        self, tolerable_checkpoint_failure_number: int
    ) -> CheckpointConfig:
        """Accept a number."""
        number = checked_count(
            tolerable_checkpoint_failure_number, "set_tolerable_checkpoint_failure_number", 0
        )
        self._configuration.set(TOLERABLE_FAILED_CHECKPOINTS, number)
        return self

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Accept any mode; a directory that somebody named is kept."""
        mode = checked_member(
            retention_mode, ExternalizedCheckpointRetention, "set_externalized_checkpoint_retention"
        )
        self._configuration.set(CHECKPOINT_RETENTION, mode)
        return self

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Return whether a mode was set that keeps or deletes checkpoints."""
        none = ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
        return self.get_externalized_checkpoint_retention() is not none

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        """Return what was set."""
        return self._configuration.get(CHECKPOINT_RETENTION)

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Return what was set."""
        return self._configuration.get(UNALIGNED_CHECKPOINTS)

    def enable_unaligned_checkpoints(
        self,
        enabled: bool = True,  # noqa: FBT001, FBT002 - as in PyFlink
    ) -> CheckpointConfig:
        """Accept."""
        flag = checked_flag(enabled, "enable_unaligned_checkpoints")
        self._configuration.set(UNALIGNED_CHECKPOINTS, flag)
        return self

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        """Accept."""
        return self.enable_unaligned_checkpoints(enabled=False)

    def set_aligned_checkpoint_timeout(self, alignment_timeout: Length) -> CheckpointConfig:
        """Accept a timeout."""
        timeout = length_of(alignment_timeout, "set_aligned_checkpoint_timeout")
        self._configuration.set(ALIGNED_TIMEOUT, timeout)
        return self

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """Return what was set."""
        return Duration.of_millis(milliseconds_of(self._configuration.get(ALIGNED_TIMEOUT)))

    def set_alignment_timeout(self, alignment_timeout: Length) -> CheckpointConfig:
        """Accept a timeout; the older name of `set_aligned_checkpoint_timeout`."""
        return self.set_aligned_checkpoint_timeout(alignment_timeout)

    def get_alignment_timeout(self) -> Duration:
        """Return what was set; the older name of `get_aligned_checkpoint_timeout`."""
        return self.get_aligned_checkpoint_timeout()

    def set_force_unaligned_checkpoints(
        self,
        force_unaligned_checkpoints: bool = True,  # noqa: FBT001, FBT002 - as in PyFlink
    ) -> CheckpointConfig:
        """Accept."""
        flag = checked_flag(force_unaligned_checkpoints, "set_force_unaligned_checkpoints")
        self._configuration.set(FORCED_UNALIGNED, flag)
        return self

    def is_force_unaligned_checkpoints(self) -> bool:
        """Return what was set."""
        return self._configuration.get(FORCED_UNALIGNED)
