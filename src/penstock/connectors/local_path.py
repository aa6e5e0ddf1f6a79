"""Paths of the file systems that the driver and all workers see under the same name."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from penstock.errors import ArgumentError

# Two letters or more: `C:/data` is a path.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
_LOCAL_HOSTS = frozenset({"", "localhost"})


def local_path(path: str | os.PathLike[str], doing: str = "write files to") -> Path:
    """Return a path, or a `file:` URI, as an absolute path.

    Args:
        path: Relative ones are taken from here, since workers may have another working directory.
        doing: What is done there, for the error.

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
