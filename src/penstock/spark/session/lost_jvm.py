"""Detects that Spark's JVM has ended, and why.

PySpark only reports "Connection refused" for a port that means nothing to the user.
"""

from __future__ import annotations

import subprocess

from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext

_OUT_OF_MEMORY = 52
"""Spark's exit status for lack of memory, `SparkExitCode.OOM`."""

_KILLED = frozenset({137, -9})
_WAIT_SECONDS = 5
"""Time to wait for the end of the JVM: its sockets close before its process ends."""


def lost_jvm(error: BaseException) -> str | None:
    """Return the reason why the JVM has ended if an error is a refused connection, None if it runs.

    A user's sink may cause such an error too, so the function checks the process.
    """
    if not isinstance(error, Py4JNetworkError | ConnectionError):
        return None
    process = getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001 - PySpark has no public access to the process
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
