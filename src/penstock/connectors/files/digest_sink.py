"""A sink that keeps a count and a digest of its rows, which a comparison can compute of files, too.

A task writes its records to a temporary file in a format of the file sink, and reads them back as a comparison does. So
the digest is that of the rows in the files of another job, in any order.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from penstock.connectors.files.file_formats import SPECS, FileFormat
from penstock.connectors.files.file_writers import RecordFile
from penstock.connectors.files.written_files import StoredRow, rows_of_files
from penstock.connectors.local_path import local_path, sink_errors
from penstock.errors import CallSite, DecodeError, SourceError
from penstock.graph.dataset import Dataset, files_at
from penstock.graph.endpoints import Committer, Sink, SinkContext, SinkWriter
from penstock.types import TypeInformation
from penstock.wire.atomic_file import create_directory, read_verified, write_verified

DIGEST = "digest"
"""Format of its dataset."""

_RECORD = "digest.json"
_BYTES = 16


@dataclass(frozen=True, slots=True)
class RowDigest:
    """A count and a digest of rows in any order.

    Attributes:
        total: Sum of their hashes.
    """

    rows: int = 0
    total: int = 0

    @property
    def text(self) -> str:
        """The digest as a hexadecimal number."""
        return f"{self.total:0{2 * _BYTES}x}"

    def __add__(self, other: RowDigest) -> RowDigest:
        """Return the digest of the rows of both."""
        total = (self.total + other.total) % (1 << 8 * _BYTES)
        return RowDigest(self.rows + other.rows, total)


def digest_of(lists: Iterable[Sequence[StoredRow]]) -> RowDigest:
    """Return the digest of rows that come in lists.

    Example:
        >>> one, other = {"n": 1, "at": "x"}, {"n": 2, "at": "y"}
        >>> digest_of([[one, other]]) == digest_of([[other], [one]])
        True
    """
    digest = RowDigest()
    for rows in lists:
        for row in rows:
            hashed = hashlib.blake2b(_text(row).encode(), digest_size=_BYTES).digest()
            digest += RowDigest(1, int.from_bytes(hashed, "big"))
    return digest


def _text(value: Any) -> str:
    """Return a text that is equal exactly if class and content of a value are; entries of a dict are in any order."""
    if isinstance(value, dict):
        entries = sorted(f"{name!r}:{_text(content)}" for name, content in value.items())
        return f"{{{','.join(entries)}}}"
    if isinstance(value, list | tuple):
        return f"{type(value).__name__}[{','.join(map(_text, value))}]"
    return f"{type(value).__name__} {value!r}"


def recorded_digest(directory: Path) -> RowDigest:
    """Return what a sink has recorded in its directory."""
    try:
        record = read_verified(directory / _RECORD)
    except (OSError, DecodeError) as cause:
        raise SourceError(
            f"there is no digest in {directory}: {cause}",
            hint="Wait until the shadow has committed its first results.",
        ) from cause
    return _decoded(record)


def _decoded(recorded: dict[str, Any]) -> RowDigest:
    return RowDigest(recorded["rows"], int(recorded["total"], 16))


@dataclass(frozen=True, slots=True)
class DigestSink(Sink):
    """Drops records, and keeps a count and a digest of them.

    Attributes:
        format: The format whose rows it digests.
    """

    directory: str
    format: FileFormat

    kind: ClassVar[str] = DIGEST

    def check(self, type_info: TypeInformation, origin: CallSite | None) -> None:
        """Check that records of a type have rows in the format."""
        SPECS[self.format].check(type_info, origin)

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Return a writer that digests, for the task of `context`."""
        return _DigestingWriter(self.format, context)

    def create_committer(self, context: SinkContext) -> Committer:
        """Return the committer that adds up."""
        return _AddingCommitter(local_path(self.directory), context)

    def beside(self, directory: str) -> Sink:
        """Return the sink itself: its directory is that of the shadow already."""
        del directory
        return self

    def datasets(self) -> Sequence[Dataset]:
        """Return its directory."""
        return (replace(files_at(local_path(self.directory)), format=self.kind),)

    def describe(self) -> str:
        """Return e.g. `digest of parquet rows in /data/out`."""
        return f"digest of {self.format.value} rows in {self.directory}"


class _DigestingWriter(SinkWriter):
    def __init__(self, form: FileFormat, context: SinkContext) -> None:
        self._format = form
        self._context = context
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self._file: Any = None
        self._records: RecordFile | None = None

    def write(self, values: list[Any]) -> None:
        if values:
            self._opened().write(values)

    def prepare_commit(self) -> list[Any]:
        if self._records is None:
            return []
        self._records.finish()
        self._file.close()
        digest = digest_of(rows_of_files(self._path, self._format.value))
        self._remove()
        return [digest]

    def abort(self) -> None:
        if self._records is not None:
            self._records.discard()
            self._file.close()
        self._remove()

    @property
    def _path(self) -> Path:
        assert self._directory is not None, "it is open"
        return Path(self._directory.name, "rows")

    def _opened(self) -> RecordFile:
        if self._records is None:
            self._directory = tempfile.TemporaryDirectory(prefix="penstock-digest-")
            self._file = self._path.open("xb")
            self._records = SPECS[self._format].open(self._file, self._context)
        return self._records

    def _remove(self) -> None:
        if self._directory is not None:
            self._directory.cleanup()
        self._directory = self._records = None


class _AddingCommitter(Committer):
    """Replaces the record of a sink with each epoch; the name of the last one in it makes a repetition visible."""

    def __init__(self, directory: Path, context: SinkContext) -> None:
        self._path = directory / _RECORD
        self._context = context

    def recover(self) -> None:
        with sink_errors(self._path.parent, "prepare a digest", self._context.origin):
            create_directory(self._path.parent)

    def commit(self, epoch: str, committables: Sequence[Any]) -> None:
        named = f"{self._context.job_id} {epoch}"
        with sink_errors(self._path.parent, f"commit epoch {epoch}", self._context.origin):
            before = read_verified(self._path) if self._path.exists() else None
            if before is not None and before["epoch"] == named:
                return
            digest = RowDigest() if before is None else _decoded(before)
            digest = sum(committables, digest)
            payload = {"epoch": named, "rows": digest.rows, "total": digest.text}
            write_verified(self._path, payload, may_replace=self._context.may_commit)
