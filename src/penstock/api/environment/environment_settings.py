"""Settings of an environment: modes, checkpoints, failures, Python dependencies.

A view of its configuration; those without effect are logged when the job starts.
"""

from __future__ import annotations

import logging
from typing import Self

from penstock.api.environment.checkpointing import CheckpointConfig
from penstock.api.environment.execution_config import ExecutionConfig
from penstock.api.environment.restart_strategies import (
    RestartStrategyConfiguration,
    restart_strategy_of,
)
from penstock.api.environment.setting_values import (
    Length,
    checked_count,
    checked_flag,
    checked_member,
    checked_path,
    length_of,
    milliseconds_of,
)
from penstock.api.environment.slot_sharing import SlotSharingGroup
from penstock.api.environment.state_backends import StateBackend
from penstock.config.accepted_options import (
    ACCEPTED_PREFIXES,
    BUFFER_TIMEOUT,
    BUFFER_TIMEOUT_ENABLED,
    CACHED_FILES,
    CHANGELOG_ENABLED,
    IGNORED_PREFIXES,
    CheckpointingMode,
)
from penstock.config.configuration import Configuration
from penstock.config.flink_reporters import flink_reporters
from penstock.config.option import ConfigOption
from penstock.config.options import (
    ALL_OPTIONS,
    OPERATOR_CHAINING,
    RUNTIME_MODE,
    SAVEPOINT_DIR,
    RuntimeExecutionMode,
)
from penstock.config.run_options import (
    PYTHON_ARCHIVES,
    PYTHON_EXECUTABLE,
    PYTHON_FILES,
    PYTHON_REQUIREMENTS,
)
from penstock.errors import ArgumentError

_logger = logging.getLogger("penstock")
_logged: set[str] = set()
"""Prefixes, and names of reporters, that this process has logged."""


def log_ignored_settings(configuration: Configuration) -> None:
    """Log a warning for each prefix of settings whose effect a user would expect, once per process."""
    keys = sorted(configuration.to_dict())
    for prefix in IGNORED_PREFIXES:
        ignored = [key for key in keys if key.startswith(prefix)]
        if ignored and prefix not in _logged:
            _logged.add(prefix)
            _logger.warning("%s: %s", ", ".join(ignored), ACCEPTED_PREFIXES[prefix].lower())
    for name, instead in flink_reporters(configuration).ineffective.items():
        if name not in _logged:
            _logged.add(name)
            _logger.warning("reporter of metrics %s has no effect: %s", name, instead)


_NO_TIMEOUT = -1


class EnvironmentSettings:
    """Base of the environment: its configuration, with a method per setting."""

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration(configuration)
        self._slot_sharing_groups: dict[str, SlotSharingGroup] = {}
        self._local_parallelism: int | None = None

    def get_configuration(self) -> Configuration:
        """Return the configuration; changes to it take effect at `execute`."""
        return self._configuration

    def configure(self, configuration: Configuration) -> None:
        """Set all options of `configuration`, in place of those set before under any key."""
        given = configuration.key_set()
        for option in ALL_OPTIONS:
            if not given.isdisjoint(option.keys):
                for key in option.keys:
                    self._configuration.remove_config(key)
        self._configuration.add_all(configuration)

    def get_config(self) -> ExecutionConfig:
        """Return the execution settings; changes take effect at `execute`."""
        return ExecutionConfig(self._configuration)

    def set_parallelism(self, parallelism: int) -> Self:
        """Set the number of subtasks of every operator that does not set its own.

        Args:
            parallelism: An integer from 1.

        Raises:
            ConfigError: It is not an integer from 1.
        """
        self.get_config().set_parallelism(parallelism)
        return self

    def get_parallelism(self) -> int:
        """Return the number of subtasks of every operator that does not set its own."""
        return self.get_config().get_parallelism()

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Set the number of key groups, which limits the parallelism as long as the state exists.

        Args:
            max_parallelism: An integer from 1.
        """
        self.get_config().set_max_parallelism(max_parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """Return the number of key groups."""
        return self.get_config().get_max_parallelism()

    def set_default_local_parallelism(self, parallelism: int) -> None:
        """Do nothing: `set_parallelism` decides. PyFlink has the method.

        Args:
            parallelism: An integer from 1.

        Raises:
            ArgumentError: It is not an integer from 1.
        """
        self._local_parallelism = checked_count(parallelism, "set_default_local_parallelism", 1)

    def get_default_local_parallelism(self) -> int:
        """Return the number that was set, the number of subtasks if it was not."""
        set_to = self._local_parallelism
        return self.get_parallelism() if set_to is None else set_to

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> Self:
        """Set the runtime mode: AUTOMATIC, BATCH or STREAMING.

        Args:
            execution_mode: The mode.

        Raises:
            ArgumentError: It is no `RuntimeExecutionMode`.
        """
        mode = checked_member(execution_mode, RuntimeExecutionMode, "set_runtime_mode")
        self._configuration.set(RUNTIME_MODE, mode)
        return self

    def set_buffer_timeout(self, timeout_millis: Length) -> Self:
        """Do nothing: records are sent at the end of each micro-batch. PyFlink has the method.

        Args:
            timeout_millis: Milliseconds, -1 for none.
        """
        waits = timeout_millis != _NO_TIMEOUT
        if waits:
            timeout = length_of(timeout_millis, "set_buffer_timeout")
            self._configuration.set(BUFFER_TIMEOUT, timeout)
        self._configuration.set(BUFFER_TIMEOUT_ENABLED, waits)
        return self

    def get_buffer_timeout(self) -> int:
        """Return the time that was set, in milliseconds."""
        if not self._configuration.get(BUFFER_TIMEOUT_ENABLED):
            return _NO_TIMEOUT
        return milliseconds_of(self._configuration.get(BUFFER_TIMEOUT))

    def disable_operator_chaining(self) -> Self:
        """Disable chaining: operators exchange records in frames. Slower, with the same results."""
        self._configuration.set(OPERATOR_CHAINING, value=False)
        return self

    def is_chaining_enabled(self) -> bool:
        """Return whether operators may be chained."""
        return self._configuration.get(OPERATOR_CHAINING)

    def register_slot_sharing_group(self, slot_sharing_group: SlotSharingGroup) -> Self:
        """Do nothing: Spark has no slots to share. PyFlink has the method.

        Args:
            slot_sharing_group: The group.

        Raises:
            ArgumentError: It is no `SlotSharingGroup`.
        """
        if not isinstance(slot_sharing_group, SlotSharingGroup):
            raise ArgumentError.here(
                f"register_slot_sharing_group got {slot_sharing_group!r}",
                hint="Pass a SlotSharingGroup, made with SlotSharingGroup.builder(name).build().",
            )
        self._slot_sharing_groups[slot_sharing_group.get_name()] = slot_sharing_group
        return self

    def enable_checkpointing(self, interval: Length, mode: CheckpointingMode | None = None) -> Self:
        """Set the time between two micro-batches, each of which is a checkpoint.

        Args:
            interval: Milliseconds.
            mode: Only EXACTLY_ONCE exists; AT_LEAST_ONCE is accepted and exceeded.
        """
        checkpoints = self.get_checkpoint_config().set_checkpoint_interval(interval)
        if mode is not None:
            checkpoints.set_checkpointing_mode(mode)
        return self

    def get_checkpoint_config(self) -> CheckpointConfig:
        """Return the checkpointing settings; changes take effect at `execute`."""
        return CheckpointConfig(self._configuration)

    def get_checkpoint_interval(self) -> int:
        """Return the checkpoint interval in milliseconds, -1 if it was not set."""
        return self.get_checkpoint_config().get_checkpoint_interval()

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Return the mode that was set; jobs always run exactly once."""
        return self.get_checkpoint_config().get_checkpointing_mode()

    def get_checkpointing_consistency_mode(self) -> CheckpointingMode:
        """Return the mode that was set; another name of `get_checkpointing_mode`."""
        return self.get_checkpointing_mode()

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Return the flag that was set on the checkpointing settings."""
        return self.get_checkpoint_config().is_unaligned_checkpoints_enabled()

    def is_force_unaligned_checkpoints(self) -> bool:
        """Return the flag that was set on the checkpointing settings."""
        return self.get_checkpoint_config().is_force_unaligned_checkpoints()

    def enable_changelog_state_backend(
        self,
        enabled: bool,  # noqa: FBT001 - as in PyFlink
    ) -> Self:
        """Do nothing: a live run always writes a change log. PyFlink has the method.

        Args:
            enabled: Returned by `is_changelog_state_backend_enabled`.
        """
        flag = checked_flag(enabled, "enable_changelog_state_backend")
        self._configuration.set(CHANGELOG_ENABLED, flag)
        return self

    def is_changelog_state_backend_enabled(self) -> bool | None:
        """Return the flag that was set, None if it was not."""
        return self._configuration.get(CHANGELOG_ENABLED)

    def set_default_savepoint_directory(self, directory: str) -> Self:
        """Set the directory of savepoints whose request names no other: `directory`."""
        self._configuration.set(SAVEPOINT_DIR, directory)
        return self

    def get_default_savepoint_directory(self) -> str | None:
        """Return the directory of savepoints, None for the checkpoint directory."""
        return self._configuration.get(SAVEPOINT_DIR)

    def set_state_backend(self, state_backend: StateBackend) -> Self:
        """Set the backend of the workers' local copies of state (PyFlink before 2.0).

        Args:
            state_backend: A `HashMapStateBackend` or `EmbeddedRocksDBStateBackend`.

        Raises:
            ArgumentError: It is no state backend.
        """
        if not isinstance(state_backend, StateBackend):
            raise ArgumentError.here(
                f"set_state_backend got {state_backend!r}",
                hint="Pass HashMapStateBackend() or EmbeddedRocksDBStateBackend().",
            )
        state_backend.store(self._configuration)
        return self

    def get_state_backend(self) -> StateBackend | None:
        """Return the state backend that was set, None if it was not (PyFlink before 2.0)."""
        return StateBackend.of(self._configuration)

    def set_restart_strategy(self, restart_strategy: RestartStrategyConfiguration) -> Self:
        """Set the restart strategy after failures (PyFlink before 2.0).

        Args:
            restart_strategy: Made by a method of `RestartStrategies`.

        Raises:
            ArgumentError: It is no strategy.
        """
        if not isinstance(restart_strategy, RestartStrategyConfiguration):
            raise ArgumentError.here(
                f"set_restart_strategy got {restart_strategy!r}",
                hint="Pass a strategy such as RestartStrategies.fixed_delay_restart(3, 10_000).",
            )
        restart_strategy.store(self._configuration)
        return self

    def get_restart_strategy(self) -> RestartStrategyConfiguration:
        """Return the restart strategy (PyFlink before 2.0)."""
        return restart_strategy_of(self._configuration)

    def register_cached_file(
        self,
        file_path: str,
        name: str,
        executable: bool = False,  # noqa: FBT001, FBT002 - as in PyFlink
    ) -> None:
        """Do nothing: `add_python_archive` ships files to the workers. PyFlink has the method.

        Args:
            file_path: Path of the file.
            name: Under which functions would open it.
            executable: True if it is executable.
        """
        entry = f"name:{name},path:{file_path},executable:{str(executable).lower()}"
        earlier = self._configuration.get(CACHED_FILES)
        self._configuration.set(CACHED_FILES, f"{earlier};{entry}" if earlier else entry)


class PythonDependencies(EnvironmentSettings):
    """Base of the environment: Python dependencies of the workers, read by `execute`."""

    def add_python_file(self, file_path: str) -> None:
        """Add a Python file, package, zip file, wheel or directory that functions import.

        Workers can import the modules of a directory, zip file or wheel. A directory that is a
        package can be imported itself, too.

        Args:
            file_path: Its path.

        Raises:
            ArgumentError: It is no path.
        """
        self._append(PYTHON_FILES, checked_path(file_path, "add_python_file"))

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> None:
        """Set the requirements that pip installs for functions.

        They are installed once per content, on this machine, and shipped to the workers, which
        must have the same platform and Python version.

        Args:
            requirements_file_path: A `requirements.txt`.
            requirements_cache_dir: A directory with the packages and all that they require.
                Then no network is used.

        Raises:
            ArgumentError: One is no path.
        """
        value = checked_path(requirements_file_path, "set_python_requirements")
        if requirements_cache_dir is not None:
            value += f"#{checked_path(requirements_cache_dir, 'set_python_requirements')}"
        self._configuration.set(PYTHON_REQUIREMENTS, value)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Add a zip or tar archive that is unpacked in the current directory of the workers.

        Workers of a job with archives have a current directory of their own, in which there is
        nothing else.

        Args:
            archive_path: The archive.
            target_dir: Directory to unpack it in, relative. None is the archive's own name.

        Raises:
            ArgumentError: One is no path.
        """
        value = checked_path(archive_path, "add_python_archive")
        if target_dir is not None:
            value += f"#{checked_path(target_dir, 'add_python_archive')}"
        self._append(PYTHON_ARCHIVES, value)

    def set_python_executable(self, python_exec: str) -> None:
        """Set the interpreter of the workers: a path, a command, or a path in an archive.

        It needs Penstock and its dependencies, and Python of the same version.

        Args:
            python_exec: The path or command.

        Raises:
            ArgumentError: It is no path.
        """
        path = checked_path(python_exec, "set_python_executable")
        self._configuration.set(PYTHON_EXECUTABLE, path)

    def _append(self, option: ConfigOption[str | None], value: str) -> None:
        earlier = self._configuration.get(option)
        self._configuration.set(option, value if earlier is None else f"{earlier},{value}")
