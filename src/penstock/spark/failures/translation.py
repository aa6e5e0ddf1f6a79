"""Translates Spark's exceptions to our errors.

A worker raises a `PenstockError`; Spark wraps it in a Python traceback, a Java stack and often
several causes, as text. In the worker `carrying` adds the error's wire form to that text, and in the
driver `translate` decodes it. Other failures are looked up in the table `KNOWN_FAILURES`; the rest
become a `JobFailedError` with Spark's first line.

Calls of `os._exit` by functions of a program: failures of the function, with operator and record, like `sys.exit`.

Spark sees only that the process of the worker has gone. Spark and libraries end processes of their own by the same
call, and so does a child that a function has forked: these go on to do so.
"""

from __future__ import annotations

import linecache
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

from penstock.errors import JobFailedError, PenstockError, encodable, without_wire
from penstock.spark.failures.crashed_workers import crashed_worker
from penstock.spark.failures.final_failures import report_to_driver
from penstock.spark.failures.known_failures import KNOWN_FAILURES, MEMORY, java_causes
from penstock.spark.session.factory import lost_jvm
from penstock.user_failure import is_of_program


@dataclass(frozen=True, slots=True)
class ExitOfWorker:
    """Stands in for `os._exit` in a worker.

    Attributes:
        ends: The real one.
    """

    ends: Callable[[int], NoReturn]
    process: int

    def __call__(self, status: int) -> NoReturn:
        """End the process, unless a function of the program requests it in the worker's own process."""
        if os.getpid() == self.process and is_of_program(sys._getframe(1).f_code.co_filename):
            msg = f"os._exit({status}) would end the worker, with the work of other functions and records"
            raise RuntimeError(msg)
        self.ends(status)


def refuse_exits() -> None:
    """Let functions of the program fail that would end this process, a worker."""
    known = os._exit
    if not isinstance(known, ExitOfWorker):
        os._exit = ExitOfWorker(known, os.getpid())
    elif known.process != os.getpid():
        os._exit = ExitOfWorker(known.ends, os.getpid())


class WorkerFailure(Exception):  # noqa: N818 - not an error of ours: the wire form of one
    """A `PenstockError` of a worker, as text."""


@contextmanager
def carrying() -> Iterator[None]:
    """Encode exceptions for Spark; every function that Spark calls in a worker uses this context.

    Spark's worker sends the text of an exception with all its causes to the JVM. If the text cannot be
    encoded, the worker sends nothing, and the JVM waits for ever. So the context escapes lone
    surrogates in the text of our errors and of others.
    """
    refuse_exits()
    try:
        yield
    except GeneratorExit:  # the reader of the generator has stopped
        raise
    except PenstockError as error:
        report_to_driver(error)
        raise WorkerFailure(f"{error}\n{error.to_wire()}") from None
    except BaseException as error:
        trace = "".join(traceback.format_exception(error))
        if encodable(trace) == trace:
            raise
        raise WorkerFailure(encodable(trace)) from None


_RAISED = re.compile(r"^[A-Za-z_][\w.]*(?:Error|Exception|Failure|Interrupt)\b.*$", re.MULTILINE)
"""The last line of a Python traceback."""

_FRAME = re.compile(r'^  File "(.+)", line (\d+), in ')
"""A frame of a Python traceback."""

_CALLING = re.compile(r"^An error occurred while calling \S+\.\s*(?:: )?")
"""The prefix that py4j adds to Java's message."""

HOW_TO_SEE = "(`penstock run --verbose` shows Spark's error; in a program, `error.details` does)"
"""The last line of the error of a job, in place of a long traceback."""


def translate(error: BaseException, doing: str) -> PenstockError:
    """Return our error about an exception of Spark while `doing` something."""
    known = recognised(error, doing)
    if known is not None:
        return known
    return JobFailedError(
        f"{doing} failed: {_essence(str(error)) or repr(error)}",
        hint="Run again with --verbose (or spark.log.level=INFO) to see Spark's own log.",
    )


def recognised(error: BaseException, doing: str) -> PenstockError | None:
    """Return our error about a failure with a known cause, None for any other."""
    if isinstance(error, PenstockError):
        return error
    gone = lost_jvm(error)
    if gone is not None:
        return JobFailedError(f"{doing} failed: {gone}", hint=MEMORY)
    text = str(error)
    ours = PenstockError.from_wire(text)
    if ours is not None:
        return ours
    crashed = crashed_worker(text, doing)
    if crashed is not None:
        return crashed
    causes = java_causes(error)
    for known in KNOWN_FAILURES:
        problem = known.found(causes, text)
        if problem is not None:
            return known.error(f"{doing} failed: {problem}")
    return None


def ended_job_error(error: BaseException, doing: str) -> PenstockError:
    """Return our error about a failed job, without causes and frames.

    Spark's text becomes its `details`. As causes, Python would print it before the error, and the user's
    line would follow pages of frames of Spark and of the job's thread.
    """
    failure = translate(error, doing)
    cause = error.__cause__ if failure is error else error
    details = "".join(traceback.format_exception(error))
    failure.details = without_wire(details).strip()
    if cause is not None and not isinstance(cause, PenstockError):
        failure.add_note(HOW_TO_SEE)
    failure.__cause__ = None  # `from None` hides the context too
    failure.problem = with_source_lines(failure.problem)
    return failure.with_traceback(None)


def with_source_lines(text: str) -> str:
    """Return a traceback with source lines that only this process has.

    These are lines of notebooks: a cell is in no file that a worker could read.
    """
    lines = text.split("\n")
    shown: list[str] = []
    for i, line in enumerate(lines):
        shown.append(line)
        match = _FRAME.match(line)
        if match is None or (i + 1 < len(lines) and lines[i + 1].startswith("    ")):
            continue
        source = linecache.getline(match[1], int(match[2])).strip()
        if source:
            shown.append(f"    {source}")
    return "\n".join(shown)


def _essence(text: str) -> str:
    """Return one line of an exception's text: the end of a Python traceback, or the first."""
    raised = _RAISED.findall(text)
    if "Traceback (most recent call last)" in text and raised:
        return str(raised[-1]).strip()
    rest = _CALLING.sub("", text)
    return next((line.strip() for line in rest.splitlines() if line.strip()), "")
