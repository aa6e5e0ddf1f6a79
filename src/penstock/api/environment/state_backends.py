"""`StateBackend` and its classes: how workers store state, under Flink's names."""

from __future__ import annotations

from enum import Enum
from typing import ClassVar

from penstock.api.environment.setting_values import checked_count, checked_member
from penstock.config.accepted_options import INCREMENTAL_CHECKPOINTS
from penstock.config.configuration import Configuration
from penstock.config.options import STATE_BACKEND
from penstock.errors import ArgumentError


class StateBackend:
    """The storage of the state's local copy in workers.

    Attributes:
        backend_type: The value of `state.backend.type`.

    Example:
        >>> env.set_state_backend(HashMapStateBackend()).get_state_backend().backend_type
        'hashmap'
    """

    backend_type: ClassVar[str]

    def store(self, configuration: Configuration) -> None:
        """Set the options of the backend in `configuration`."""
        configuration.set(STATE_BACKEND, self.backend_type)

    @staticmethod
    def of(configuration: Configuration) -> StateBackend | None:
        """Return the backend that `configuration` names, None if it names none."""
        if not any(configuration.contains_key(key) for key in STATE_BACKEND.keys):
            return None
        if configuration.get(STATE_BACKEND) == HashMapStateBackend.backend_type:
            return HashMapStateBackend()
        named = any(configuration.contains_key(key) for key in INCREMENTAL_CHECKPOINTS.keys)
        incremental = configuration.get(INCREMENTAL_CHECKPOINTS) if named else None
        return EmbeddedRocksDBStateBackend(incremental)

    def __str__(self) -> str:
        return type(self).__name__


class HashMapStateBackend(StateBackend):
    """State as objects in the memory of each worker process.

    Example:
        >>> env.set_state_backend(HashMapStateBackend()).get_state_backend().backend_type
        'hashmap'
    """

    backend_type: ClassVar[str] = "hashmap"


class CustomStateBackend(StateBackend):
    """Flink's wrapper of a state backend that is a Java class; it cannot be used."""

    def __init__(self, j_custom_state_backend: object = None) -> None:
        """Refuse.

        Raises:
            ArgumentError: Always.
        """
        raise ArgumentError.here(
            "CustomStateBackend wraps a Java class, and state is not kept in Java here",
            hint="Use HashMapStateBackend, or EmbeddedRocksDBStateBackend for state that may exceed "
            "memory.",
        )


class PredefinedOptions(Enum):
    """Flink's profiles of RocksDB, which have no effect."""

    DEFAULT = 0
    SPINNING_DISK_OPTIMIZED = 1
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    FLASH_SSD_OPTIMIZED = 3


class EmbeddedRocksDBStateBackend(StateBackend):
    """State that may exceed memory: LMDB files that the workers of an executor share.

    Its settings can be set and read, and have no effect.

    Example:
        >>> env.set_state_backend(EmbeddedRocksDBStateBackend()).get_state_backend().backend_type
        'lmdb'
        >>> backend = EmbeddedRocksDBStateBackend(True)
        >>> backend.is_incremental_checkpoints_enabled()
        True
        >>> backend.set_db_storage_paths("/fast/disk")
        >>> backend.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)
        >>> backend.set_options("com.example.Factory")
        >>> backend.set_number_of_transfer_threads(8)
        >>> backend.get_db_storage_paths(), backend.get_predefined_options().name
        (['/fast/disk'], 'FLASH_SSD_OPTIMIZED')
        >>> backend.get_options(), backend.get_number_of_transfer_threads()
        ('com.example.Factory', 8)
    """

    backend_type: ClassVar[str] = "lmdb"

    def __init__(
        self,
        enable_incremental_checkpointing: bool | None = None,  # noqa: FBT001 - as in PyFlink
    ) -> None:
        """Describe the backend.

        Args:
            enable_incremental_checkpointing: Has no effect: checkpoints are always incremental.

        Raises:
            ArgumentError: It is neither None nor a boolean.
        """
        if enable_incremental_checkpointing not in (None, True, False):
            raise ArgumentError.here(
                f"enable_incremental_checkpointing is {enable_incremental_checkpointing!r}",
                hint="Pass True, False or None.",
            )
        self._incremental = enable_incremental_checkpointing
        self._paths: tuple[str, ...] = ()
        self._predefined = PredefinedOptions.DEFAULT
        self._options: str | None = None
        self._transfer_threads = 4

    def store(self, configuration: Configuration) -> None:
        """Set the options of the backend in `configuration`."""
        super().store(configuration)
        if self._incremental is not None:
            configuration.set(INCREMENTAL_CHECKPOINTS, self._incremental)

    def set_db_storage_paths(self, *paths: str) -> None:
        """Set `paths`, which have no effect: the files are in Spark's local directories."""
        self._paths = paths

    def get_db_storage_paths(self) -> list[str]:
        """Return the paths that were set."""
        return list(self._paths)

    def is_incremental_checkpoints_enabled(self) -> bool:
        """Return the flag that was set, False if it was not."""
        return bool(self._incremental)

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        """Set the profile `options`, which has no effect."""
        self._predefined = checked_member(options, PredefinedOptions, "set_predefined_options")

    def get_predefined_options(self) -> PredefinedOptions:
        """Return the profile that was set."""
        return self._predefined

    def set_options(self, options_factory_class_name: str) -> None:
        """Set `options_factory_class_name`, the name of a Java class, which is not loaded."""
        self._options = options_factory_class_name

    def get_options(self) -> str | None:
        """Return the name that was set."""
        return self._options

    def get_number_of_transfer_threads(self) -> int:
        """Return the number that was set."""
        return self._transfer_threads

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        """Set `number_of_transfering_threads`, which has no effect."""
        self._transfer_threads = checked_count(
            number_of_transfering_threads, "set_number_of_transfer_threads", 1
        )
