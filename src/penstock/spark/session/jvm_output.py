"""Forwards the output of the JVM and its workers, without Spark's messages at its start.

This process reads the JVM's output from pipes, line by line. It forwards all lines (print() in a user
function, stack traces), except those that are not about the job.
"""

from __future__ import annotations

import re
import sys
import threading
from typing import IO, TextIO

_NOISE = re.compile(
    r"^(WARNING: Using incubator modules"
    r"|Using Spark's default log4j profile"
    r"|Setting default log level to"
    r"|To adjust logging level use"
    r"|Picked up JAVA_TOOL_OPTIONS"
    r"|Streaming TransformWithStateInPandas Python worker"
    r"|Starting Streaming TransformWithStateInPandas Python worker"
    r"|\S+ \S+ WARN (Utils: (Your hostname|Set SPARK_LOCAL_IP)|NativeCodeLoader))"
)

_READER = "/python_streaming_source_runner.py"
_DAEMON = "/pyspark/daemon.py"
_CLOSED = re.compile(
    r"^(EOFError|BrokenPipeError|ConnectionResetError)\b"
    # the reader started too late: the JVM has ended with its own error
    r"|^\S*PySparkRuntimeError: \[CANNOT_OPEN_SOCKET\]"
)
_AFTER_CLOSED = re.compile(
    r"^(During handling of the above exception|Exception ignored in: <_io\.|BrokenPipeError)"
)


def pass_on(pipe: IO[bytes], target_name: str) -> threading.Thread:
    """Copy `pipe` to `sys.<target_name>` in a background thread until it ends; return the thread."""
    thread = threading.Thread(
        target=_copy, args=(pipe, target_name), name=f"penstock-jvm-{target_name}", daemon=True
    )
    thread.start()
    return thread


class _Lines:
    """Decides which lines are forwarded.

    A traceback is buffered until it is complete. A traceback of Spark's own code, whose connection the JVM
    closed, is suppressed too: of the reader of a streaming source at the end of the query, and of a worker
    whose task was stopped. Over Unix sockets a worker cannot write after that; over TCP nothing fails.
    """

    def __init__(self) -> None:
        self._after_noise = False
        self._traceback: list[str] = []

    def passed(self, line: str) -> list[str]:
        """Return the lines to forward after `line`."""
        if self._traceback:
            self._traceback.append(line)
            if line[:1].isspace():
                return []
            return self._end_of_traceback()
        if line.startswith("Traceback (most recent call last):"):
            self._traceback.append(line)
            return []
        is_noise = _NOISE.match(line) or (self._after_noise and _AFTER_CLOSED.match(line))
        if is_noise or (self._after_noise and not line.strip()):
            self._after_noise = True  # a blank line belongs to the suppressed line before it
            return []
        self._after_noise = False
        return [line]

    def rest(self) -> list[str]:
        """Return the buffered lines at the end."""
        return self._traceback

    def _end_of_traceback(self) -> list[str]:
        lines, self._traceback = self._traceback, []
        self._after_noise = bool(_CLOSED.match(lines[-1]) and _is_of_spark(lines))
        return [] if self._after_noise else lines


def _is_of_spark(traceback: list[str]) -> bool:
    """Return whether a traceback is of Spark's reader, or of its worker outside of a function."""
    places = [line for line in traceback if line.startswith("  File ")]
    return any(_READER in place for place in places) or any(
        _DAEMON in place for place in places[-1:]
    )


def _copy(pipe: IO[bytes], target_name: str) -> None:
    lines = _Lines()
    for raw in pipe:
        _write(lines.passed(raw.decode("utf-8", "replace")), target_name)
    _write(lines.rest(), target_name)


def _write(lines: list[str], target_name: str) -> None:
    # Read `sys.stdout` each time: tests and progress displays replace it.
    target: TextIO = getattr(sys, target_name)
    for line in lines:
        target.write(line)
        target.flush()
