"""A source over files, in every format Spark reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from penstock.errors import ArgumentError, CallSite
from penstock.graph.endpoints import Source
from penstock.types import RowTypeInfo, TypeInformation, Types


@dataclass(frozen=True, slots=True)
class FileSource(Source):
    """Reads the rows of files as `Row`s; of text files, lines as `str`s.

    Bounded by default: the files that exist when the job starts, pinned with their size and
    time, so that a change is noticed. After `monitor_continuously` it never ends and also
    reads files that appear later. A file must appear complete (write it elsewhere, then
    rename) and must not change afterwards.

    Attributes:
        path: A file, directory or glob, in any file system Spark can read. A relative path
            is resolved against the working directory.
        format: A Spark format: `parquet`, `csv`, `json`, `text`, `orc`, `avro`, ….
        type_info: Type of the rows; None lets Spark infer it, for which a first file must
            exist.
        options: Options of Spark's reader.
        continuous: Whether to watch for new files.
    """

    kind: ClassVar[str] = "files"
    path: str
    format: str
    type_info: RowTypeInfo | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    continuous: bool = False

    def __post_init__(self) -> None:
        """Check the arguments and resolve a relative path.

        Spark would resolve it against the directory in which its JVM was started.

        Raises:
            ArgumentError: The type is not a row with field names.
        """
        if "://" not in self.path and not self.path.startswith("file:"):
            object.__setattr__(self, "path", str(Path(self.path).expanduser().absolute()))
        if self.type_info is not None and not isinstance(self.type_info, RowTypeInfo):
            raise ArgumentError(
                f"the type of files is a row, got {self.type_info!r}",
                hint="Pass Types.ROW_NAMED(names, types).",
                origin=CallSite.of_caller(),
            )

    @classmethod
    def parquet(cls, path: str | Path, type_info: RowTypeInfo | None = None) -> FileSource:
        """Return a source of Parquet files."""
        return cls(str(path), "parquet", type_info)

    @classmethod
    def csv(
        cls, path: str | Path, type_info: RowTypeInfo | None = None, *, header: bool = True
    ) -> FileSource:
        """Return a source of CSV files.

        Args:
            path: See the class.
            type_info: Columns in order; None takes names from the header and infers types.
            header: Whether the first line of each file has the column names.
        """
        options = {"header": str(header).lower(), "mode": "FAILFAST"}
        if type_info is None:
            options["inferSchema"] = "true"
        return cls(str(path), "csv", type_info, options)

    @classmethod
    def json(cls, path: str | Path, type_info: RowTypeInfo | None = None) -> FileSource:
        """Return a source of files with one JSON object per line."""
        return cls(str(path), "json", type_info, {"mode": "FAILFAST"})

    @classmethod
    def text(cls, path: str | Path) -> FileSource:
        """Return a source of the lines of text files."""
        return cls(str(path), "text")

    def monitor_continuously(self) -> FileSource:
        """Return an unbounded source that also reads files that appear later."""
        return replace(self, continuous=True)

    @property
    def is_bounded(self) -> bool:
        """Whether only existing files are read."""
        return not self.continuous

    def get_produced_type(self) -> TypeInformation:
        """Return the row type; a string for text; unknown if it is inferred."""
        if self.format == "text":
            return Types.STRING()
        return self.type_info or Types.PICKLED_BYTE_ARRAY()

    def describe(self) -> str:
        """Return format and path."""
        watching = "watching " if self.continuous else ""
        return f"{watching}{self.format} files of {self.path}"
