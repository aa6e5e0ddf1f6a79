"""The lock of a checkpoint directory, and its owner.

    lock         locked (`flock`) by the driver that runs the job; always empty
    owner.json   epoch, token and processes of the last driver; see `wire.fence`

The kernel releases the lock when a driver ends in any way. Its JVM may run a moment longer, so the
next driver waits for it. PID, start time and boot identify the JVM, so no other process is mistaken
for it. The lock does not cover a driver that hangs and cannot be ended, or one on a host that shares
the directory but not its locks. There the epoch decides: the new driver increments it, and the old
driver's next commit fails. A user who removes `lock` declares its holder dead: the next driver does
not wait for it. A directory in a store has numbers instead: `stored_lock`.
"""

from __future__ import annotations

import fcntl
import os
import random
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from penstock.errors import DecodeError, JobDirectoryError, JobFencedError, JobLockedError
from penstock.filesystem.stored_path import JobPath, StoredPath
from penstock.spark.job.stored_lock import StoredLock, is_alive, wait_for_jvm
from penstock.spark.session.process_identity import ProcessIdentity
from penstock.wire.atomic_file import PRIVATE_FILE, read_verified, write_verified
from penstock.wire.fence import OWNER, Fence

LOCK = "lock"
_PROBE_SECONDS = 30.0


class JobLock:
    """A checkpoint directory that this driver has taken over.

    Attributes:
        fence: The fence, which lets this driver commit until another one takes over.
    """

    def __init__(self, file: IO[str], fence: Fence, *, is_temporary: bool) -> None:
        """Use `take`."""
        self._file = file
        self.fence = fence
        self._is_durable = not is_temporary

    @classmethod
    def take(cls, directory: Path, *, is_temporary: bool = False) -> JobLock:
        """Lock a directory and raise its epoch."""
        known = owner_of(directory)
        is_declared_dead = known is not None and not (directory / LOCK).exists()
        file = _locked_file(directory)
        try:
            known = owner_of(directory)  # only this driver writes it now
            if known is not None and not is_declared_dead:
                wait_for_jvm(known, directory)
            fence = Fence(
                directory / OWNER,
                1 if known is None else known["epoch"] + 1,
                secrets.token_hex(8),
            )
            lock = cls(file, fence, is_temporary=is_temporary)
            lock._write(ProcessIdentity.own(), None)
        except BaseException:
            file.close()  # `owner.json` is unchanged: the next driver needs it
            raise
        return lock

    def note_jvm(self, pid: int) -> None:
        """Record the JVM of this driver; it may outlive the driver."""
        self._write(ProcessIdentity.own(), ProcessIdentity.of(pid), self.fence)

    def release(self) -> None:
        """Unlock."""
        # A driver that took over has written its own processes. If the disk is full, ours stay
        # recorded; the next driver detects that they have ended, or that they are its own.
        with suppress(JobFencedError, JobDirectoryError, OSError):
            self._write(None, None, self.fence)
        self._file.close()

    def undo(self, before: dict[str, Any] | None) -> None:
        """Unlock, and leave the owner as it was before the lock was taken."""
        if before is None:
            self.fence.path.unlink(missing_ok=True)
            (self.fence.path.parent / LOCK).unlink(missing_ok=True)
        else:
            write_verified(self.fence.path, before, is_durable=self._is_durable)
        self._file.close()

    def _write(
        self,
        driver: ProcessIdentity | None,
        jvm: ProcessIdentity | None,
        fence: Fence | None = None,
    ) -> None:
        payload = {
            "epoch": self.fence.epoch,
            "token": self.fence.token,
            "driver": None if driver is None else driver.to_json(),
            "jvm": None if jvm is None else jvm.to_json(),
        }
        write_verified(self.fence.path, payload, may_replace=fence, is_durable=self._is_durable)


def take_lock(directory: JobPath, *, is_temporary: bool = False) -> JobLock | StoredLock:
    """Take a checkpoint directory over."""
    if isinstance(directory, StoredPath):
        return StoredLock.take(directory)
    return JobLock.take(directory, is_temporary=is_temporary)


def is_locked(directory: JobPath) -> bool:
    """Return whether a driver has locked a directory.

    It takes the lock for an instant, shared; a driver that starts at that instant tries again. For a directory in a
    store it returns whether the newest driver seems to be alive.
    """
    try:
        if isinstance(directory, StoredPath):
            return is_alive(directory)
        with (directory / LOCK).open(encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    except OSError as cause:
        raise JobDirectoryError.unreadable(directory / LOCK, cause) from cause
    return False


def _locked_file(directory: Path) -> IO[str]:
    deadline = time.monotonic() + _PROBE_SECONDS
    path = directory / LOCK
    while True:
        file = os.fdopen(
            os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, PRIVATE_FILE),
            "a+",
            encoding="utf-8",
        )
        is_ours = _try(file, fcntl.LOCK_EX)
        # A shared lock is possible, so `is_locked` has the lock, and no driver.
        is_refused = not is_ours and (not _try(file, fcntl.LOCK_SH) or time.monotonic() > deadline)
        if is_ours and _is_at(path, file):
            return file
        file.close()
        if is_refused:
            raise _refused(directory)
        time.sleep(random.uniform(0.001, 0.01))  # noqa: S311 - not a secret


def _is_at(path: Path, file: IO[str]) -> bool:
    """Return whether a path still names an open file; a user may have removed it."""
    return path.exists() and path.stat().st_ino == os.fstat(file.fileno()).st_ino


def _try(file: IO[str], how: int) -> bool:
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _refused(directory: Path) -> JobLockedError:
    owner = owner_of(directory)
    driver = None if owner is None else ProcessIdentity.from_json(owner["driver"])
    who = "" if driver is None else f" ({driver})"
    return JobLockedError(
        f"another driver{who} is running the job in {directory}",
        hint="Stop it first, or give this job a checkpoint directory of its own. If it hangs and "
        f"cannot be ended, remove {directory / LOCK}: whatever it commits later is refused.",
    )


def owner_of(directory: Path) -> dict[str, Any] | None:
    """Return the record of the driver that has a directory, or had it last; None if there was none."""
    try:
        return read_verified(directory / OWNER)
    except FileNotFoundError:
        return None
    except DecodeError as cause:
        raise JobDirectoryError(
            cause.problem,
            hint=f"Make sure that no driver runs the job, and remove {directory / OWNER}.",
        ) from cause
