"""From Spark's exceptions to ours.

A worker raises a `PenstockError`; Spark wraps it in a Python traceback, a Java stack and often
several causes, as text. `carrying` puts the error's wire form into that text at the worker's
end, and `translate` finds it again in the driver. What is not ours is matched against known
causes; the rest becomes `JobFailedError` with Spark's first line.
"""

from __future__ import annotations

import linecache
import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.errors import (
    EnvironmentSetupError,
    JobFailedError,
    PenstockError,
    SinkError,
    SourceError,
    StateError,
    encodable,
    without_wire,
)
from penstock.spark.final_failures import tell_driver


class WorkerFailure(Exception):  # noqa: N818 - not an error of ours: the wire form of one
    """Carries a `PenstockError` out of a worker, as text."""


@contextmanager
def carrying() -> Iterator[None]:
    """Make what is raised inside survive Spark's wrapping: around all that runs in its workers.

    Spark's worker tells the JVM the text of an exception with all its causes, and if that cannot be
    encoded it tells nothing, while the JVM waits for ever. So no text with half a character in it
    may leave, neither that of our errors nor that of others.
    """
    try:
        yield
    except GeneratorExit:  # whoever reads what is made inside has stopped
        raise
    except PenstockError as error:
        tell_driver(error)
        raise WorkerFailure(f"{error}\n{error.to_wire()}") from None
    except BaseException as error:
        told = "".join(traceback.format_exception(error))
        if encodable(told) == told:
            raise
        raise WorkerFailure(encodable(told)) from None


_RAISED = re.compile(r"^[A-Za-z_][\w.]*(?:Error|Exception|Failure|Interrupt)\b.*$", re.MULTILINE)
"""The last line of a Python traceback."""

_FRAME = re.compile(r'^  File "(.+)", line (\d+), in ')
"""A frame of a Python traceback."""

_CALLING = re.compile(r"^An error occurred while calling \S+\.\s*(?:: )?")
"""What py4j puts before what Java says."""

COLON_IN_NAME = re.compile(
    r"URISyntaxException: Relative path in absolute URI: [^\n]*"
    r"|\[?FAILED_READ_FILE[^\n]*/[^/\n]*:[^/\n]*\.\s+SQLSTATE[^\n]*"
)
"""What Hadoop, and Spark, say of a file with a colon in its name."""

_KNOWN: tuple[tuple[re.Pattern[str], type[PenstockError], str], ...] = (
    (
        COLON_IN_NAME,
        SourceError,
        "Rename the file: Hadoop, and so Spark, cannot name a file with a colon.",
    ),
    (
        re.compile(r"ModuleNotFoundError: No module named 'penstock'"),
        EnvironmentSetupError,
        "Set PYSPARK_PYTHON, or python.executable, to an interpreter that has Penstock.",
    ),
    (
        re.compile(r"FileNotFoundException[^\n]*/spark/state/[^\n]*"),
        StateError,
        "Restore the checkpoint directory from a copy, or start the job in a new one.",
    ),
    (
        re.compile(r"\[?(FAILED_READ_FILE|FileNotFoundException|PATH_NOT_FOUND)[^\n]*"),
        SourceError,
        "Every file of the source must exist, be complete and not change while the job runs.",
    ),
    (
        re.compile(
            r"\[?(MALFORMED_RECORD_IN_PARSING|PARQUET_COLUMN_DATA_TYPE_MISMATCH|CANNOT_PARSE|"
            r"UNABLE_TO_INFER_SCHEMA|MALFORMED_CSV_RECORD)[^\n]*"
        ),
        SourceError,
        "Correct the file, or declare the type_info that it has.",
    ),
    (
        re.compile(r"(No space left on device|Disk quota exceeded|File too large)[^\n]*"),
        SinkError,
        "Free some space and start the same command again.",
    ),
    (
        re.compile(r"\[?(STATE_STORE|CANNOT_LOAD_STATE_STORE|STDS_)[^\n]*"),
        StateError,
        "Restore the checkpoint directory from a copy, or start the job in a new one.",
    ),
    (
        re.compile(r"A shuffle map stage with indeterminate output[^.\n]*"),
        JobFailedError,
        "Executors died again and again. Keep them alive, or functions free of clocks and chance.",
    ),
    (
        re.compile(r"CONCURRENT_STREAM_LOG_UPDATE[^\n]*"),
        JobFailedError,
        "Another driver uses this checkpoint directory; stop it first.",
    ),
)


HOW_TO_SEE = "(`penstock run --verbose` shows what Spark said; in a program, `error.details` does)"
"""Stands behind the error of a job, in place of pages."""


def translate(error: BaseException, doing: str) -> PenstockError:
    """Return our error for whatever Spark raised while `doing` something."""
    if isinstance(error, PenstockError):
        return error
    text = str(error)
    ours = PenstockError.from_wire(text)
    if ours is not None:
        return ours
    for pattern, made, hint in _KNOWN:
        found = pattern.search(text)
        if found is not None:
            return made(f"{doing} failed: {found[0].strip()}", hint=hint)
    return JobFailedError(
        f"{doing} failed: {_essence(text) or repr(error)}",
        hint="Run again with --verbose (or spark.log.level=INFO) to see Spark's own log.",
    )


def told_first(error: BaseException, doing: str) -> PenstockError:
    """Return our error for the end of a job, told once.

    What it came from is kept as its `details`. As causes it would be printed before it, and the
    user's line would be at the end of pages of other people's frames; and so would be the frames of
    the job's thread. Python prints none of it.
    """
    failure = translate(error, doing)
    cause = error.__cause__ if failure is error else error
    details = "".join(traceback.format_exception(error))
    failure.details = without_wire(details).strip()
    if cause is not None and not isinstance(cause, PenstockError):
        failure.add_note(HOW_TO_SEE)
    failure.__cause__ = None  # which hides the context as well
    failure.problem = with_source_lines(failure.problem)
    return failure.with_traceback(None)


def with_source_lines(text: str) -> str:
    """Return a traceback with the lines of the program that only this process knows.

    Those of a notebook: a cell is in no file that a worker could read.
    """
    lines = text.split("\n")
    shown: list[str] = []
    for i, line in enumerate(lines):
        shown.append(line)
        found = _FRAME.match(line)
        if found is None or (i + 1 < len(lines) and lines[i + 1].startswith("    ")):
            continue
        source = linecache.getline(found[1], int(found[2])).strip()
        if source:
            shown.append(f"    {source}")
    return "\n".join(shown)


def _essence(text: str) -> str:
    """Return one line of an exception's text: the end of a Python traceback, or the first."""
    raised = _RAISED.findall(text)
    if "Traceback (most recent call last)" in text and raised:
        return str(raised[-1]).strip()
    said = _CALLING.sub("", text)
    return next((line.strip() for line in said.splitlines() if line.strip()), "")
