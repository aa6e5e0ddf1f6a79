"""The processes of a session: found, counted, stopped and ended together. Linux's `/proc`.

A system's process leads a session of its own, and what it starts (a JVM, Python workers) stays
in that session, even where a daemon makes a process group for itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_KIB = 1024


@dataclass(frozen=True, slots=True)
class ProcessMemory:
    """Memory of one process.

    Attributes:
        pid: Process id.
        name: Name of its executable, e.g. `java`.
        peak_bytes: Largest resident size so far, shared and file-backed pages included.
        resident_bytes: The same now.
        anonymous_bytes: Resident pages now that no file backs: heap, not memory-mapped files.
    """

    pid: int
    name: str
    peak_bytes: int
    resident_bytes: int
    anonymous_bytes: int


def members(session: int) -> list[int]:
    """Return the ids of the live processes of a session."""
    found = []
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        # Gone in between, which is no member either.
        with contextlib.suppress(OSError):
            # After the name, which is in parentheses and may hold anything: state, parent,
            # process group, session.
            state, _, _, owner, *_ = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(owner) == session and state not in "ZX":
                found.append(int(entry.name))
    return found


def signal_all(session: int, number: signal.Signals) -> None:
    """Send a signal to every process of a session."""
    for pid in members(session):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def memory_of(pid: int) -> ProcessMemory | None:
    """Return the memory of a process, None if it has ended."""
    try:
        lines = (_PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return None
    fields = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if "VmHWM" not in fields:  # it has ended and waits for its parent
        return None

    def size(name: str) -> int:
        return int(fields[name].split()[0]) * _KIB

    return ProcessMemory(pid, fields["Name"], size("VmHWM"), size("VmRSS"), size("RssAnon"))
