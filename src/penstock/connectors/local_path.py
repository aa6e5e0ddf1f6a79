"""Paths of file systems that the driver and all workers see alike, and of object stores; their errors as sink errors."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from penstock.errors import ArgumentError, CallSite, SinkError
from penstock.filesystem.object_path import AZURE, GOOGLE, S3, ObjectPath, object_path
from penstock.filesystem.object_store import check_installed
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
    """Turn an `OSError` inside the block into a `SinkError`."""
    try:
        yield
    except OSError as cause:
        file = f" ({cause.filename})" if cause.filename else ""
        stored = path.address if isinstance(path, StoredPath) else path
        hints = object_hints(stored.scheme) if isinstance(stored, ObjectPath) else HINTS
        raise SinkError(
            f"cannot {doing} in {path}: {cause.strerror or cause}{file}",
            hint=hints.get(cause.errno, OTHER_HINT),
            origin=origin,
        ) from cause


# Two letters or more: `C:/data` is a path.
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
_SPECIAL = re.compile(r"[\[\]{}*?,\\]")
_BRACES = re.compile(r"\\.|\{(?:\\.|[^{}])*\}|,", re.DOTALL)
_LOCAL_HOSTS = frozenset({"", "localhost"})


def storage_path(
    path: str | os.PathLike[str] | ObjectPath, doing: str = "write files to"
) -> Path | ObjectPath:
    """Return a path of a store (`s3://`, `gs://`, `abfss://`), or what `local_path` returns."""
    if isinstance(path, ObjectPath):
        return path
    stored = object_path(path, doing) if isinstance(path, str) else None
    if stored is None:
        return local_path(path, doing)
    check_installed(stored.scheme, f"the path {stored}")
    return stored


def local_path(path: str | os.PathLike[str], doing: str = "write files to") -> Path:
    """Return a path, or a `file:` URI, as an absolute path."""
    text = os.fspath(path)
    scheme = SCHEME.match(text)
    if scheme is None:
        if not text:
            raise _refused(text, doing, "it is empty")
        return Path(os.path.abspath(text))  # noqa: PTH100 - resolve() would follow links
    if scheme[1].lower() != "file":
        reason = (
            f"{scheme[1]} is not a file system the workers can {doing.partition(' ')[0]} directly"
        )
        raise _refused(text, doing, reason)
    parts = urlsplit(text)
    if parts.query or parts.fragment:
        raise _refused(text, doing, "a file URI writes ? and # as %3F and %23")
    if parts.netloc not in _LOCAL_HOSTS:
        raise _refused(text, doing, f"it names the host {parts.netloc!r}")
    return Path(os.path.abspath(unquote(parts.path)))  # noqa: PTH100


def _refused(path: str, doing: str, reason: str) -> ArgumentError:
    return ArgumentError.here(
        f"cannot {doing} {path!r}: {reason}",
        hint="Give a local path, or one on a mount that the driver and all workers share.",
    )


def one_path(paths: tuple[str | Path, ...]) -> str:
    """Return one path or glob for all of them.

    A path that exists as it is written is no glob, and a comma of a name divides nothing.

    Examples:
        >>> one_path(("/data/a.json", "/data/b.json"))
        '/data/{a.json,b.json}'
    """
    if len(paths) == 1:
        return str(paths[0])
    whole = [_alternative(str(path)) for path in paths]
    # Their common directory, then the rest of each path as an alternative of a glob.
    first, last = min(whole), max(whole)
    same = next(
        (i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first)
    )
    shared = first[: first.rfind("/", 0, same) + 1]
    return f"{shared}{{{','.join(path[len(shared) :] for path in whole)}}}"


def _alternative(path: str) -> str:
    """Return a path as an alternative of a glob."""
    if "://" in path or path.startswith("file:"):
        return _outside_braces(path)
    here = Path(path).expanduser().absolute()
    return _SPECIAL.sub(r"\\\g<0>", str(here)) if here.exists() else _outside_braces(str(here))


def _outside_braces(glob: str) -> str:
    """Return a glob whose commas outside braces are no ends of alternatives."""
    return _BRACES.sub(lambda match: match[0] if match[0] != "," else r"\,", glob)
