"""The file sink: a directory of files, each epoch in it exactly once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, TypeVar

from penstock.connectors.files.file_commits import StagedFileCommitter
from penstock.connectors.files.file_compaction import (
    FileCompaction,
    FileCompactor,
    FileCompactStrategy,
)
from penstock.connectors.files.file_formats import SPECS, FileFormat
from penstock.connectors.files.file_naming import (
    BucketAssigner,
    DefaultRollingPolicy,
    FileNaming,
    OutputFileConfig,
    RollingPolicy,
)
from penstock.connectors.files.object_commits import UploadedFileCommitter
from penstock.connectors.files.partitions import division_of
from penstock.connectors.files.sequence_column import sequence_column_name, sequenced_type
from penstock.connectors.files.staged_files import StagedFileWriter
from penstock.connectors.files.uploaded_files import UploadedFileWriter
from penstock.connectors.local_path import storage_path
from penstock.connectors.rows.serialization import Encoder
from penstock.errors import ArgumentError, CallSite, GraphError
from penstock.filesystem.object_path import ObjectPath
from penstock.graph.dataset import Dataset, files_at
from penstock.graph.endpoints import Committer, Sink, SinkContext, SinkWriter
from penstock.types import TypeInformation

T = TypeVar("T")

_LINES_OF_TEXT = frozenset({FileFormat.TEXT, FileFormat.PRINTED})


class FileSinkBuilder:
    """Builds a `FileSink`, as PyFlink's builder does.

    Files are written to a directory per hour (`yyyy-MM-dd--HH`), as in Flink, unless another
    bucket assigner is set.

    Example:
        >>> builder = FileSink.for_row_format("/data/out").with_bucket_check_interval(60_000)
        >>> builder.disable_compact().build().describe()
        'printed files in /data/out'
    """

    def __init__(self, base_path: str | os.PathLike[str], format: FileFormat) -> None:  # noqa: A002
        self._path = base_path
        self._format = format
        self._files = OutputFileConfig()
        self._buckets = BucketAssigner.date_time_bucket_assigner()
        self._part_size_bytes: int | None = None
        self._sequence_column: str | None = None
        self._compact: tuple[FileCompactStrategy, FileCompactor] | None = None

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

    def with_sequence_column(self, name: str) -> FileSinkBuilder:
        """Write one more column, with numbers by which rows can be ordered; see `FileSink.with_sequence_column`.

        Args:
            name: Its name.

        Raises:
            ArgumentError: It is no name.
        """
        self._sequence_column = sequence_column_name(name)
        return self

    def enable_compact(
        self, strategy: FileCompactStrategy, compactor: FileCompactor
    ) -> FileSinkBuilder:
        """Merge the small files of micro-batches in the background, and show no reader what is to be merged.

        Files of a batch run are visible when it is committed. All are visible when the job has ended, was cancelled,
        or when a savepoint of it is complete.

        Args:
            strategy: When files are merged.
            compactor: The way to merge.

        Raises:
            ArgumentError: One of them is something else.
        """
        self._compact = (
            _instance(strategy, FileCompactStrategy),
            _instance(compactor, FileCompactor),
        )
        return self

    def disable_compact(self) -> FileSinkBuilder:
        """Merge no files, which is the default. Files that an earlier driver of the job has hidden become visible."""
        self._compact = None
        return self

    def build(self) -> FileSink:
        """Return the sink.

        Raises:
            ArgumentError: See `FileSink`.
        """
        naming = FileNaming(self._files.part_prefix, self._files.part_suffix, self._buckets)
        compaction = self._compact and FileCompaction.of(*self._compact, self._part_size_bytes)
        return FileSink(
            self._path,
            self._format,
            naming,
            self._part_size_bytes,
            self._sequence_column,
            compaction,
        )


@dataclass(frozen=True, slots=True, init=False)
class FileSink(Sink):
    """Writes records to files in a directory, each record exactly once.

    Files appear when their epoch is committed, complete, and are never changed. Parquet and CSV need a declared or
    inferred row or tuple type; JSON lines and text accept any record. A JSON line is an object if the fields have
    names, and an array otherwise; text is `str(record)`. In CSV a null is empty and an empty string is `""`; most
    readers skip the empty line of a null in a file with one column.

    Attributes:
        path: Directory on a file system that the driver and all workers see under the same
            name; made absolute. Created when the job starts. Or a path of a store.
        format: Format of the files.
        naming: Their names.
        part_size_bytes: Size at which the next file of a task begins; None is without limit.
        sequence_column: Name of the column with the numbers of rows; None is without one.
        compaction: When and how small files are merged; None is never.

    Example:
        >>> FileSink.csv("/out").describe(), FileSink.json("/out").describe(), FileSink.text("/out").kind
        ('csv files in /out', 'json files in /out', 'files')
    """

    path: Path | ObjectPath
    format: FileFormat
    naming: FileNaming
    part_size_bytes: int | None
    sequence_column: str | None
    compaction: FileCompaction | None

    kind: ClassVar[str] = "files"
    may_stage_in_store: ClassVar[bool] = True
    BaseBuilder: ClassVar[type[FileSinkBuilder]] = FileSinkBuilder
    RowFormatBuilder: ClassVar[type[FileSinkBuilder]] = FileSinkBuilder
    BulkFormatBuilder: ClassVar[type[FileSinkBuilder]] = FileSinkBuilder

    def __init__(
        self,
        path: str | os.PathLike[str] | ObjectPath,
        format: FileFormat,  # noqa: A002
        naming: FileNaming = FileNaming(),  # noqa: B008 - a frozen value
        part_size_bytes: int | None = None,
        sequence_column: str | None = None,
        compaction: FileCompaction | None = None,
    ) -> None:
        """Describe a sink; nothing is created yet.

        Args:
            path: A path, a `file:` URI, or a path of a store: `s3://bucket/directory`, `gs://…`, `abfss://…`. Relative ones are taken
                from here, since workers may have another working directory.
            format: Format of the files.
            naming: Their names; `part-….<format>` in the directory itself.
            part_size_bytes: Size at which the next file of a task begins, about; None is without limit.
            sequence_column: Name of a column with the numbers of rows; None is without one.
            compaction: When and how small files are merged; None is never.

        Raises:
            ArgumentError: The path is empty or names another kind of storage, or the size is none, or the files
                cannot be merged.
            MissingConnectorError: The path is one of a store whose extra (`s3`, `azure`, `google`) is not installed.
        """
        object.__setattr__(self, "path", storage_path(path))
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
        object.__setattr__(self, "sequence_column", sequence_column)
        object.__setattr__(self, "compaction", compaction)
        if compaction is not None:
            compaction.check(self.path, format)

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

    def with_sequence_column(self, name: str) -> FileSink:
        """Return the sink with one more column, of 64-bit integers by which its rows can be ordered.

        Rows of a later epoch have greater numbers, and what a task writes in an epoch is numbered in order: behind a
        keyed operator, that is the order of the rows of a key. Rows of several tasks may have the same number. An
        epoch that is written again, after a failure, has the same numbers. They are those of a checkpoint
        directory: a job that starts from a savepoint in another one begins anew.

        Args:
            name: Name of the column, the last one.

        Raises:
            ArgumentError: It is no name.

        Example:
            >>> FileSink.parquet("/data/out").with_sequence_column("seq").sequence_column
            'seq'
        """
        return FileSink(
            self.path,
            self.format,
            self.naming,
            self.part_size_bytes,
            sequence_column_name(name),
            self.compaction,
        )

    def check(self, type_info: TypeInformation, origin: CallSite | None) -> None:
        """Check that records of a type can be written in the format.

        Args:
            type_info: Type of the records.
            origin: The user's line, for the error.

        Raises:
            GraphError: The type is not declared, or one of its fields does not fit.
        """
        columns, sequence = self.naming.buckets.columns, self.sequence_column
        if self.format in _LINES_OF_TEXT and (columns or sequence):
            required = (
                f"be divided by {', '.join(columns)}" if columns else f"have a column {sequence!r}"
            )
            raise GraphError(
                f"a record in {self.describe()} is one text, and cannot {required}",
                hint="Write Parquet, CSV or JSON files.",
                origin=origin,
            )
        if sequence is not None:
            type_info = sequenced_type(sequence, type_info, origin)[1]
        if columns:
            type_info = division_of(type_info, columns, origin).inside
        SPECS[self.format].check(type_info, origin)

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Return a writer of staged files, for the task of `context`."""
        if isinstance(self.path, ObjectPath):
            return UploadedFileWriter(
                self.path,
                self.format,
                context,
                self.naming,
                self.part_size_bytes,
                self.sequence_column,
            )
        small_below_bytes = None
        if self.compaction is not None and not context.epoch.is_whole_run:
            # Tasks of a batch run write one file per directory, or files of the configured size.
            small_below_bytes = self.compaction.target_bytes
        return StagedFileWriter(
            self.path,
            self.format,
            context,
            self.naming,
            self.part_size_bytes,
            self.sequence_column,
            small_below_bytes,
        )

    def create_committer(self, context: SinkContext) -> Committer:
        """Return the committer that makes staged files visible."""
        if isinstance(self.path, ObjectPath):
            return UploadedFileCommitter(self.path, context, self.naming)
        return StagedFileCommitter(self.path, context, self.naming, self.compaction)

    def beside(self, directory: str) -> FileSink:
        """Return the sink with another directory.

        Args:
            directory: The directory.
        """
        return FileSink(
            directory,
            self.format,
            self.naming,
            self.part_size_bytes,
            self.sequence_column,
            self.compaction,
        )

    def datasets(self) -> Sequence[Dataset]:
        """Return its directory."""
        return (replace(files_at(self.path), format=self.format.value),)

    def describe(self) -> str:
        """Return e.g. `parquet files in /data/out`."""
        return f"{self.format.value} files in {self.path}"


def _instance(value: T, required: type[T]) -> T:
    if isinstance(value, required):
        return value
    raise ArgumentError.here(
        f"the file sink got {value!r} for a {required.__name__}",
        hint=f"Pass a {required.__name__}.",
    )
