"""The forms of file names in Spark.

| Spark | form of a name |
|---|---|
| `load(…)`, `parquet(…)` | unchanged; a backslash before a glob character makes it literal |
| `DataFrame.inputFiles()`, logs of file streams | percent-encoded, `file:///` |
| `_metadata.file_path` | percent-encoded, `file:/` |

No form allows a colon: Hadoop takes the text before it for the scheme of a URI.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from penstock.connectors.files.local_listing import (
    ANY_GLOB,
    ESCAPED,
    GLOB,
    SCHEME,
    is_literal,
    local_path,
)

_ESCAPED_BY_JAVA = re.compile(r"[^A-Za-z0-9_\-!.~'()*:@&=+$,;/]")
_SPACES = frozenset({"Zs", "Zl", "Zp", "Cc"})


def escaped(path: str | Path) -> str:
    """Return the path with which Spark loads exactly the file or directory of this name."""
    return ANY_GLOB.sub(r"\\\1", str(path))


def load_path(uri: str) -> str:
    """Return the path with which Spark loads exactly the file of `uri`."""
    scheme, separator, rest = uri.partition("://")
    return f"{scheme}{separator}" + escaped(unquote(rest))


def metadata_path(uri: str) -> str:
    """Return `uri` in the form of `_metadata.file_path`: local files have one slash."""
    return uri.replace("file:///", "file:/", 1) if uri.startswith("file:///") else uri


def plain(uri: str) -> str:
    """Return `uri` in a form that is the same for all of Spark's forms."""
    return unquote(metadata_path(uri))


def uri_of(name: str) -> str:
    """Return the URI, as `DataFrame.inputFiles()` spells it, of a file whose name `plain` gave.

    Java escapes what RFC 2396 does not allow in a path; of other characters only spaces and controls.
    """
    scheme = SCHEME.match(name)
    begin = scheme[0] if scheme else ""
    rest = _ESCAPED_BY_JAVA.sub(_as_in_java, name[len(begin) :])
    return f"file://{rest}" if begin in {"", "file:"} else f"{begin}{rest}"


def local_file(uri: str) -> Path | None:
    """Return the local file of `uri`, None if it is on another file system."""
    scheme = SCHEME.match(uri)
    if scheme is None:
        return Path(unquote(uri))
    return Path(unquote(uri[scheme.end() :])) if scheme[0].startswith("file:") else None


def hadoop_path(session: SparkSession, uri: str) -> tuple[Any, Any]:
    """Return Hadoop's configuration, and its path of what `uri` names."""
    jvm: Any = session._jvm  # noqa: SLF001 - no public way to a Hadoop file system
    java_session: Any = session._jsparkSession  # noqa: SLF001
    conf = java_session.sessionState().newHadoopConf()
    return conf, jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(uri))


def facts_of(session: SparkSession, uri: str) -> tuple[int, int]:
    """Return size and modification time, in milliseconds, of a file.

    It raises FileNotFoundError if the file is missing.
    """
    local = local_file(uri)
    if local is not None:
        facts = local.stat()
        return facts.st_size, facts.st_mtime_ns // 1_000_000
    conf, path = hadoop_path(session, uri)
    try:
        status = path.getFileSystem(conf).getFileStatus(path)
    except Py4JJavaError as cause:
        name = cause.java_exception.getClass().getSimpleName()
        message = str(cause.java_exception.getMessage())
        error_class = FileNotFoundError if name == "FileNotFoundException" else OSError
        raise error_class(message) from cause
    return int(status.getLen()), int(status.getModificationTime())


def stream_path(path: str) -> str:
    """Return a source's path for Spark: a path that exists literally is no glob."""
    return escaped(path) if ANY_GLOB.search(path) and is_literal(path) else path


def base_path(path: str) -> dict[str, str]:
    """Return the option with which directory names give partition columns."""
    here = local_path(path)
    return {"basePath": path} if here is not None and here.is_dir() else {}


def may_contain(path: str, uri: str) -> bool:
    """Return whether a source's path could match the file `uri`."""
    spark_path = stream_path(path)
    begin = GLOB.search(spark_path)
    fixed = spark_path if begin is None else spark_path[: begin.start()]
    begin_of_path = os.path.normpath(ESCAPED.sub(r"\1", SCHEME.sub("", fixed)))
    return unquote(SCHEME.sub("", uri)).startswith(begin_of_path)


def names_with_colon(path: str) -> Iterator[Path]:
    """Yield the files and directories below a path whose names have a colon."""
    here = local_path(path)
    for top, directories, files in os.walk(here) if here is not None else ():
        yield from (Path(top, name) for name in sorted(directories + files) if ":" in name)


def _as_in_java(match: re.Match[str]) -> str:
    character = match[0]
    if character.isascii() or unicodedata.category(character) in _SPACES:
        return quote(character, safe="")
    return character
