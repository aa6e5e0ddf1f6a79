"""The table of failures with known causes: how to recognise each by its Java causes, our error, and its hint.

A failure is recognised by Spark's error condition (`FAILED_READ_FILE.NO_HINT`) or the Java class: both are
stable, unlike messages. A row has a pattern only if there is neither, as for messages of the operating
system. The first matching row applies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pyspark
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from penstock.errors import (
    RESTORE_CHECKPOINTS,
    EnvironmentSetupError,
    ExpressionError,
    JobFailedError,
    PenstockError,
    SinkError,
    SourceError,
    StateError,
    WorkerStartError,
)

_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\][^\n]*")
_CLASS = re.compile(r"\b((?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error))(?::\s*([^\n]*))?")
_MOST = 16
"""Greatest number of causes; a chain may be cyclic."""


@dataclass(frozen=True, slots=True)
class JavaCause:
    """One exception of a chain.

    Attributes:
        condition: Spark's error condition with its subcondition; empty if there is none.
        parameters: Parameters of the condition.
    """

    java_class: str
    condition: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    message: str = ""

    @property
    def line(self) -> str:
        """The first line of the message, without the number of a standard."""
        lines = self.message.strip().splitlines() or [self.java_class]
        return lines[0].partition(" SQLSTATE:")[0].strip()


def java_causes(error: BaseException) -> tuple[JavaCause, ...]:
    """Return the Java exceptions behind a Python one, the outermost first.

    For a failure that is only text, these are the exceptions that the text names.
    """
    causes: list[JavaCause] = []
    thrown = _java_side(error)
    if thrown is None:
        return causes_in(str(error))
    # the JVM has ended: only the causes read so far are available
    with suppress(Py4JError, OSError):
        causes.extend(_chain(thrown))
    return tuple(causes)


def causes_in(text: str) -> tuple[JavaCause, ...]:
    """Return the error conditions and Java classes that a text names, conditions first."""
    named = [JavaCause("", match[1], {}, match[0]) for match in _CONDITION.finditer(text)]
    thrown = [JavaCause(match[1], "", {}, match[2] or "") for match in _CLASS.finditer(text)]
    return (*named, *thrown)


def _java_side(error: BaseException) -> Any:
    if isinstance(error, Py4JJavaError):
        return error.java_exception
    if isinstance(error, CapturedException):
        return error._origin  # noqa: SLF001 - the causes are nowhere else
    return None


def _chain(thrown: Any) -> Iterator[JavaCause]:
    for _ in range(_MOST):
        if thrown is None:
            return
        name = str(thrown.getClass().getName())
        condition, parameters = _condition(thrown)
        yield JavaCause(name, condition, parameters, str(thrown.getMessage() or ""))
        thrown = thrown.getCause()


def _condition(thrown: Any) -> tuple[str, dict[str, str]]:
    try:
        return str(thrown.getCondition() or ""), dict(thrown.getMessageParameters() or {})
    except (Py4JError, TypeError):  # not an exception of Spark's
        return "", {}


_HADOOP = "<version of Hadoop>"
"""Placeholder in a hint for the version of Spark's Hadoop jars."""

MEMORY = (
    "Give it more: spark.driver.memory (with a local master everything runs in the driver), "
    "spark.executor.memory for executors. It is read when the JVM starts."
)
_NANOS = (
    "Spark has microseconds. Write them (pyarrow: coerce_timestamps='us'), or set "
    "spark.sql.legacy.parquet.nanosAsLong to true and read the column as an integer."
)
COLON_IN_NAME = re.compile(
    r"URISyntaxException: Relative path in absolute URI: [^\n]*"
    r"|\[?FAILED_READ_FILE[^\n]*/[^/\n]*:[^/\n]*\.\s+SQLSTATE[^\n]*"
)
"""Messages of Hadoop and Spark about a file with a colon in its name."""

_FAILED_READ = "FAILED_READ_FILE"
_ONLY_THE_FILE = frozenset({"FAILED_READ_FILE.NO_HINT", "FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER"})
"""Conditions that name only the file; their cause has the problem."""


@dataclass(frozen=True, slots=True)
class KnownFailure:
    """A row of the table.

    Attributes:
        becomes: Class of our error.
        conditions: Spark's error conditions, or prefixes of them.
        classes: Last parts of names of Java classes.
        contains: Pattern that the message must match too; None is any message. In a row without
            conditions and classes, pattern in the whole text, whose match is the problem.
    """

    becomes: type[PenstockError]
    hint: str
    conditions: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    contains: re.Pattern[str] | None = None

    def error(self, problem: str) -> PenstockError:
        """Return our error about the failure."""
        return self.becomes(problem, hint=self.hint.replace(_HADOOP, _hadoop()))

    def found(self, causes: Sequence[JavaCause], text: str) -> str | None:
        """Return the problem if the row matches a failure, else None."""
        if not self.conditions and not self.classes:
            assert self.contains is not None
            match = self.contains.search(text)
            return None if match is None else match[0].strip()
        fitting = [cause for cause in causes if self._fits(cause)]
        # the innermost cause is the most specific
        return _problem_of(fitting[-1], causes) if fitting else None

    def _fits(self, cause: JavaCause) -> bool:
        named = cause.condition.startswith(self.conditions) if cause.condition else False
        if not named and cause.java_class.rpartition(".")[2] not in self.classes:
            return False
        return self.contains is None or bool(self.contains.search(cause.message))


def has_colon(error: BaseException) -> bool:
    """Return whether a colon in a file name caused the error."""
    return COLON_IN_NAME.search(str(error)) is not None


def failed_file(causes: Sequence[JavaCause]) -> str | None:
    """Return the URI of the file that could not be read, None for other failures."""
    paths = (c.parameters.get("path") for c in causes if c.condition.startswith(_FAILED_READ))
    return next(filter(None, paths), None)


def _problem_of(cause: JavaCause, causes: Sequence[JavaCause]) -> str:
    path = failed_file(causes)
    line = causes[-1].line if cause.condition in _ONLY_THE_FILE else cause.line
    return line if path is None or path in line else f"{path} cannot be read: {line}"


@cache
def _hadoop() -> str:
    """Return the version of Hadoop. Called only after a failure, because it lists Spark's jars."""
    jars = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    return next((jar.stem.rpartition("-")[2] for jar in jars), _HADOOP)


def _package(coordinates: str) -> str:
    return (
        f"Start Spark with the package: --conf spark.jars.packages={coordinates}, or put its jars "
        "into spark.jars. It must be there before the session starts."
    )


_NO_CLASS = ("ClassNotFoundException",)

KNOWN_FAILURES: tuple[KnownFailure, ...] = (
    KnownFailure(
        SinkError,
        "Free some space and start the same command again.",
        contains=re.compile(r"(No space left on device|Disk quota exceeded|File too large)[^\n]*"),
    ),
    KnownFailure(
        SourceError,
        "Rename the file: Hadoop, and so Spark, cannot name a file with a colon.",
        contains=COLON_IN_NAME,
    ),
    KnownFailure(
        EnvironmentSetupError,
        "Set PYSPARK_PYTHON, or python.executable, to an interpreter that has Penstock.",
        contains=re.compile("ModuleNotFoundError: No module named 'penstock'"),
    ),
    KnownFailure(
        EnvironmentSetupError,
        "Python's workers did not start. If the error names a file of the program, rename the file: it takes the place "
        "of a module of Python or of a package.",
        contains=re.compile(r"\b[A-Z]\w*(?:Error|Exception): [^\n]*(?=\n\s*PYTHONPATH was:)"),
    ),
    KnownFailure(
        WorkerStartError,
        "The machine is overloaded: a Python worker did not start in time. Run fewer tasks at once "
        "(parallelism.default, or the cores of spark.master), or less beside the job; "
        "restart-strategy.type starts it again more often.",
        contains=re.compile(
            r"(Python worker failed|Timed out while waiting for the Python worker) to connect back"
            r"[^\n]*"
        ),
    ),
    KnownFailure(
        StateError,
        RESTORE_CHECKPOINTS,
        conditions=("STATE_STORE", "CANNOT_LOAD_STATE_STORE", "STDS_", "STATEFUL_OPERATOR"),
    ),
    KnownFailure(
        StateError,
        RESTORE_CHECKPOINTS,
        classes=("FileNotFoundException",),
        contains=re.compile(r"/spark/state/"),
    ),
    KnownFailure(
        JobFailedError,
        "Another driver uses this checkpoint directory; stop it first.",
        conditions=("CONCURRENT_STREAM_LOG_UPDATE",),
    ),
    KnownFailure(
        JobFailedError,
        MEMORY,
        conditions=("UNABLE_TO_ACQUIRE_MEMORY",),
        classes=("OutOfMemoryError", "SparkOutOfMemoryError"),
    ),
    KnownFailure(
        JobFailedError, MEMORY, contains=re.compile(r"java\.lang\.OutOfMemoryError[^\n]*")
    ),
    KnownFailure(
        SourceError,
        _NANOS,
        conditions=("PARQUET_TYPE_ILLEGAL",),
        contains=re.compile("NANOS"),
    ),
    KnownFailure(
        SourceError,
        f"If the file has nanoseconds: {_NANOS}",
        conditions=("FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH",),
        contains=re.compile(r"Spark type timestamp\w*, actual Parquet type INT64"),
    ),
    KnownFailure(
        SourceError,
        _package(f"org.apache.hadoop:hadoop-aws:{_HADOOP}"),
        classes=_NO_CLASS,
        contains=re.compile(r"fs\.s3a\."),
    ),
    KnownFailure(
        SourceError,
        _package(f"org.apache.hadoop:hadoop-azure:{_HADOOP}"),
        classes=_NO_CLASS,
        contains=re.compile(r"fs\.azurebfs\."),
    ),
    KnownFailure(
        SourceError,
        _package("com.google.cloud.bigdataoss:gcs-connector:<version for Hadoop 3>"),
        classes=_NO_CLASS,
        contains=re.compile(r"fs\.gs\."),
    ),
    KnownFailure(
        SourceError,
        "Hadoop reads Amazon's stores as s3a: write s3a:// instead of s3://.",
        classes=("UnsupportedFileSystemException",),
        contains=re.compile(r'"s3n?"'),
    ),
    KnownFailure(
        SourceError,
        "Correct the path, or start Spark with the package of this file system "
        "(spark.jars.packages).",
        classes=("UnsupportedFileSystemException",),
    ),
    KnownFailure(
        SourceError,
        "Correct the format, or start Spark with the package that has it "
        "(spark.jars.packages), for example "
        f"org.apache.spark:spark-avro_2.13:{pyspark.__version__}.",
        conditions=("DATA_SOURCE_NOT_FOUND", "AVRO_DATA_SOURCE_NOT_ENABLED"),
    ),
    KnownFailure(
        SourceError,
        "Names that differ only by case need spark.sql.caseSensitive=true: set "
        "it, or rename the column.",
        conditions=("COLUMN_ALREADY_EXISTS",),
    ),
    KnownFailure(
        SourceError,
        "Give every file the header of the type, or read columns by their positions: "
        "options={'enforceSchema': 'true'}.",
        conditions=("_LEGACY_ERROR_TEMP_3241",),
    ),
    KnownFailure(
        SourceError,
        "Double quotes inside of quotes (a file with backslashes instead: "
        "options={'escape': '\\\\'}).",
        classes=("TextParsingException",),
    ),
    KnownFailure(
        SourceError,
        "Every file of the source must exist, be complete and not change while the job runs.",
        conditions=("FAILED_READ_FILE.FILE_NOT_EXIST", "PATH_NOT_FOUND"),
        classes=("FileNotFoundException",),
    ),
    KnownFailure(
        SourceError,
        "Correct the file, or declare the type_info that it has.",
        conditions=(
            "CANNOT_PARSE",
            "MALFORMED_CSV_RECORD",
            "MALFORMED_RECORD_IN_PARSING",
            "FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH",
            "PARQUET_COLUMN_DATA_TYPE_MISMATCH",
            "PARQUET_TYPE_",
            "UNABLE_TO_INFER_SCHEMA",
            "CANNOT_MERGE_",
        ),
    ),
    KnownFailure(
        SourceError,
        "Every file of the source must exist, be complete and not change while the job runs.",
        conditions=(_FAILED_READ,),
    ),
    KnownFailure(
        SourceError,
        "Declare the column as wide as the files have it, or correct the file.",
        contains=re.compile(r"[^\s]+: field '[^\n]*' is out of the range of [^\n]*"),
    ),
    KnownFailure(
        ExpressionError,
        "Choose such records out before with where, compute only for others with when(…).otherwise(…), "
        "or cast to a wider type. With execution.batch.expressions=false the error names the record.",
        conditions=(
            "ARITHMETIC_OVERFLOW",
            "BINARY_ARITHMETIC_OVERFLOW",
            "CAST_INVALID_INPUT",
            "CAST_OVERFLOW",
            "DIVIDE_BY_ZERO",
            "NUMERIC_VALUE_OUT_OF_RANGE",
            "REMAINDER_BY_ZERO",
            "USER_RAISED_EXCEPTION",
        ),
    ),
    KnownFailure(
        JobFailedError,
        "Executors died again and again. Keep them alive, or functions free of clocks and chance.",
        contains=re.compile(r"A shuffle map stage with indeterminate output[^.\n]*"),
    ),
)
