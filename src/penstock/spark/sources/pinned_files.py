"""The pinned files of a bounded source. They are decided once per job.

A file is pinned with its size and modification time. Both are compared before history is read and
afterwards. So a missing, longer or rewritten file is an error, and no result of it becomes visible.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from penstock.connectors.files.file_source import FileSource
from penstock.errors import CallSite, HistoryChangedError, PenstockError, SourceError
from penstock.spark.failures.known_failures import has_colon
from penstock.spark.failures.translation import recognised, translate
from penstock.spark.sources.file_options import reader_options
from penstock.spark.sources.file_paths import facts_of, names_with_colon, stream_path
from penstock.spark.sources.inference import strict_schema
from penstock.spark.sources.line_reads import is_read_by_lines, line_options
from penstock.spark.sources.unreadable_files import check_before_inference
from penstock.types.arrow import arrow_schema


@dataclass(frozen=True, slots=True)
class PinnedFiles:
    """The pinned files of a source.

    Attributes:
        files: URI to (size in bytes, modification time in milliseconds).
        schema: Spark's schema of the rows, as JSON.
    """

    files: dict[str, tuple[int, int]]
    schema: str

    def to_json(self) -> dict[str, object]:
        """Return the form to record."""
        return {
            "files": {uri: list(facts) for uri, facts in self.files.items()},
            "schema": self.schema,
        }

    @classmethod
    def from_json(cls, recorded: dict[str, object]) -> PinnedFiles:
        """Return the object that `to_json` encoded."""
        files: dict[str, list[int]] = recorded["files"]  # type: ignore[assignment]
        return cls(
            {uri: (size, mtime) for uri, (size, mtime) in files.items()}, str(recorded["schema"])
        )


def pin_files(session: SparkSession, source: FileSource, origin: CallSite | None) -> PinnedFiles:
    """List the files of a source and determine its schema."""
    try:
        check_before_inference(session, source, origin)
        path = stream_path(source.path)
        if is_read_by_lines(source):  # Spark has no column for some types of lines
            frame_reader = session.read.format("text").options(**line_options(source))
        else:
            frame_reader = reader(session, source)
        frame = frame_reader.load(path)
        uris = sorted(frame.inputFiles())
        file_schema = declared_schema(source) or strict_schema(session, source, path, frame.schema)
        schema = file_schema.json()
    except SourceError:
        raise
    except Exception as cause:
        raise _unreadable(source, cause, origin) from cause
    return PinnedFiles({uri: _facts(session, uri, source) for uri in uris}, schema)


def check_unchanged(session: SparkSession, source: FileSource, pinned: PinnedFiles) -> None:
    """Refuse history that has changed since it was pinned."""
    for uri, before in pinned.files.items():
        try:
            after = _facts(session, uri, source)
        except SourceError as cause:
            raise HistoryChangedError(
                f"{uri} was part of {source.describe()} when the job was planned and cannot be "
                f"read any more: {cause.problem}",
                hint="Restore the file, or start the job in a new checkpoint directory.",
            ) from cause
        if after != before:
            raise HistoryChangedError(
                f"{uri} changed while it was history: it had {before[0]} bytes, it has "
                f"{after[0]}" + ("" if after[0] != before[0] else " and a new modification time"),
                hint="Files must not change once the job has started; restore it, or start the "
                "job in a new checkpoint directory.",
            )


def reader(session: SparkSession, source: FileSource):  # type: ignore[no-untyped-def]  # noqa: ANN201 - DataFrameReader
    """Return Spark's batch reader for a source, with its options and declared schema."""
    frame_reader = session.read.format(source.format).options(**reader_options(source))
    declared = declared_schema(source)
    return frame_reader if declared is None else frame_reader.schema(declared)


def declared_schema(source: FileSource) -> StructType | None:
    """Return the schema of the declared type, None if Spark infers it."""
    if source.type_info is None:
        return None
    return from_arrow_schema(arrow_schema(source.type_info), prefer_timestamp_ntz=True)


def _facts(session: SparkSession, uri: str, source: FileSource) -> tuple[int, int]:
    try:
        return facts_of(session, uri)
    except Exception as cause:
        raise _unreadable(source, cause, None) from cause


def _unreadable(source: FileSource, cause: Exception, origin: CallSite | None) -> PenstockError:
    doing = f"reading {source.describe()}"
    known = recognised(cause, doing)
    if known is not None:
        problem = known.problem
        if has_colon(cause):
            named = ", ".join(map(str, islice(names_with_colon(source.path), 3)))
            problem = f"{problem} ({named})" if named else problem
        return type(known)(problem, hint=known.hint, origin=known.origin or origin)
    return SourceError(
        translate(cause, doing).problem,
        hint="Check the path and that every file there is a complete "
        f"{source.format} file, or declare type_info if there is none yet.",
        origin=origin,
    )
