"""The fence of a checkpoint directory: only the driver that took it over last may commit.

    owner.json   {"epoch": 7, "token": "9f0c…", "driver": {…}, "jvm": {…}}

Every driver that takes a directory over writes the next epoch with a unique token, and checks before
each commit that the file still contains both. A lock is not enough: a driver that was stopped for a
while, or whose host lost the file system, continues later without its lock. As with Kafka's producer
epoch, the new driver wins, and the old one fails before its data becomes visible.

A driver checks several times per epoch. The file is replaced as a whole, never changed, so a file that was read
once need not be read again while the name leads to it: inode, times and size identify it. Each check opens the file,
because a network file system queries its server when a file is opened, and may answer `stat` from a
cache. A file younger than two seconds is read, because its successor could have the same inode and the same time.

In an object store every driver has an object of its own, which only one can create and no driver removes:

    drivers/000000000007.json   the driver with epoch 7 has begun

A driver checks whether there is one of the next epoch. A put that is under way at the check may arrive later. So a driver
commits only under names that its successor does not use, or creates the objects: see `spark/job/job_steps.py`.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from penstock.errors import DecodeError, JobDirectoryError, JobFencedError
from penstock.filesystem.stored_path import JobPath, StoredPath
from penstock.wire.atomic_file import read_verified

OWNER = "owner.json"

_YOUNG_SECONDS = 2.0

FileFacts = tuple[int, int, int, int, int]
"""Device, inode, modification time, change time in nanoseconds, and size of a file."""


@dataclass(frozen=True, slots=True)
class Fence:
    """The epoch and token of one driver; picklable.

    Attributes:
        path: The file, `owner.json`; in a store the object of this driver.
        epoch: Epoch of this driver, from 1.
        token: Distinguishes drivers with the same epoch, on hosts that share no locks.
    """

    path: JobPath
    epoch: int
    token: str
    _read: set[FileFacts] = field(default_factory=set, compare=False, repr=False)

    def __call__(self) -> None:
        """Check that the driver may commit."""
        if isinstance(self.path, StoredPath):
            self._check_next(self.path)
            return
        try:
            facts, is_young = _facts_of(self.path)
            if facts in self._read:
                return
            now = read_verified(self.path)
        except DecodeError as cause:
            raise JobDirectoryError(cause.problem, hint=cause.hint) from cause
        except OSError as cause:
            raise self._unreadable(cause) from cause
        if (now["epoch"], now["token"]) != (self.epoch, self.token):
            raise JobFencedError(
                f"another driver has taken {self.path.parent} over: it has epoch {now['epoch']}, "
                f"this driver had {self.epoch}",
                hint="Leave the job to the other driver; later work of this one stays invisible.",
            )
        if not is_young:
            self._read.add(facts)

    def _check_next(self, own: StoredPath) -> None:
        """Check that no driver has the next epoch: epochs are without holes."""
        try:
            is_fenced = (own.parent / driver_name(self.epoch + 1)).is_file()
        except OSError as cause:
            raise self._unreadable(cause) from cause
        if is_fenced:
            raise JobFencedError(
                f"another driver has taken {own.parent.parent} over: this driver had epoch {self.epoch}, and "
                "there is a later one",
                hint="Leave the job to the other driver; later work of this one stays invisible.",
            )

    def _unreadable(self, cause: OSError) -> JobDirectoryError:
        return JobDirectoryError(
            f"the driver that may commit is unknown: {self.path} cannot be read: {cause}",
            hint="Start the same command again.",
        )


def driver_name(epoch: int) -> str:
    """Return the name of the object of a driver, in a store."""
    return f"{epoch:012}.json"


def _facts_of(path: Path) -> tuple[FileFacts, bool]:
    """Return the facts that identify a file among others of its name, and whether it is young."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        status = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    facts = (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size)
    return facts, time.time() - max(status.st_mtime, status.st_ctime) < _YOUNG_SECONDS
