"""Lets the JVM forget the sockets that it would remove at its end and that are gone already.

For each Unix socket of a collected result and of a stateful task Spark calls `File.deleteOnExit`. Java keeps
the path until it ends, also when Spark has removed the file: some 170 bytes per socket, which is
hundreds of megabytes a day for a live run of small micro-batches. There is no public way to take a path
back. So the set is exchanged for an empty one now and then, and paths of files that exist are added again.

A path that is being added during the exchange may be lost. Then its file is left in the directory of
temporary files of the session, which is removed as a whole.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any
from weakref import WeakSet

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError

_PERIOD_SECONDS = 600.0
_SETTLE_SECONDS = 2.0
"""Time in which a call that has read the old set has certainly added its path to it."""

_gateways: WeakSet[JavaGateway] = WeakSet()


def forget_removed_files(gateway: JavaGateway, settle_seconds: float = _SETTLE_SECONDS) -> None:
    """Make the JVM forget the files to remove at its end that do not exist.

    Raises:
        Py4JError: The JVM has ended, or this version of Java keeps the files in another way.
    """
    jvm: Any = gateway.jvm
    # Spark starts every JVM with this package open to reflection.
    field = jvm.java.lang.Class.forName("java.io.DeleteOnExitHook").getDeclaredField("files")
    field.setAccessible(True)
    files = field.get(None)
    if files is None:
        return  # the JVM is ending
    field.set(None, jvm.java.util.LinkedHashSet())
    time.sleep(settle_seconds)
    for name in jvm.java.lang.String.join("\n", files).splitlines():
        if Path(name).exists():
            jvm.java.io.File(name).deleteOnExit()


def start_forgetting(gateway: JavaGateway) -> None:
    """Call `forget_removed_files` in a background thread from time to time, until the JVM ends."""
    if gateway in _gateways:  # another session of the same JVM
        return
    _gateways.add(gateway)
    threading.Thread(
        target=_forget, args=(gateway,), name="penstock-exit-files", daemon=True
    ).start()


def _forget(gateway: JavaGateway) -> None:
    while True:
        time.sleep(_PERIOD_SECONDS)
        try:
            forget_removed_files(gateway)
        except (Py4JError, OSError):
            return
