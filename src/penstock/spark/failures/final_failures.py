"""Failures that another attempt of the task would meet again: told to the driver at once.

Spark tries a task four times, and has no word for a failure that will not go away. So the worker
that meets one writes it into a file whose path came with the task, as a local property, and keeps
its task until the driver, which looks every now and then, has cancelled the Spark job:

    worker   writes the failure             waits          fails; nobody tries again
    driver                     cancels the job   answers when it has ended

What a function cannot help, an `OSError` or a class of the user's own, is tried again as ever: a
service that did not answer may answer the next time.
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
"""Spark's local property that holds the path of the file."""

_WAIT_SECONDS = 30.0
"""How long a worker waits for an answer. A driver that is gone does not give one."""

_LOOK_SECONDS = 0.01

_OF_DATA = (
    GraphError,
    KeyTypeError,
    TimestampUnsupportedError,
    TypeMismatchError,
    UnknownFieldError,
    UserCodeError,
    WatermarkUnsupportedError,
)
"""Errors of ours that the program and its records alone decide."""

_OF_CODE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    TypeError,
    ValueError,
)
"""What Python raises for what code does to its arguments."""

_PYTHONS_OWN = ("builtins", "decimal", "json.decoder")


def is_final(error: PenstockError) -> bool:
    """Return whether the same task would meet the same failure again."""
    if isinstance(error, UserFunctionError):
        raised = error.__cause__
        return isinstance(raised, _OF_CODE) and type(raised).__module__ in _PYTHONS_OWN
    return isinstance(error, _OF_DATA)


def tell_driver(error: PenstockError) -> None:
    """Tell the driver of a failure that is final, and wait until it has cancelled the job."""
    context = TaskContext.get()
    told = None if context is None else context.getLocalProperty(PROPERTY)
    if told is None or not is_final(error):
        return
    path = Path(told)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    # If it cannot be written, Spark tries the task again: slower, and with the same end.
    with suppress(OSError):
        temporary.write_text(error.to_wire(), encoding="utf-8")
        temporary.replace(path)
        give_up = time.monotonic() + _WAIT_SECONDS
        while not _answer_to(path).exists() and time.monotonic() < give_up:
            time.sleep(_LOOK_SECONDS)


class FinalFailure:
    """The driver's end, for the Spark jobs of one run."""

    def __init__(self, context: SparkContext, directory: Path) -> None:
        """Give the path to the Spark jobs that this thread starts, and to its queries.

        Args:
            context: Of the session.
            directory: Seen by all workers; what an earlier driver left there is removed.
        """
        for left in directory.iterdir():
            left.unlink(missing_ok=True)
        self._context = context
        self._path = directory / uuid.uuid4().hex
        context.setLocalProperty(PROPERTY, str(self._path))

    def seen(self) -> PenstockError | None:
        """Return the failure that a worker has met, None if none has."""
        if not self._path.exists():
            return None
        return PenstockError.from_wire(self._path.read_text(encoding="utf-8"))

    def check(self) -> None:
        """Stop here if a worker has met such a failure.

        Raises:
            PenstockError: It is this.
        """
        failure = self.seen()
        if failure is not None:
            raise failure from None  # what Spark says is no more than that the job was cancelled

    def __enter__(self) -> Self:
        """Begin to watch."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Watch no longer, in the thread that began; let workers that wait go on: the job has ended."""
        self._context.setLocalProperty(PROPERTY, None)  # type: ignore[arg-type]
        _answer_to(self._path).touch()


def _answer_to(path: Path) -> Path:
    return path.with_suffix(".seen")
