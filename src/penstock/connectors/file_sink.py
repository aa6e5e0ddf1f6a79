"""The file sink: a directory of files, each epoch in it exactly once."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from urllib.parse import unquote, urlsplit

from penstock.connectors.file_commits import StagedFileCommitter
from penstock.connectors.file_formats import SPECS, FileFormat
from penstock.connectors.staged_files import StagedFileWriter
from penstock.errors import ArgumentError, CallSite
from penstock.graph.endpoints import Committer, Sink, SinkContext, SinkWriter
from penstock.types.information import TypeInformation

# Two letters or more: `C:/data` is a path.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
_LOCAL_HOSTS = frozenset({"", "localhost"})


@dataclass(frozen=True, slots=True, init=False)
class FileSink(Sink):
    """Writes each record into one of many files in a directory.

    Files appear when their epoch is committed, complete, and are never changed. Parquet and
    CSV need a declared row or tuple type, JSON lines and text take any record. A JSON line
    is an object if the fields have names, and an array otherwise; text is `str(record)`.
    CSV tells a null (nothing) from an empty string (`""`); most readers skip the empty line
    that a null is in a file of one column.

    Attributes:
        path: Directory on a file system that the driver and all workers see under the same
            name; made absolute. Created when the job starts.
        format: Format of the files.
    """

    path: Path
    format: FileFormat

    kind: ClassVar[str] = "files"

    def __init__(self, path: str | os.PathLike[str], format: FileFormat) -> None:  # noqa: A002
        """Describe a sink; nothing is created yet.

        Args:
            path: A path or a `file:` URI; relative ones are taken from here, since workers
                may have another working directory.
            format: Format of the files.

        Raises:
            ArgumentError: The path is empty or names another kind of storage than files.
        """
        object.__setattr__(self, "path", _local_path(os.fspath(path)))
        object.__setattr__(self, "format", format)

    @classmethod
    def parquet(cls, path: str | os.PathLike[str]) -> FileSink:
        """Write Parquet files; columns are the fields of the declared type."""
        return cls(path, FileFormat.PARQUET)

    @classmethod
    def csv(cls, path: str | os.PathLike[str]) -> FileSink:
        """Write CSV files with a header line; columns are the fields of the declared type."""
        return cls(path, FileFormat.CSV)

    @classmethod
    def json(cls, path: str | os.PathLike[str]) -> FileSink:
        """Write JSON lines: one JSON text per record."""
        return cls(path, FileFormat.JSON)

    @classmethod
    def text(cls, path: str | os.PathLike[str]) -> FileSink:
        """Write `str(record)`, one record per line."""
        return cls(path, FileFormat.TEXT)

    def check(self, type_info: TypeInformation, origin: CallSite | None) -> None:
        """Refuse a stream whose type has no form in the format.

        Raises:
            GraphError: The type is not declared, or one of its fields does not fit.
        """
        SPECS[self.format].check(type_info, origin)

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Return a writer of one staged file."""
        return StagedFileWriter(self.path, self.format, context)

    def create_committer(self, context: SinkContext) -> Committer:
        """Return the committer that makes staged files visible."""
        return StagedFileCommitter(self.path, context)

    def describe(self) -> str:
        """Return e.g. `parquet files in /data/out`."""
        return f"{self.format.value} files in {self.path}"


def _local_path(path: str) -> Path:
    scheme = _SCHEME.match(path)
    if scheme is None:
        if not path:
            raise _refused(path, "it is empty")
        return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links
    if scheme[1].lower() != "file":
        raise _refused(path, f"{scheme[1]} is not a file system the workers can write directly")
    parts = urlsplit(path)
    if parts.query or parts.fragment:
        raise _refused(path, "a file URI writes ? and # as %3F and %23")
    if parts.netloc not in _LOCAL_HOSTS:
        raise _refused(path, f"it names the host {parts.netloc!r}")
    return Path(os.path.abspath(unquote(parts.path)))  # noqa: PTH100


def _refused(path: str, reason: str) -> ArgumentError:
    return ArgumentError(
        f"cannot write files to {path!r}: {reason}",
        hint="Give a local path, or one on a mount that the driver and all workers share.",
        origin=CallSite.of_caller(),
    )
