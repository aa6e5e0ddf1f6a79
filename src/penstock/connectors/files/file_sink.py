"""The file sink: a directory of files, each epoch in it exactly once."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeVar
from urllib.parse import unquote, urlsplit

from penstock.connectors.files.file_commits import StagedFileCommitter
from penstock.connectors.files.file_formats import SPECS, FileFormat
from penstock.connectors.files.file_naming import BucketAssigner, FileNaming, OutputFileConfig
from penstock.connectors.files.file_policies import (
    FileCompactor,
    FileCompactStrategy,
    RollingPolicy,
)
from penstock.connectors.files.staged_files import StagedFileWriter
from penstock.connectors.rows.serialization import Encoder
from penstock.errors import ArgumentError, CallSite
from penstock.graph.endpoints import Committer, Sink, SinkContext, SinkWriter
from penstock.types.information import TypeInformation

T = TypeVar("T")

# Two letters or more: `C:/data` is a path.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
_LOCAL_HOSTS = frozenset({"", "localhost"})


class FileSinkBuilder:
    """Collects what PyFlink's builder of a file sink is told.

    Files are put into a directory per hour (`yyyy-MM-dd--HH`), as in Flink, unless another
    bucket assigner is set.
    """

    def __init__(self, base_path: str | os.PathLike[str], format: FileFormat) -> None:  # noqa: A002
        self._path = base_path
        self._format = format
        self._files = OutputFileConfig()
        self._buckets = BucketAssigner.date_time_bucket_assigner()

    def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> FileSinkBuilder:
        """Set in which directories files are.

        Raises:
            ArgumentError: It is no bucket assigner.
        """
        self._buckets = _instance(bucket_assigner, BucketAssigner)
        return self

    def with_output_file_config(self, output_file_config: OutputFileConfig) -> FileSinkBuilder:
        """Set how the names of files begin and end.

        Raises:
            ArgumentError: It is no `OutputFileConfig`.
        """
        self._files = _instance(output_file_config, OutputFileConfig)
        return self

    def with_bucket_check_interval(self, interval: int) -> FileSinkBuilder:
        """Accept how often Flink would look at open files; there are none between batches."""
        del interval
        return self

    def with_rolling_policy(self, rolling_policy: RollingPolicy) -> FileSinkBuilder:
        """Accept when Flink would end a file; here it ends with its micro-batch.

        Raises:
            ArgumentError: It is no rolling policy.
        """
        _instance(rolling_policy, RollingPolicy)
        return self

    def enable_compact(
        self, strategy: FileCompactStrategy, compactor: FileCompactor
    ) -> FileSinkBuilder:
        """Accept how Flink would compact files; nothing is compacted.

        Raises:
            ArgumentError: One of them is something else.
        """
        _instance(strategy, FileCompactStrategy)
        _instance(compactor, FileCompactor)
        return self

    def disable_compact(self) -> FileSinkBuilder:
        """Accept that nothing is compacted."""
        return self

    def build(self) -> FileSink:
        """Return the sink.

        Raises:
            ArgumentError: See `FileSink`.
        """
        naming = FileNaming(self._files.part_prefix, self._files.part_suffix, self._buckets)
        return FileSink(self._path, self._format, naming)


@dataclass(frozen=True, slots=True, init=False)
class FileSink(Sink):
    """Writes each record into one of many files in a directory.

    Files appear when their epoch is committed, complete, and are never changed. Parquet and
    CSV need a declared or inferred row or tuple type, JSON lines and text take any record. A JSON line
    is an object if the fields have names, and an array otherwise; text is `str(record)`.
    CSV tells a null (nothing) from an empty string (`""`); most readers skip the empty line
    that a null is in a file of one column.

    Attributes:
        path: Directory on a file system that the driver and all workers see under the same
            name; made absolute. Created when the job starts.
        format: Format of the files.
        naming: What they are called.
    """

    path: Path
    format: FileFormat
    naming: FileNaming

    kind: ClassVar[str] = "files"
    BaseBuilder: ClassVar[type[FileSinkBuilder]] = FileSinkBuilder
    RowFormatBuilder: ClassVar[type[FileSinkBuilder]] = FileSinkBuilder
    BulkFormatBuilder: ClassVar[type[FileSinkBuilder]] = FileSinkBuilder

    def __init__(
        self,
        path: str | os.PathLike[str],
        format: FileFormat,  # noqa: A002
        naming: FileNaming = FileNaming(),  # noqa: B008 - a frozen value
    ) -> None:
        """Describe a sink; nothing is created yet.

        Args:
            path: A path or a `file:` URI; relative ones are taken from here, since workers
                may have another working directory.
            format: Format of the files.
            naming: What they are called; `part-….<format>` in the directory itself.

        Raises:
            ArgumentError: The path is empty or names another kind of storage than files.
        """
        object.__setattr__(self, "path", _local_path(os.fspath(path)))
        object.__setattr__(self, "format", format)
        object.__setattr__(self, "naming", naming)

    @staticmethod
    def for_row_format(
        base_path: str | os.PathLike[str], encoder: Encoder | None = None
    ) -> FileSinkBuilder:
        """Return a builder of a sink that writes one line per record.

        Args:
            base_path: Directory.
            encoder: `Encoder.simple_string_encoder()`, which is also the default.

        Raises:
            ArgumentError: It is no encoder.
        """
        _instance(encoder or Encoder(), Encoder)
        return FileSinkBuilder(base_path, FileFormat.PRINTED)

    @staticmethod
    def for_bulk_format(
        base_path: str | os.PathLike[str],
        writer_factory: FileFormat,
    ) -> FileSinkBuilder:
        """Return a builder of a sink of columnar files.

        Args:
            base_path: Directory.
            writer_factory: `FileFormat.PARQUET`, or another format; Flink's writer factories
                are Java objects.

        Raises:
            ArgumentError: It is no `FileFormat`.
        """
        return FileSinkBuilder(base_path, _instance(writer_factory, FileFormat))

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
        return StagedFileWriter(self.path, self.format, context, self.naming)

    def create_committer(self, context: SinkContext) -> Committer:
        """Return the committer that makes staged files visible."""
        return StagedFileCommitter(self.path, context, self.naming)

    def describe(self) -> str:
        """Return e.g. `parquet files in /data/out`."""
        return f"{self.format.value} files in {self.path}"


def _instance(value: T, wanted: type[T]) -> T:
    if isinstance(value, wanted):
        return value
    raise ArgumentError(
        f"the file sink got {value!r} for a {wanted.__name__}",
        hint=f"Pass a {wanted.__name__}.",
        origin=CallSite.of_caller(),
    )


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
