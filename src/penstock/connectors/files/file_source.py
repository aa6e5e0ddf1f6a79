"""A source over files, in every format Spark reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from penstock.connectors.files.lines.form import LineForm, line_form
from penstock.connectors.local_path import one_path
from penstock.errors import ArgumentError
from penstock.graph.dataset import Dataset, files_at
from penstock.graph.endpoints import Source
from penstock.types import Duration, RowTypeInfo, TypeInformation, Types
from penstock.types.column_forms import has_form_of_columns, has_times_of_day


@dataclass(frozen=True, slots=True)
class StreamFormat:
    """Division of the content of files into records.

    Attributes:
        format: A Spark format.
        type_info: Type of the rows; None for lines of text.
        options: Options of Spark's reader.

    Example:
        >>> StreamFormat.text_line_format().format
        'text'
    """

    format: str
    type_info: RowTypeInfo | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat:
        """Return the format of lines of text.

        Args:
            charset_name: Only UTF-8.

        Raises:
            ArgumentError: The character set is not UTF-8.
        """
        if charset_name.replace("-", "").lower() != "utf8":
            raise ArgumentError.here(
                f"text files in {charset_name!r} cannot be read",
                hint="Convert them to UTF-8, or read CSV with the option encoding.",
            )
        return StreamFormat("text", None, {"recursiveFileLookup": "true"})


_TEXTS = frozenset({"csv", "json", "text"})


class FileSourceBuilder:
    """Builds a `FileSource`, as PyFlink's builder does.

    Example:
        >>> lines = StreamFormat.text_line_format()
        >>> FileSource.for_record_stream_format(lines, "/data/logs").build().describe()
        'text files of /data/logs'
        >>> builder = FileSource.for_record_stream_format(lines, "/data/logs").process_static_file_set()
        >>> enumerator = FileEnumeratorProvider.default_splittable_file_enumerator()
        >>> builder = builder.set_file_enumerator(enumerator)  # has no effect
        >>> assigner = FileSplitAssignerProvider.locality_aware_split_assigner()
        >>> builder = builder.set_split_assigner(assigner)  # neither
        >>> builder.build().is_bounded
        True
    """

    def __init__(self, stream_format: StreamFormat, paths: tuple[str | Path, ...]) -> None:
        if not isinstance(stream_format, StreamFormat):
            raise ArgumentError.here(
                f"{stream_format!r} is not a stream format",
                hint="Pass StreamFormat.text_line_format(), or use FileSource.parquet, csv or json.",
            )
        if not paths:
            raise ArgumentError.here(
                "a file source got no paths", hint="Pass at least one path after the format."
            )
        self._format = stream_format
        self._path = one_path(paths)
        self._continuous = False
        self._discovery_interval: Duration | None = None

    def monitor_continuously(self, discovery_interval: Duration) -> FileSourceBuilder:
        """Also read files that appear later.

        Args:
            discovery_interval: Least time between two listings; see `FileSource.monitor_continuously`.

        Raises:
            ArgumentError: It is no `Duration`, or a negative one.
        """
        _seconds_of(discovery_interval)
        self._continuous = True
        self._discovery_interval = discovery_interval
        return self

    def process_static_file_set(self) -> FileSourceBuilder:
        """Read the files that exist when the job starts."""
        self._continuous = False
        return self

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder:
        """Do nothing: the engine lists the files. PyFlink has the method.

        Args:
            file_enumerator: Has no effect.
        """
        del file_enumerator
        return self

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder:
        """Do nothing: Spark assigns the files to tasks. PyFlink has the method.

        Args:
            split_assigner: Has no effect.
        """
        del split_assigner
        return self

    def build(self) -> FileSource:
        """Return the source."""
        form = self._format
        source = FileSource(self._path, form.format, form.type_info, dict(form.options))
        return source.monitor_continuously(self._discovery_interval) if self._continuous else source


@dataclass(frozen=True, slots=True)
class FileEnumeratorProvider:
    """Flink's listing of files. Has no effect.

    Example:
        >>> FileEnumeratorProvider.default_splittable_file_enumerator().name
        'splittable'
        >>> FileEnumeratorProvider.default_non_splittable_file_enumerator().name
        'non-splittable'
    """

    name: str

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Return the enumerator of files that may be split."""
        return FileEnumeratorProvider("splittable")

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Return the enumerator of files that may not be split."""
        return FileEnumeratorProvider("non-splittable")


@dataclass(frozen=True, slots=True)
class FileSplitAssignerProvider:
    """Flink's assignment of files to subtasks. Has no effect.

    Example:
        >>> FileSplitAssignerProvider.locality_aware_split_assigner().name
        'locality-aware'
    """

    name: str

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        """Return the assigner that prefers local files."""
        return FileSplitAssignerProvider("locality-aware")


@dataclass(frozen=True, slots=True)
class FileSource(Source):
    """Reads the rows of files as `Row`s; of text files, lines as `str`s.

    Bounded by default: the files that exist when the job starts, pinned with their size and
    time, so that a change is noticed. After `monitor_continuously` it never ends and also
    reads files that appear later. A file must appear complete (write it elsewhere, then
    rename) and must not change afterwards.

    Attributes:
        path: A file, directory or glob, in any file system Spark can read. A relative path
            is resolved against the working directory. A local path that exists as it is
            written is no glob. Files whose names begin with `_` or `.` are not read, nor is
            what is in directories below, except those of partitions (`day=7`).
        format: A Spark format: `parquet`, `csv`, `json`, `text`, `orc`, `avro`, ….
        type_info: Type of the rows; None lets Spark infer it, for which a first file must
            exist.
        options: Options of Spark's reader.
        continuous: True to watch for new files.
        discovery_seconds: Least time between two listings while it watches; None lets the engine decide.

    Example:
        >>> FileSource.csv("/data/orders").describe()
        'csv files of /data/orders'
    """

    kind: ClassVar[str] = "files"
    makes_records_anew: ClassVar[bool] = True
    path: str
    format: str
    type_info: RowTypeInfo | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    continuous: bool = False
    discovery_seconds: float | None = None

    def __post_init__(self) -> None:
        """Check the arguments and resolve a relative path.

        Spark would resolve it against the directory in which its JVM was started.
        """
        if "://" not in self.path and not self.path.startswith("file:"):
            object.__setattr__(self, "path", str(Path(self.path).expanduser().absolute()))
        if self.type_info is not None and not isinstance(self.type_info, RowTypeInfo):
            raise ArgumentError.here(
                f"the type of files is a row, got {self.type_info!r}",
                hint="Pass Types.ROW_NAMED(names, types).",
            )
        has_times = self.type_info is not None and has_times_of_day(self.type_info)
        if has_times and self.format != "parquet" and self.by_lines is None:
            raise ArgumentError.here(
                f"{self.describe()} have a SQL_TIME, which Spark reads only from Parquet",
                hint="Leave the column out of type_info, or write it as text or as LONG.",
            )

    @classmethod
    def parquet(
        cls,
        path: str | Path,
        type_info: RowTypeInfo | None = None,
        *,
        options: Mapping[str, str] | None = None,
    ) -> FileSource:
        """Return a source of Parquet files.

        Args:
            path: See the class.
            type_info: Columns; None takes them from the files.
            options: Options of Spark's reader.

        Example:
            >>> FileSource.parquet("/data/orders").describe()
            'parquet files of /data/orders'
        """
        return cls(str(path), "parquet", type_info, dict(options or {}))

    @classmethod
    def csv(
        cls,
        path: str | Path,
        type_info: RowTypeInfo | None = None,
        *,
        header: bool = True,
        options: Mapping[str, str] | None = None,
    ) -> FileSource:
        """Return a source of CSV files.

        Args:
            path: See the class.
            type_info: Columns in order; None takes names from the header and infers types.
            header: True if the first line of each file has the column names.
            options: Options of Spark's reader; they override ours, see docs/connectors/files.md.

        Example:
            >>> columns = Types.ROW_NAMED(["customer", "amount"], [Types.STRING(), Types.INT()])
            >>> FileSource.csv("/data/orders", columns).get_produced_type() == columns
            True
        """
        ours = {"header": str(header).lower(), "mode": "FAILFAST"}
        if type_info is None:
            ours["inferSchema"] = "true"
        return cls(str(path), "csv", type_info, ours | dict(options or {}))

    @classmethod
    def json(
        cls,
        path: str | Path,
        type_info: RowTypeInfo | None = None,
        *,
        options: Mapping[str, str] | None = None,
    ) -> FileSource:
        """Return a source of files with one JSON object per line.

        Args:
            path: See the class.
            type_info: Columns; None infers them from all files.
            options: Options of Spark's reader; they override ours, see docs/connectors/files.md.

        Example:
            >>> FileSource.json("/data/orders").describe()
            'json files of /data/orders'
        """
        return cls(str(path), "json", type_info, {"mode": "FAILFAST"} | dict(options or {}))

    @classmethod
    def text(cls, path: str | Path) -> FileSource:
        """Return a source of the lines of text files.

        Args:
            path: See the class.

        Example:
            >>> FileSource.text("/data/logs").describe()
            'text files of /data/logs'
        """
        return cls(str(path), "text")

    @staticmethod
    def for_record_stream_format(
        stream_format: StreamFormat, *paths: str | Path
    ) -> FileSourceBuilder:
        """Return PyFlink's builder; its `build()` returns the source.

        Args:
            stream_format: `StreamFormat.text_line_format()`, or a `CsvReaderFormat`.
            paths: Files, directories (read recursively) or globs.

        Raises:
            ArgumentError: The format is none, or there are no paths.

        Example:
            >>> lines = StreamFormat.text_line_format()
            >>> FileSource.for_record_stream_format(lines, "/data/logs").build().describe()
            'text files of /data/logs'
        """
        return FileSourceBuilder(stream_format, paths)

    def monitor_continuously(self, discovery_interval: Duration | None = None) -> FileSource:
        """Return an unbounded source that also reads files that appear later.

        Args:
            discovery_interval: Least time between two listings. The default is ten times the duration of a
                listing, and at least 20 ms, or one second in a file system that is not local. A shorter
                interval has the same effect as the default. A query lists the files for every micro-batch,
                whatever the interval; the plan and the log report it.

        Raises:
            ArgumentError: It is no `Duration`, or a negative one.

        Example:
            >>> FileSource.text("/data/logs").monitor_continuously().is_bounded
            False
        """
        seconds = None if discovery_interval is None else _seconds_of(discovery_interval)
        return replace(self, continuous=True, discovery_seconds=seconds)

    @property
    def is_bounded(self) -> bool:
        """True if only existing files are read."""
        return not self.continuous

    @property
    def unprojected_because(self) -> str | None:
        """Reason why Spark SQL does not compute on its columns: it would check only those that it needs, or not hold all values."""
        if self.format not in _TEXTS:
            return None
        form = self.by_lines
        if form is None:
            return f"of {self.format} files Spark's reader checks only the columns that are needed"
        return form.uncolumned_because

    @property
    def by_lines(self) -> LineForm | None:
        """The form of its lines, if workers make the records; None if Spark's reader does."""
        form = line_form(self.format, self.type_info, self.options, self.path)
        return form if isinstance(form, LineForm) else None

    @property
    def has_declared_form(self) -> bool:  # type: ignore[override]
        """The fact that its records have the declared form; columns have another one for some types."""
        declared = self.type_info
        return declared is None or self.by_lines is not None or has_form_of_columns(declared)

    @property
    def _reader(self) -> str:
        form = line_form(self.format, self.type_info, self.options, self.path)
        if isinstance(form, LineForm):
            if form.is_whole:
                return "strict decoders of files that Spark reads whole"
            return "strict decoders of lines (workers read plain local files, Spark the others)"
        return f"Spark's reader of {self.format} ({form})"

    @property
    def read_in_epochs_by(self) -> str | None:  # type: ignore[override]
        """Reader in a live run."""
        return f"{self._reader}, over new files"

    @property
    def read_in_batch_by(self) -> str | None:  # type: ignore[override]
        """Reader in a batch run."""
        return f"{self._reader}, over pinned files"

    def get_produced_type(self) -> TypeInformation:
        """Return the row type; a string for text; unknown if it is inferred."""
        if self.format == "text":
            return Types.STRING()
        return self.type_info or Types.PICKLED_BYTE_ARRAY()

    def datasets(self) -> Sequence[Dataset]:
        """Return the directory of its files."""
        return (files_at(self.path),)

    def describe(self) -> str:
        """Return format and path."""
        later = " as they appear" if self.continuous else ""
        return f"{self.format} files of {self.path}{later}"


def _seconds_of(interval: Duration) -> float:
    """Return a time between two listings in seconds."""
    if not isinstance(interval, Duration) or interval.to_millis() < 0:
        raise ArgumentError.here(
            f"the discovery interval is {interval!r}",
            hint="Pass a Duration, for example Duration.of_seconds(5).",
        )
    return interval.to_millis() / 1000
