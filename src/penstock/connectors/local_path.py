"""Paths of the file systems that the driver and all workers see under the same name, and of object stores."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from penstock.errors import ArgumentError
from penstock.filesystem.object_path import ObjectPath, object_path
from penstock.filesystem.object_store import check_installed

# Two letters or more: `C:/data` is a path.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
_SPECIAL = re.compile(r"[\[\]{}*?,\\]")
_BRACES = re.compile(r"\\.|\{(?:\\.|[^{}])*\}|,", re.DOTALL)
_LOCAL_HOSTS = frozenset({"", "localhost"})


def storage_path(
    path: str | os.PathLike[str] | ObjectPath, doing: str = "write files to"
) -> Path | ObjectPath:
    """Return a path of a store (`s3://`, `gs://`, `abfss://`), or what `local_path` returns.

    Raises:
        ArgumentError: It is empty or names another kind of storage.
        MissingConnectorError: It names a store whose client library is not installed.
    """
    if isinstance(path, ObjectPath):
        return path
    found = object_path(path, doing) if isinstance(path, str) else None
    if found is None:
        return local_path(path, doing)
    check_installed(found.scheme, f"the path {found}")
    return found


def local_path(path: str | os.PathLike[str], doing: str = "write files to") -> Path:
    """Return a path, or a `file:` URI, as an absolute path.

    Raises:
        ArgumentError: It is empty or names another kind of storage than files.
    """
    text = os.fspath(path)
    scheme = _SCHEME.match(text)
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
    return _BRACES.sub(lambda found: found[0] if found[0] != "," else r"\,", glob)
