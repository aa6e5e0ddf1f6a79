"""Whether Spark's JVM is gone, and why.

PySpark then says "Connection refused" of a port nobody has heard of.
"""

from __future__ import annotations

import subprocess

from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext

_OUT_OF_MEMORY = 52
"""Spark's exit status for it, `SparkExitCode.OOM`."""

_KILLED = frozenset({137, -9})
_WAIT_SECONDS = 5
"""Its sockets close before its process ends."""


def lost_jvm(error: BaseException) -> str | None:
    """Return what became of the JVM if an error says that it does not answer, None if it lives.

    A sink of the user's own may be refused a connection as well, so the process is asked.
    """
    if not isinstance(error, Py4JNetworkError | ConnectionError):
        return None
    process = getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001 - nobody else knows it
    if process is None:
        unknown = isinstance(error, Py4JNetworkError)
        return "Spark's JVM does not answer any more" if unknown else None
    try:
        status = process.wait(_WAIT_SECONDS)
    except subprocess.TimeoutExpired:
        return None
    if status == _OUT_OF_MEMORY:
        return f"Spark's JVM ran out of memory and ended (exit status {status})"
    killed = "; killed, perhaps because the machine ran out of memory" if status in _KILLED else ""
    return f"Spark's JVM has ended (exit status {status}{killed})"
