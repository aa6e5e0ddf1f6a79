"""Unix domain sockets between the JVM of a local session and its Python workers.

Over TCP every Python stage of a small job waits some 40 ms for a delayed acknowledgement. Over Unix sockets
Spark has no authentication: whoever may open the file of a socket may send a worker code. So the files
are in a directory of this user only.

    TMP/penstock-UID/spark-XXXXXXXX/sockets/.UUID.sock
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from penstock.spark.session.temporary_directory import PLAIN_PATH, TemporaryDirectory

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
    is_wanted = settings.get(_ENABLED, "true").lower() == "true"
    if not is_wanted or not _LOCAL.fullmatch(settings["spark.master"]):
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

    Spark 4.3 writes the path of the state server of `transformWithState` in small letters where it tells it to
    a worker of a task, which then finds no such file.
    """
    path = str(parent / _NAME)
    return len(os.fsencode(path)) <= _LONGEST and path == path.lower()


def _remove(path: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked process may run these functions too
        shutil.rmtree(path, ignore_errors=True)
