"""The JVM of an earlier driver, which may run a moment longer than the driver."""

from __future__ import annotations

import time
from typing import Any

from penstock.errors import JobLockedError
from penstock.filesystem.stored_path import JobPath
from penstock.spark.session.process_identity import ProcessIdentity

_OLD_JVM_SECONDS = 30.0


def wait_for_jvm(known: dict[str, Any], directory: JobPath) -> None:
    """Wait until the JVM of a killed driver has ended: it could still write.

    Raises:
        JobLockedError: It does not end.
    """
    jvm = ProcessIdentity.from_json(known["jvm"])
    if jvm is None or ProcessIdentity.from_json(known["driver"]) == ProcessIdentity.own():
        return
    deadline = time.monotonic() + _OLD_JVM_SECONDS
    while jvm.runs_here():
        if time.monotonic() > deadline:
            raise JobLockedError(
                f"the JVM of an earlier driver of {directory} is still running: {jvm}",
                hint=f"End process {jvm.pid} and start again.",
            )
        time.sleep(0.1)
