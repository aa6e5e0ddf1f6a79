"""The directory of temporary files of Spark and the JVM, with the sockets between the JVM and its workers."""

from __future__ import annotations

import atexit
import json
import logging
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from penstock.spark.session.process_identity import ProcessIdentity

_OWNER = "owner.json"
_PREFIX = "spark-"
PLAIN_PATH = Path("/tmp")  # noqa: S108 - directories in it are made for this user only
"""A directory for what Spark does not take in every place: short, in small letters, without commas and blanks."""


class TemporaryDirectory:
    """A directory of this process and of the JVM that it starts."""

    def __init__(self, parent: Path | None = None) -> None:
        """Make the directory, and remove those of processes that have ended."""
        shared = _shared(parent or _default())
        _remove_left(shared)
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=shared))
        self._write([ProcessIdentity.own()])

    def note_jvm(self, pid: int) -> None:
        """Record a JVM that uses it; the JVM may outlive this process."""
        self._write([ProcessIdentity.own(), ProcessIdentity.of(pid)])

    def _write(self, owners: list[ProcessIdentity]) -> None:
        path = self.path / _OWNER
        new_path = path.with_suffix(".new")
        new_path.write_text(json.dumps([owner.to_json() for owner in owners]), encoding="utf-8")
        new_path.rename(path)


def _default() -> Path:
    """Return the system's directory, another one if Spark would take its path for several: it divides it at commas."""
    directory = tempfile.gettempdir()
    if "," not in directory:
        return Path(directory)
    _logger.info("temporary files of Spark are in %s: %s has a comma", PLAIN_PATH, directory)
    return PLAIN_PATH


def _shared(parent: Path) -> Path:
    """Return the directory of this user, or the parent if another user made one of that name."""
    path = parent / f"penstock-{os.getuid()}"
    with suppress(FileExistsError):  # it may also be no directory
        path.mkdir(mode=stat.S_IRWXU)
    status = path.lstat()
    is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
    return path if is_own and not status.st_mode & 0o077 else parent


def _remove_left(shared: Path) -> None:
    for path in shared.glob(f"{_PREFIX}*/{_OWNER}"):
        try:
            recorded = json.loads(path.read_text(encoding="utf-8"))
            owners = [ProcessIdentity(**owner) for owner in recorded]
        except (OSError, ValueError, TypeError):
            continue  # another process is making or removing it, or it is not our file
        if owners and all(owner.has_ended() for owner in owners):
            shutil.rmtree(path.parent, ignore_errors=True)


_ENABLED = "spark.python.unix.domain.socket.enabled"
_DIRECTORY = "spark.python.unix.domain.socket.dir"

_NAME = "sockets"
_LONGEST = 61
"""Most bytes of a directory: with the name of a socket a path must be shorter than 108, on macOS 104."""
_LOCAL = re.compile(r"local(\[.*)?")
"""Masters whose workers are on this machine. Executors elsewhere do not have the directory."""

_logger = logging.getLogger("penstock")


def socket_settings(settings: Mapping[str, str], temporary: TemporaryDirectory) -> dict[str, str]:
    """Return the settings of sockets that a session lacks; none if it is not to have sockets."""
    is_enabled = settings.get(_ENABLED, "true").lower() == "true"
    if not is_enabled or not _LOCAL.fullmatch(settings["spark.master"]):
        return {}
    if _DIRECTORY in settings:
        return {_ENABLED: "true"}
    path = _made(temporary)
    return {} if path is None else {_ENABLED: "true", _DIRECTORY: str(path)}


def _made(temporary: TemporaryDirectory) -> Path | None:
    """Make the directory of the sockets; return None if there is no place whose path serves."""
    parent = temporary.path
    if not _serves(parent):
        with suppress(OSError):
            parent = TemporaryDirectory(PLAIN_PATH).path
    path = parent / _NAME
    if not _serves(parent):
        _logger.info(
            "Python workers are reached over TCP: %s does not serve for Unix sockets", path
        )
        return None
    path.mkdir(stat.S_IRWXU, exist_ok=True)
    # A process that ends without stopping its session leaves the socket of its accumulators.
    atexit.register(_remove, path, os.getpid())
    return path


def _serves(parent: Path) -> bool:
    """Return whether the path is short, and without capitals.

    Spark 4.3 sends the path of the state server of `transformWithState` in lower case to the worker of a task,
    which then finds no such file.
    """
    path = str(parent / _NAME)
    return len(os.fsencode(path)) <= _LONGEST and path == path.lower()


def _remove(path: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked process may run these functions too
        shutil.rmtree(path, ignore_errors=True)
