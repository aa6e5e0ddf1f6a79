"""The file sink: a directory of files, each epoch in it exactly once."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeVar

from penstock.connectors.files.file_commits import StagedFileCommitter
from penstock.connectors.files.file_formats import SPECS, FileFormat
from penstock.connectors.files.file_naming import BucketAssigner, FileNaming, OutputFileConfig
from penstock.connectors.files.file_policies import (
    DefaultRollingPolicy,
    FileCompactor,
    FileCompactStrategy,
    RollingPolicy,
)
from penstock.connectors.files.partitions import division_of
from penstock.connectors.files.staged_files import StagedFileWriter
from penstock.connectors.local_path import local_path
from penstock.connectors.rows.serialization import Encoder
from penstock.errors import ArgumentError, CallSite, GraphError
from penstock.graph.endpoints import Committer, Sink, SinkContext, SinkWriter
from penstock.types.information import TypeInformation

T = TypeVar("T")

_LINES_OF_TEXT = frozenset({FileFormat.TEXT, FileFormat.PRINTED})


class FileSinkBuilder:
    """Builds a `FileSink`, as PyFlink's builder does.

    Files are written to a directory per hour (`yyyy-MM-dd--HH`), as in Flink, unless another
    bucket assigner is set.

    Example:
        >>> FileSink.for_row_format("/data/out").build().describe()
        'printed files in /data/out'
    """

    def __init__(self, base_path: str | os.PathLike[str], format: FileFormat) -> None:  # noqa: A002
        self._path = base_path
        self._format = format
        self._files = OutputFileConfig()
        self._buckets = BucketAssigner.date_time_bucket_assigner()
        self._part_size_bytes: int | None = None

    def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> FileSinkBuilder:
        """Set the bucket assigner, which chooses the directory of a file.

        Args:
            bucket_assigner: The bucket assigner.

        Raises:
            ArgumentError: It is no bucket assigner.
        """
        self._buckets = _instance(bucket_assigner, BucketAssigner)
        return self

    def with_output_file_config(self, output_file_config: OutputFileConfig) -> FileSinkBuilder:
        """Set the prefix and the suffix of file names.

        Args:
            output_file_config: Both.

        Raises:
            ArgumentError: It is no `OutputFileConfig`.
        """
        self._files = _instance(output_file_config, OutputFileConfig)
        return self

    def with_bucket_check_interval(self, interval: int) -> FileSinkBuilder:
        """Do nothing: no file is open between micro-batches. PyFlink has the method.

        Args:
            interval: Milliseconds.
        """
        del interval
        return self

    def with_rolling_policy(self, rolling_policy: RollingPolicy) -> FileSinkBuilder:
        """Set the size at which a file ends before its micro-batch does.

        Args:
            rolling_policy: Its `part_size` is in force. Intervals are not: a file never outlives its micro-batch.

        Raises:
            ArgumentError: It is no rolling policy.
        """
        policy = _instance(rolling_policy, RollingPolicy)
        self._part_size_bytes = (
            policy.part_size if isinstance(policy, DefaultRollingPolicy) else None
        )
        return self

    def enable_compact(
        self, strategy: FileCompactStrategy, compactor: FileCompactor
    ) -> FileSinkBuilder:
        """Do nothing: files are not compacted. PyFlink has the method.

        Args:
            strategy: Has no effect.
            compactor: Has no effect.

        Raises:
            ArgumentError: One of them is something else.
        """
        _instance(strategy, FileCompactStrategy)
        _instance(compactor, FileCompactor)
        return self

    def disable_compact(self) -> FileSinkBuilder:
        """Do nothing: files are not compacted. PyFlink has the method."""
        return self

    def build(self) -> FileSink:
        """Return the sink.

        Raises:
            ArgumentError: See `FileSink`.
        """
        naming = FileNaming(self._files.part_prefix, self._files.part_suffix, self._buckets)
        return FileSink(self._path, self._format, naming, self._part_size_bytes)


@dataclass(frozen=True, slots=True, init=False)
class FileSink(Sink):
    """Writes records to files in a directory, each record exactly once.

    Files appear when their epoch is committed, complete, and are never changed. Parquet and
    CSV need a declared or inferred row or tuple type; JSON lines and text accept any record. A
    JSON line is an object if the fields have names, and an array otherwise; text is
    `str(record)`. In CSV a null is empty and an empty string is `""`; most readers skip the
    empty line of a null in a file with one column.

    Attributes:
        path: Directory on a file system that the driver and all workers see under the same
            name; made absolute. Created when the job starts.
        format: Format of the files.
        naming: What they are called.
        part_size_bytes: Size at which the next file of a task begins; None is without limit.

    Example:
        >>> FileSink.parquet("/data/out").describe()
        'parquet files in /data/out'
    """

    path: Path
    format: FileFormat
    naming: FileNaming
    part_size_bytes: int | None

    kind: ClassVar[str] = "files"
    BaseBuilder: ClassVar[type[FileSinkBuilder]] = FileSinkBuilder
    RowFormatBuilder: ClassVar[type[FileSinkBuilder]] = FileSinkBuilder
    BulkFormatBuilder: ClassVar[type[FileSinkBuilder]] = FileSinkBuilder

    def __init__(
        self,
        path: str | os.PathLike[str],
        format: FileFormat,  # noqa: A002
        naming: FileNaming = FileNaming(),  # noqa: B008 - a frozen value
        part_size_bytes: int | None = None,
    ) -> None:
        """Describe a sink; nothing is created yet.

        Args:
            path: A path or a `file:` URI; relative ones are taken from here, since workers
                may have another working directory.
            format: Format of the files.
            naming: What they are called; `part-….<format>` in the directory itself.
            part_size_bytes: Size at which the next file of a task begins, about; None is without limit.

        Raises:
            ArgumentError: The path is empty or names another kind of storage than files, or the size is none.
        """
        object.__setattr__(self, "path", local_path(path))
        object.__setattr__(self, "format", format)
        object.__setattr__(self, "naming", naming)
        if part_size_bytes is not None and (
            not isinstance(part_size_bytes, int) or part_size_bytes < 1
        ):
            raise ArgumentError.here(
                f"files of {part_size_bytes!r} bytes cannot be written",
                hint="Pass a size of 1 or more, in bytes.",
            )
        object.__setattr__(self, "part_size_bytes", part_size_bytes)

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

        Example:
            >>> FileSink.for_row_format("/data/out").build().describe()
            'printed files in /data/out'
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

        Example:
            >>> FileSink.for_bulk_format("/data/out", FileFormat.PARQUET).build().describe()
            'parquet files in /data/out'
        """
        return FileSinkBuilder(base_path, _instance(writer_factory, FileFormat))

    @classmethod
    def parquet(cls, path: str | os.PathLike[str]) -> FileSink:
        """Return a sink of Parquet files in `path`; columns are the fields of the declared type."""
        return cls(path, FileFormat.PARQUET)

    @classmethod
    def csv(cls, path: str | os.PathLike[str]) -> FileSink:
        """Return a sink of CSV files with a header in `path`; columns as those of `parquet`."""
        return cls(path, FileFormat.CSV)

    @classmethod
    def json(cls, path: str | os.PathLike[str]) -> FileSink:
        """Return a sink of JSON lines in `path`: one JSON text per record."""
        return cls(path, FileFormat.JSON)

    @classmethod
    def text(cls, path: str | os.PathLike[str]) -> FileSink:
        """Return a sink of text files in `path`: `str(record)`, one record per line."""
        return cls(path, FileFormat.TEXT)

    def check(self, type_info: TypeInformation, origin: CallSite | None) -> None:
        """Check that records of a type can be written in the format.

        Args:
            type_info: Type of the records.
            origin: The user's line, for the error.

        Raises:
            GraphError: The type is not declared, or one of its fields does not fit.
        """
        columns = self.naming.buckets.columns
        if not columns:
            SPECS[self.format].check(type_info, origin)
            return
        if self.format in _LINES_OF_TEXT:
            raise GraphError(
                f"a record in {self.describe()} is one text, and cannot be divided by {', '.join(columns)}",
                hint="Write Parquet, CSV or JSON files.",
                origin=origin,
            )
        SPECS[self.format].check(division_of(type_info, columns, origin).inside, origin)

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Return a writer of staged files, for the task of `context`."""
        return StagedFileWriter(self.path, self.format, context, self.naming, self.part_size_bytes)

    def create_committer(self, context: SinkContext) -> Committer:
        """Return the committer that makes staged files visible."""
        return StagedFileCommitter(self.path, context, self.naming)

    def describe(self) -> str:
        """Return e.g. `parquet files in /data/out`."""
        return f"{self.format.value} files in {self.path}"


def _instance(value: T, wanted: type[T]) -> T:
    if isinstance(value, wanted):
        return value
    raise ArgumentError.here(
        f"the file sink got {value!r} for a {wanted.__name__}", hint=f"Pass a {wanted.__name__}."
    )
