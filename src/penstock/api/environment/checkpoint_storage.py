"""`CheckpointStorage` and its classes: directories of checkpoints, under Flink's names."""

from __future__ import annotations

from typing import ClassVar

from penstock.config.accepted_options import CHECKPOINT_STORAGE
from penstock.config.configuration import Configuration
from penstock.config.options import CHECKPOINT_DIR, SAVEPOINT_DIR
from penstock.errors import ArgumentError

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
        found: CheckpointStorage | None = None
        if kind == "jobmanager":
            found = JobManagerCheckpointStorage(path)
        elif path is not None:
            found = FileSystemCheckpointStorage(path)
        if found is not None:
            found._savepoint_path = configuration.get(SAVEPOINT_DIR)  # noqa: SLF001 - our own
        return found

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
                hint="Pass the directory in which checkpoints shall be kept.",
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
