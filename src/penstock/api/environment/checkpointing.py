"""`CheckpointConfig` and `CheckpointStorage`: the interval and the directory of checkpoints."""

from __future__ import annotations

from typing import ClassVar

from penstock.api.environment.setting_values import (
    Length,
    checked_count,
    checked_flag,
    checked_member,
    length_of,
    milliseconds_of,
)
from penstock.config.accepted_options import (
    ALIGNED_TIMEOUT,
    CHECKPOINT_RETENTION,
    CHECKPOINT_STORAGE,
    CHECKPOINT_TIMEOUT,
    CHECKPOINTING_MODE,
    FORCED_UNALIGNED,
    MAX_CONCURRENT_CHECKPOINTS,
    MIN_PAUSE,
    TOLERABLE_FAILED_CHECKPOINTS,
    UNALIGNED_CHECKPOINTS,
    CheckpointingMode,
    ExternalizedCheckpointRetention,
)
from penstock.config.configuration import Configuration
from penstock.config.options import (
    CHECKPOINT_DIR,
    CHECKPOINT_INTERVAL,
    INTERVAL_DURING_BACKLOG,
    SAVEPOINT_DIR,
)
from penstock.errors import ArgumentError
from penstock.types import Duration

__all__ = ["CheckpointConfig", "CheckpointingMode", "ExternalizedCheckpointRetention"]

_KIBI = 1024
_MEBI = 1024 * 1024


def _without_slash(path: str) -> str:
    """Return a path without a slash at its end, as Flink's `Path` has it; a root stays one."""
    bare = path.rstrip("/")
    return bare if bare and not bare.endswith(":") else path


class CheckpointStorage:
    """The directory of checkpoints.

    Example:
        >>> FileSystemCheckpointStorage("/data/checkpoints").get_checkpoint_path()
        '/data/checkpoints'
        >>> FileSystemCheckpointStorage("/data/checkpoints").get_savepoint_path() is None
        True
    """

    def __init__(self, checkpoint_path: str | None) -> None:
        self._checkpoint_path = checkpoint_path
        self._savepoint_path: str | None = None

    def get_checkpoint_path(self) -> str | None:
        """Return the directory, None for a temporary one."""
        return self._checkpoint_path

    def get_savepoint_path(self) -> str | None:
        """Return the default directory of savepoints, None for the checkpoint directory."""
        return self._savepoint_path

    def store(self, configuration: Configuration) -> None:
        """Set the options of the storage in `configuration`."""
        if self._checkpoint_path is not None:
            configuration.set(CHECKPOINT_DIR, self._checkpoint_path)

    @staticmethod
    def of(configuration: Configuration) -> CheckpointStorage | None:
        """Return the storage that `configuration` describes, None if it describes none."""
        kind = configuration.get(CHECKPOINT_STORAGE)
        path = configuration.get(CHECKPOINT_DIR)
        storage: CheckpointStorage | None = None
        if kind == "jobmanager":
            storage = JobManagerCheckpointStorage(path)
        elif path is not None:
            storage = FileSystemCheckpointStorage(path)
        if storage is not None:
            storage._savepoint_path = configuration.get(SAVEPOINT_DIR)  # noqa: SLF001 - our own
        return storage

    def __str__(self) -> str:
        return f"{type(self).__name__}({self._checkpoint_path})"


class JobManagerCheckpointStorage(CheckpointStorage):
    """Checkpoints in a temporary directory, or in one with a path; never in memory.

    Attributes:
        DEFAULT_MAX_STATE_SIZE: Bytes.

    Example:
        >>> JobManagerCheckpointStorage().get_max_state_size()
        5242880
    """

    DEFAULT_MAX_STATE_SIZE: ClassVar[int] = 5 * _MEBI

    def __init__(
        self, checkpoint_path: str | None = None, max_state_size: int | None = None
    ) -> None:
        """Describe the storage.

        Args:
            checkpoint_path: Directory of checkpoints.
            max_state_size: Bytes; has no effect.
        """
        super().__init__(checkpoint_path)
        default = self.DEFAULT_MAX_STATE_SIZE
        self._max_state_size = default if max_state_size is None else max_state_size

    def get_max_state_size(self) -> int:
        """Return the size that was set, in bytes."""
        return self._max_state_size

    def store(self, configuration: Configuration) -> None:
        """Set the options of the storage in `configuration`."""
        super().store(configuration)
        configuration.set(CHECKPOINT_STORAGE, "jobmanager")


class FileSystemCheckpointStorage(CheckpointStorage):
    """Checkpoints in a directory that the driver and all executors see.

    Attributes:
        MAX_FILE_STATE_THRESHOLD: Bytes.

    Example:
        >>> storage = FileSystemCheckpointStorage("/data/checkpoints")
        >>> checkpoints = env.get_checkpoint_config().set_checkpoint_storage(storage)
        >>> storage.get_min_file_size_threshold(), storage.get_write_buffer_size()  # have no effect
        (20480, 4096)
    """

    MAX_FILE_STATE_THRESHOLD: ClassVar[int] = _MEBI

    def __init__(
        self,
        checkpoint_path: str,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int = -1,
    ) -> None:
        """Describe the storage.

        Args:
            checkpoint_path: The directory.
            file_state_size_threshold: Bytes; has no effect.
            write_buffer_size: Bytes; has no effect.

        Raises:
            ArgumentError: There is no path.
        """
        if not isinstance(checkpoint_path, str) or not checkpoint_path.strip():
            raise ArgumentError.here(
                f"checkpoint_path is {checkpoint_path!r}",
                hint="Pass the directory of the checkpoints, such as '/data/checkpoints'.",
            )
        super().__init__(_without_slash(checkpoint_path))
        self._threshold = -1 if file_state_size_threshold is None else file_state_size_threshold
        self._write_buffer_size = write_buffer_size

    def get_min_file_size_threshold(self) -> int:
        """Return the size that was set, in bytes; by default Flink's, 20 KiB."""
        return self._threshold if self._threshold >= 0 else 20 * _KIBI

    def get_write_buffer_size(self) -> int:
        """Return the size that was set, in bytes; by default Flink's, 4 KiB."""
        return self._write_buffer_size if self._write_buffer_size >= 0 else 4 * _KIBI

    def store(self, configuration: Configuration) -> None:
        """Set the options of the storage in `configuration`."""
        super().store(configuration)
        configuration.set(CHECKPOINT_STORAGE, "filesystem")


_ANY_NUMBER = 2_147_483_647


class CheckpointConfig:
    """A view of the checkpointing keys of a configuration.

    A live run always makes checkpoints, one at the end of each micro-batch. Only the intervals and
    the directory have an effect; other settings can be set and read.

    Example:
        >>> checkpoints = env.get_checkpoint_config().set_checkpoint_interval(10_000)
        >>> env.get_checkpoint_interval()
        10000
        >>> checkpoints.set_checkpoint_interval_during_backlog(0).get_checkpoint_interval_during_backlog()
        0
        >>> checkpoints.is_checkpointing_enabled()
        True
        >>> checkpoints = checkpoints.set_checkpoint_directory("/data/checkpoints/totals")
        >>> checkpoints.set_checkpoint_timeout(60_000).get_checkpoint_timeout()  # has no effect
        60000
        >>> checkpoints.set_min_pause_between_checkpoints(500).get_min_pause_between_checkpoints()
        500
        >>> checkpoints.set_max_concurrent_checkpoints(2).get_max_concurrent_checkpoints()
        2
        >>> checkpoints.enable_unaligned_checkpoints().is_unaligned_checkpoints_enabled()
        True
        >>> checkpoints = checkpoints.set_checkpoint_storage("/data/checkpoints")
        >>> checkpoints.get_checkpoint_storage().get_checkpoint_path()
        '/data/checkpoints'

        The rest has no effect, and is read as it was set:

        >>> checkpoints = checkpoints.set_checkpointing_mode(CheckpointingMode.AT_LEAST_ONCE)
        >>> checkpoints.get_checkpointing_mode().name
        'AT_LEAST_ONCE'
        >>> checkpoints.set_tolerable_checkpoint_failure_number(3).is_fail_on_checkpointing_errors()
        False
        >>> checkpoints = checkpoints.set_fail_on_checkpointing_errors(True)
        >>> checkpoints.get_tolerable_checkpoint_failure_number()
        0
        >>> retention = ExternalizedCheckpointRetention.DELETE_ON_CANCELLATION
        >>> checkpoints = checkpoints.set_externalized_checkpoint_retention(retention)
        >>> checkpoints.is_externalized_checkpoints_enabled()
        True
        >>> checkpoints.get_externalized_checkpoint_retention().name
        'DELETE_ON_CANCELLATION'
        >>> checkpoints = checkpoints.set_aligned_checkpoint_timeout(500)
        >>> checkpoints.get_aligned_checkpoint_timeout().to_millis()
        500
        >>> checkpoints.set_alignment_timeout(700).get_alignment_timeout().to_millis()
        700
        >>> checkpoints.set_force_unaligned_checkpoints().is_force_unaligned_checkpoints()
        True
        >>> checkpoints.disable_unaligned_checkpoints().is_unaligned_checkpoints_enabled()
        False
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def is_checkpointing_enabled(self) -> bool:
        """Return whether an interval was set; checkpoints are made in any case."""
        return any(self._configuration.contains_key(key) for key in CHECKPOINT_INTERVAL.keys)

    def set_checkpoint_interval(self, checkpoint_interval: Length) -> CheckpointConfig:
        """Set the time between two micro-batches to `checkpoint_interval`, in milliseconds."""
        interval = length_of(checkpoint_interval, "set_checkpoint_interval")
        self._configuration.set(CHECKPOINT_INTERVAL, interval)
        return self

    def get_checkpoint_interval(self) -> int:
        """Return the time between two micro-batches in milliseconds, -1 if it was not set."""
        if not self.is_checkpointing_enabled():
            return -1
        return milliseconds_of(self._configuration.get(CHECKPOINT_INTERVAL))

    def set_checkpoint_interval_during_backlog(
        self, checkpoint_interval: Length
    ) -> CheckpointConfig:
        """Set the interval while history is read.

        Args:
            checkpoint_interval: Milliseconds; 0 reads history as a batch.
        """
        interval = length_of(checkpoint_interval, "set_checkpoint_interval_during_backlog")
        self._configuration.set(INTERVAL_DURING_BACKLOG, interval)
        return self

    def get_checkpoint_interval_during_backlog(self) -> int | None:
        """Return the interval while history is read, in milliseconds; None if it was not set."""
        interval = self._configuration.get(INTERVAL_DURING_BACKLOG)
        return None if interval is None else milliseconds_of(interval)

    def set_checkpoint_directory(self, directory: str) -> CheckpointConfig:
        """Set the directory of progress and state to `directory`."""
        self._configuration.set(CHECKPOINT_DIR, directory)
        return self

    def set_checkpoint_storage(self, storage: CheckpointStorage | str) -> CheckpointConfig:
        """Set the directory of progress and state.

        Args:
            storage: A directory, or a `CheckpointStorage` with one.
        """
        if isinstance(storage, str):
            return self.set_checkpoint_directory(storage)
        storage.store(self._configuration)
        return self

    def get_checkpoint_storage(self) -> CheckpointStorage | None:
        """Return the storage of progress and state, None if it was not set."""
        return CheckpointStorage.of(self._configuration)

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Return the mode that was set; jobs always run exactly once."""
        return self._configuration.get(CHECKPOINTING_MODE)

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Set `checkpointing_mode`, which has no effect: jobs always run exactly once."""
        mode = checked_member(checkpointing_mode, CheckpointingMode, "set_checkpointing_mode")
        self._configuration.set(CHECKPOINTING_MODE, mode)
        return self

    def get_checkpoint_timeout(self) -> int:
        """Return the timeout that was set, in milliseconds."""
        return milliseconds_of(self._configuration.get(CHECKPOINT_TIMEOUT))

    def set_checkpoint_timeout(self, checkpoint_timeout: Length) -> CheckpointConfig:
        """Set `checkpoint_timeout` in milliseconds, which has no effect."""
        timeout = length_of(checkpoint_timeout, "set_checkpoint_timeout")
        self._configuration.set(CHECKPOINT_TIMEOUT, timeout)
        return self

    def get_min_pause_between_checkpoints(self) -> int:
        """Return the pause that was set, in milliseconds."""
        return milliseconds_of(self._configuration.get(MIN_PAUSE))

    def set_min_pause_between_checkpoints(
        self, min_pause_between_checkpoints: Length
    ) -> CheckpointConfig:
        """Set `min_pause_between_checkpoints` in milliseconds, which has no effect."""
        pause = length_of(min_pause_between_checkpoints, "set_min_pause_between_checkpoints")
        self._configuration.set(MIN_PAUSE, pause)
        return self

    def get_max_concurrent_checkpoints(self) -> int:
        """Return the number that was set."""
        return self._configuration.get(MAX_CONCURRENT_CHECKPOINTS)

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """Set `max_concurrent_checkpoints`, which has no effect."""
        number = checked_count(max_concurrent_checkpoints, "set_max_concurrent_checkpoints", 1)
        self._configuration.set(MAX_CONCURRENT_CHECKPOINTS, number)
        return self

    def is_fail_on_checkpointing_errors(self) -> bool:
        """Return whether the number of tolerable failed checkpoints is 0."""
        return self.get_tolerable_checkpoint_failure_number() == 0

    def set_fail_on_checkpointing_errors(
        self,
        fail_on_checkpointing_errors: bool,  # noqa: FBT001 - as in PyFlink
    ) -> CheckpointConfig:
        """Set `fail_on_checkpointing_errors`, which has no effect: a failed one fails the run."""
        return self.set_tolerable_checkpoint_failure_number(
            0 if fail_on_checkpointing_errors else _ANY_NUMBER
        )

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """Return the number that was set."""
        return self._configuration.get(TOLERABLE_FAILED_CHECKPOINTS)

    def set_tolerable_checkpoint_failure_number(
        self, tolerable_checkpoint_failure_number: int
    ) -> CheckpointConfig:
        """Set `tolerable_checkpoint_failure_number`, which has no effect."""
        number = checked_count(
            tolerable_checkpoint_failure_number, "set_tolerable_checkpoint_failure_number", 0
        )
        self._configuration.set(TOLERABLE_FAILED_CHECKPOINTS, number)
        return self

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Set `retention_mode`, which has no effect: a directory that was set is not deleted."""
        mode = checked_member(
            retention_mode, ExternalizedCheckpointRetention, "set_externalized_checkpoint_retention"
        )
        self._configuration.set(CHECKPOINT_RETENTION, mode)
        return self

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Return whether a mode was set that retains or deletes checkpoints."""
        none = ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
        return self.get_externalized_checkpoint_retention() is not none

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        """Return the mode that was set."""
        return self._configuration.get(CHECKPOINT_RETENTION)

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Return the flag that was set."""
        return self._configuration.get(UNALIGNED_CHECKPOINTS)

    def enable_unaligned_checkpoints(
        self,
        enabled: bool = True,  # noqa: FBT001, FBT002 - as in PyFlink
    ) -> CheckpointConfig:
        """Set the flag to `enabled`, which has no effect."""
        flag = checked_flag(enabled, "enable_unaligned_checkpoints")
        self._configuration.set(UNALIGNED_CHECKPOINTS, flag)
        return self

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        """Set the flag to False, which has no effect."""
        return self.enable_unaligned_checkpoints(enabled=False)

    def set_aligned_checkpoint_timeout(self, alignment_timeout: Length) -> CheckpointConfig:
        """Set `alignment_timeout` in milliseconds, which has no effect."""
        timeout = length_of(alignment_timeout, "set_aligned_checkpoint_timeout")
        self._configuration.set(ALIGNED_TIMEOUT, timeout)
        return self

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """Return the timeout that was set."""
        return Duration.of_millis(milliseconds_of(self._configuration.get(ALIGNED_TIMEOUT)))

    def set_alignment_timeout(self, alignment_timeout: Length) -> CheckpointConfig:
        """Set `alignment_timeout`; the older name of `set_aligned_checkpoint_timeout`."""
        return self.set_aligned_checkpoint_timeout(alignment_timeout)

    def get_alignment_timeout(self) -> Duration:
        """Return the timeout that was set; the older name of `get_aligned_checkpoint_timeout`."""
        return self.get_aligned_checkpoint_timeout()

    def set_force_unaligned_checkpoints(
        self,
        force_unaligned_checkpoints: bool = True,  # noqa: FBT001, FBT002 - as in PyFlink
    ) -> CheckpointConfig:
        """Set `force_unaligned_checkpoints`, which has no effect."""
        flag = checked_flag(force_unaligned_checkpoints, "set_force_unaligned_checkpoints")
        self._configuration.set(FORCED_UNALIGNED, flag)
        return self

    def is_force_unaligned_checkpoints(self) -> bool:
        """Return the flag that was set."""
        return self._configuration.get(FORCED_UNALIGNED)
