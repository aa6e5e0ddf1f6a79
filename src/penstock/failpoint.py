"""Failpoints: named places in the code at which a test injects a failure.

The environment variable `PENSTOCK_FAILPOINT=name:nth:action` arms a failpoint: the *nth* time
(from 1) that a process passes it, `action` happens. `name@thread:nth:action` counts only what the
thread of that name passes: in `live.staged@pipeline-2:1:kill`, the pipeline with index 2. Commas
separate several failpoints. The workers of a job inherit the variable.

    kill            this process gets SIGKILL
    freeze          this process gets SIGSTOP, and goes on when somebody sends SIGCONT
    kill-executor   the nearest JVM among its parents gets SIGKILL too: in a worker, its executor
    raise           `JobFailedError`
    disk-full       `OSError` with ENOSPC, as the write that would come next could raise it

`PENSTOCK_FAILPOINT_MARKER` names a file, or a directory with a file per armed place. It is made
and synced before the action, so a test can prove that the fault fired, and in which process; the
second line is that process's id. A place whose marker is there does not fire again, in any
process: what Spark tries again meets no second accident. Unarmed, a failpoint costs one
dictionary look-up.
"""

from __future__ import annotations

import errno
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from penstock.errors import JobFailedError

_passed: Counter[str] = Counter()


def failpoint(name: str) -> None:
    """Inject the failure that the environment arms for `name`, if it arms one."""
    armed = os.environ.get("PENSTOCK_FAILPOINT")
    if armed is None:
        return
    places = armed.split(",")
    for spot in (name, f"{name}@{threading.current_thread().name}"):
        here = [place for place in places if place.startswith(f"{spot}:")]
        if not here:
            continue
        _passed[spot] += 1
        for place in here:
            _, nth, action = place.split(":")
            if _passed[spot] == int(nth) and _mark(place):
                _ACTIONS[action](name)


def count_anew() -> None:
    """Forget how often this process has passed each place, so that what is armed next counts from 1."""
    _passed.clear()


def _mark(place: str) -> bool:
    """Write the marker; whether this is the first time."""
    configured = os.environ.get("PENSTOCK_FAILPOINT_MARKER")
    if configured is None:
        return True
    path = Path(configured)
    try:
        with (path / place if path.is_dir() else path).open("x", encoding="utf-8") as file:
            file.write(f"{place}\n{os.getpid()}\n")
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        return False
    return True


def _kill(_: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _freeze(_: str) -> None:
    # Not `os.kill`: the main thread takes that signal, and this one goes on until it has.
    signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)


def _kill_executor(_: str) -> None:
    pid = os.getpid()
    while Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip() != "java":
        # The name of a process may hold anything; behind it come its state and its parent.
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(pid, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)  # or it would go on for a moment


def _raise(name: str) -> None:
    raise JobFailedError(f"failpoint {name} fired", hint="Unset PENSTOCK_FAILPOINT.")


def _disk_full(name: str) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), f"failpoint {name}")


_ACTIONS: dict[str, Callable[[str], None]] = {
    "kill": _kill,
    "freeze": _freeze,
    "kill-executor": _kill_executor,
    "raise": _raise,
    "disk-full": _disk_full,
}
