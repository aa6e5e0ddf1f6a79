"""Operating system errors as sink errors, with the path and a hint."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.errors import CallSite, SinkError
from penstock.filesystem.object_path import AZURE, GOOGLE, S3, ObjectPath
from penstock.filesystem.stored_path import JobPath, StoredPath

_NOT_A_DIRECTORY = "Remove or rename the file that is in the way, or choose another path."
_NO_PERMISSION = "Give the user that runs the job write permission, or choose another path."
_FULL = "Free space or choose another file system, then start the job again; it resumes."

HINTS: dict[int | None, str] = {
    errno.ENOTDIR: _NOT_A_DIRECTORY,
    errno.EEXIST: _NOT_A_DIRECTORY,
    errno.EACCES: _NO_PERMISSION,
    errno.EPERM: _NO_PERMISSION,
    errno.EROFS: "Mount the file system writable, or choose another path.",
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
    errno.ENOENT: "Choose a path on a file system that the driver and all workers share.",
    errno.EXDEV: "Keep the sink's directory and its _penstock directory on one file system.",
    errno.ENAMETOOLONG: "Choose a shorter path.",
    errno.EPIPE: "Keep the reader of the output open until the job ends.",
}
"""Error number to hint, for files; other errors get `OTHER_HINT`."""

_LOGINS = {
    S3: "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for the driver and all workers, or "
    "spark.hadoop.fs.s3a.access.key and spark.hadoop.fs.s3a.secret.key",
    AZURE: "Set AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_KEY for the driver and all workers, or "
    "spark.hadoop.fs.azure.account.key.ACCOUNT.dfs.core.windows.net",
    GOOGLE: "Set GOOGLE_APPLICATION_CREDENTIALS for the driver and all workers, or "
    "spark.hadoop.fs.gs.auth.service.account.json.keyfile",
}
"""Scheme of a store to how a login is set."""


def object_hints(scheme: str) -> dict[int | None, str]:
    """Return the same for a store of objects."""
    return {
        errno.EACCES: f"{_LOGINS[scheme]}, of a user who may list, read, write and delete objects below the path.",
        errno.ENOENT: "Make the bucket, or correct its name. A rule that ends uploads must give them more "
        "time than a restart of the job takes.",
    }


OTHER_HINT = "Check the file system the path is on, then start the job again."


@contextmanager
def sink_errors(path: JobPath | ObjectPath, doing: str, origin: CallSite | None) -> Iterator[None]:
    """Turn an `OSError` inside the block into a `SinkError`.

    Raises:
        SinkError: The block raised an `OSError`, which becomes the cause.
    """
    try:
        yield
    except OSError as cause:
        at = f" ({cause.filename})" if cause.filename else ""
        stored = path.at if isinstance(path, StoredPath) else path
        hints = object_hints(stored.scheme) if isinstance(stored, ObjectPath) else HINTS
        raise SinkError(
            f"cannot {doing} in {path}: {cause.strerror or cause}{at}",
            hint=hints.get(cause.errno, OTHER_HINT),
            origin=origin,
        ) from cause
