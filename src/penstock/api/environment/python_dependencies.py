"""Python dependencies of the workers: files, requirements, archives, an interpreter."""

from __future__ import annotations

from penstock.api.environment.environment_settings import EnvironmentSettings
from penstock.api.environment.setting_values import checked_path
from penstock.config.option import ConfigOption
from penstock.config.python_options import (
    PYTHON_ARCHIVES,
    PYTHON_EXECUTABLE,
    PYTHON_FILES,
    PYTHON_REQUIREMENTS,
)


class PythonDependencies(EnvironmentSettings):
    """Base of the environment: Python dependencies of the workers, read by `execute`."""

    def add_python_file(self, file_path: str) -> None:
        """Add a Python file, package, zip file, wheel or directory that functions import.

        What a directory, zip file or wheel contains can be imported. A directory that is a
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
