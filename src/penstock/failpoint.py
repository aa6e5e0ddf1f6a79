"""Named places at which a test can stop the process.

The environment variable `PENSTOCK_FAILPOINT=name:nth:action` arms one place: the *nth* time
(from 1) the process passes it, `action` happens. `kill` sends this process SIGKILL, `raise`
raises. A marker file named by `PENSTOCK_FAILPOINT_MARKER` is written and synced first, so a
test can prove that the fault fired. Unarmed, a failpoint costs one dictionary look-up.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

from penstock.errors import JobFailedError

_passed: Counter[str] = Counter()


def failpoint(name: str) -> None:
    """Stop here if the environment arms `name`.

    Raises:
        JobFailedError: The armed action is `raise`.
    """
    armed = os.environ.get("PENSTOCK_FAILPOINT")
    if armed is None:
        return
    target, nth, action = armed.split(":")
    if target != name:
        return
    _passed[name] += 1
    if _passed[name] != int(nth):
        return
    marker = os.environ.get("PENSTOCK_FAILPOINT_MARKER")
    if marker is not None:
        with Path(marker).open("w", encoding="utf-8") as file:
            file.write(armed)
            file.flush()
            os.fsync(file.fileno())
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    raise JobFailedError(f"failpoint {name} fired", hint="Unset PENSTOCK_FAILPOINT.")
