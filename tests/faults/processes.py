"""The processes of a running job: who they are, killing them, filling their disk."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from penstock.testing.drivers import is_alive


@dataclass(frozen=True, slots=True)
class Process:
    """A process as /proc shows it."""

    pid: int
    parent: int
    command: str


def processes_below(root: int) -> list[Process]:
    """Return the processes that `root` started, directly or not."""
    known: dict[int, Process] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state, parent, *_ = (entry / "stat").read_text().rpartition(")")[2].split()
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if state != "Z":
            pid = int(entry.name)
            known[pid] = Process(pid, int(parent), command)

    def is_below(process: Process) -> bool:
        at: Process | None = process
        while at is not None and at.parent != root:
            at = known.get(at.parent)
        return at is not None

    return [process for process in known.values() if is_below(process)]


def executors_below(driver: int) -> list[int]:
    """Return the JVMs of a driver's executors."""
    return [p.pid for p in processes_below(driver) if "CoarseGrainedExecutorBackend" in p.command]


def workers_below(driver: int) -> list[int]:
    """Return the Python workers of a driver: what a daemon has forked, that of PySpark or of Penstock."""
    found = processes_below(driver)
    daemons = {p.pid for p in found if ".daemon pyspark.worker" in p.command}
    return [p.pid for p in found if p.parent in daemons]


def kill(pid: int) -> None:
    """Send SIGKILL and wait until the process is gone."""
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not is_alive(pid), 30)


def wait_for(holds: Callable[[], bool], seconds: float, what: str = "it took too long") -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@contextmanager
def full_disk(driver: int) -> Iterator[None]:
    """Let every write to a file fail, in every process below a driver.

    The limit of file sizes is set to 0 from outside (`prlimit`), so the kernel refuses the next
    byte anywhere, to Python, the JVM and native code alike, whatever file it is. The error is
    EFBIG and not ENOSPC; both are an `OSError` or `IOException` of a write. Unlike a small file
    system it needs no root and no mount, comes at any moment, and goes again. New processes
    inherit the limit.
    """
    pids = [process.pid for process in processes_below(driver)]
    before = {pid: _limit(pid, (0, resource.RLIM_INFINITY)) for pid in pids}
    try:
        yield
    finally:
        for pid, limits in before.items():
            if limits is not None:
                _limit(pid, limits)


def _limit(pid: int, limits: tuple[int, int]) -> tuple[int, int] | None:
    try:
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (limits[0], before[1]))
    except ProcessLookupError:
        return None
    return before
