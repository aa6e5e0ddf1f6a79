"""The fence of a checkpoint directory: only the driver that took it over last may commit.

    owner.json   {"epoch": 7, "token": "9f0c…", "driver": {…}, "jvm": {…}}

Every driver that takes a directory over writes the next epoch with a unique token, and checks before
each commit that the file still contains both. A lock is not enough: a driver that was stopped for a
while, or whose host lost the file system, continues later without its lock. As with Kafka's producer
epoch, the new driver wins, and the old one fails before its data becomes visible.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import DecodeError, JobDirectoryError, JobFencedError
from penstock.wire.atomic_file import read_verified

OWNER = "owner.json"


@dataclass(frozen=True, slots=True)
class Fence:
    """The epoch and token of one driver; picklable.

    Attributes:
        path: The file, `owner.json`.
        epoch: Epoch of this driver, from 1.
        token: Distinguishes drivers with the same epoch, on hosts that share no locks.
    """

    path: Path
    epoch: int
    token: str

    def __call__(self) -> None:
        """Check that the driver may commit.

        Raises:
            JobFencedError: Another driver has taken the directory over.
            JobDirectoryError: The file is missing or damaged.
        """
        try:
            now = read_verified(self.path)
        except DecodeError as cause:
            raise JobDirectoryError(cause.problem, hint=cause.hint) from cause
        except OSError as cause:
            raise JobDirectoryError(
                f"nobody can tell who may commit: {self.path} cannot be read: {cause}",
                hint="Start the same command again.",
            ) from cause
        if (now["epoch"], now["token"]) != (self.epoch, self.token):
            raise JobFencedError(
                f"another driver has taken {self.path.parent} over: it has epoch {now['epoch']}, "
                f"this driver had {self.epoch}",
                hint="Leave the job to the other driver; nothing this one did since is visible.",
            )

    def to_text(self) -> str:
        """Return the text that is sent to a process of Spark's."""
        return json.dumps([str(self.path), self.epoch, self.token])

    @classmethod
    def of_text(cls, text: str) -> Fence:
        """Return the fence that `to_text` encoded."""
        path, epoch, token = json.loads(text)
        return cls(Path(path), epoch, token)
