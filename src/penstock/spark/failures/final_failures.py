"""Final failures, which another attempt of the task would repeat. Workers report them to the driver.

Spark tries a task four times, and a task cannot mark a failure as final. So the worker writes the failure
into a file, whose path is a local property of the task. It blocks the task until the driver, which polls
the file, has cancelled the Spark job:

    worker   writes the failure             waits          fails; Spark makes no further attempt
    driver                     cancels the job   writes an answer when the job has ended

An `OSError`, or an exception of the user's own class, is not final: a service that did not respond may
respond at the next attempt.
"""

from __future__ import annotations

import os
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Self

from pyspark import SparkContext, TaskContext

from penstock.errors import (
    ExpressionError,
    GraphError,
    KeyTypeError,
    PenstockError,
    TimestampUnsupportedError,
    TypeMismatchError,
    UnknownFieldError,
    UserCodeError,
    UserFunctionError,
    WatermarkUnsupportedError,
)

PROPERTY = "penstock.final-failure"
"""Spark's local property with the path of the file."""

_WAIT_SECONDS = 30.0
"""Time that a worker waits for an answer; a driver that has ended writes none."""

_LOOK_SECONDS = 0.01

_OF_DATA = (
    ExpressionError,
    GraphError,
    KeyTypeError,
    TimestampUnsupportedError,
    TypeMismatchError,
    UnknownFieldError,
    UserCodeError,
    WatermarkUnsupportedError,
)
"""Our errors that depend only on the program and its records."""

_OF_CODE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    TypeError,
    ValueError,
)
"""Python's exceptions that depend only on code and its arguments."""

_PYTHONS_OWN = ("builtins", "decimal", "json.decoder")


def is_final(error: PenstockError) -> bool:
    """Return whether another attempt of the task would fail in the same way."""
    if isinstance(error, UserFunctionError):
        raised = error.__cause__
        return isinstance(raised, _OF_CODE) and type(raised).__module__ in _PYTHONS_OWN
    return isinstance(error, _OF_DATA)


def report_to_driver(error: PenstockError) -> None:
    """Report a final failure to the driver, and wait until it has cancelled the job."""
    context = TaskContext.get()
    path_text = None if context is None else context.getLocalProperty(PROPERTY)
    if path_text is None or not is_final(error):
        return
    path = Path(path_text)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    # If the file cannot be written, Spark tries the task again, which is slower and fails too.
    with suppress(OSError):
        temporary.write_text(error.to_wire(), encoding="utf-8")
        temporary.replace(path)
        give_up = time.monotonic() + _WAIT_SECONDS
        while not _answer_to(path).exists() and time.monotonic() < give_up:
            time.sleep(_LOOK_SECONDS)


class FinalFailure:
    """Watches for final failures in the driver, for the Spark jobs of one run."""

    def __init__(self, context: SparkContext, directory: Path) -> None:
        """Set the path for the Spark jobs and queries that this thread starts."""
        for left in directory.iterdir():
            left.unlink(missing_ok=True)
        self._context = context
        self._path = directory / uuid.uuid4().hex
        context.setLocalProperty(PROPERTY, str(self._path))

    def seen(self) -> PenstockError | None:
        """Return the final failure of a worker, None if there is none."""
        if not self._path.exists():
            return None
        return PenstockError.from_wire(self._path.read_text(encoding="utf-8"))

    def check(self) -> None:
        """Raise the final failure of a worker, if there is one."""
        failure = self.seen()
        if failure is not None:
            raise failure from None  # Spark's own error reports only the cancellation

    def __enter__(self) -> Self:
        """Begin watching."""
        return self

    def __exit__(self, *raised: object) -> None:
        """End watching, in the thread that began it; release waiting workers: the job has ended."""
        self._context.setLocalProperty(PROPERTY, None)  # type: ignore[arg-type]
        _answer_to(self._path).touch()


def _answer_to(path: Path) -> Path:
    return path.with_suffix(".seen")
