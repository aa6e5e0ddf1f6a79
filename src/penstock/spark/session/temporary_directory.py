"""The directory of temporary files of Spark and the JVM, with a record of its owner.

    TMP/penstock-UID/             of this user only
        spark-XXXXXXXX/           of one session: `java.io.tmpdir`, and so Spark's `spark.local.dir`
            owner.json            the driver and its JVM

A process removes its files when it ends, but not when it is killed: shuffle files, and the library of
RocksDB with 15 MB, would stay. So a process that makes a directory removes those whose owners have
ended.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from penstock.spark.session.process_identity import ProcessIdentity

_OWNER = "owner.json"
_PREFIX = "spark-"
PLAIN_PATH = Path("/tmp")  # noqa: S108 - directories in it are made for this user only
"""A directory for what Spark does not take in every place: short, in small letters, without commas and blanks."""

_logger = logging.getLogger("penstock")


class TemporaryDirectory:
    """A directory of this process and of the JVM that it starts.

    Attributes:
        path: The directory.
    """

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
        made = path.with_suffix(".new")
        made.write_text(json.dumps([owner.to_json() for owner in owners]), encoding="utf-8")
        made.rename(path)


def _default() -> Path:
    """Return the system's directory, another one if Spark would take its path for several: it divides it at commas."""
    found = tempfile.gettempdir()
    if "," not in found:
        return Path(found)
    _logger.info("temporary files of Spark are in %s: %s has a comma", PLAIN_PATH, found)
    return PLAIN_PATH


def _shared(parent: Path) -> Path:
    """Return the directory of this user, or the parent if another user made one of that name."""
    path = parent / f"penstock-{os.getuid()}"
    with suppress(FileExistsError):  # it may also be no directory
        path.mkdir(mode=stat.S_IRWXU)
    found = path.lstat()
    is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    return path if is_own and not found.st_mode & 0o077 else parent


def _remove_left(shared: Path) -> None:
    for path in shared.glob(f"{_PREFIX}*/{_OWNER}"):
        try:
            recorded = json.loads(path.read_text(encoding="utf-8"))
            owners = [ProcessIdentity(**each) for each in recorded]
        except (OSError, ValueError, TypeError):
            continue  # another process is making or removing it, or it is not our file
        if owners and all(owner.has_ended() for owner in owners):
            shutil.rmtree(path.parent, ignore_errors=True)
