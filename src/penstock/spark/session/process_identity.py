"""Which process it is: a PID alone is soon another one, on another host or after a start at once."""

from __future__ import annotations

import os
import socket
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process, told from all others there were and will be.

    Attributes:
        pid: In its namespace.
        started: Clock ticks from the start of the machine to its own (field 22 of
            `/proc/PID/stat`); 0 where there is no `/proc`.
        boot: Id of that start of the machine.
        namespace: Of process ids: a container has its own.
        host: Name, for messages.
    """

    pid: int
    started: int
    boot: str
    namespace: str
    host: str

    @classmethod
    def of(cls, pid: int) -> ProcessIdentity:
        """Return the identity of a process that this one sees."""
        return cls(pid, _started(pid) or 0, _boot(), _namespace(), socket.gethostname())

    @classmethod
    def own(cls) -> ProcessIdentity:
        """Return the identity of this process."""
        return cls.of(os.getpid())

    @classmethod
    def from_json(cls, recorded: dict[str, Any] | None) -> ProcessIdentity | None:
        """Return what `to_json` gave, None for None."""
        return None if recorded is None else cls(**recorded)

    def to_json(self) -> dict[str, Any]:
        """Return the form that is recorded."""
        return asdict(self)

    def runs_here(self) -> bool:
        """Return whether this process sees it running.

        What ran before the machine was started again, on another host or in another container
        is not seen, whatever runs under its number.
        """
        here = self.boot == _boot() and self.namespace == _namespace()
        return here and self.started != 0 and _started(self.pid) == self.started

    def has_ended(self) -> bool:
        """Return whether it is certain that it does not run any more.

        Of other hosts and other containers nothing is certain.
        """
        if self.host != socket.gethostname() or self.started == 0:
            return False
        if self.boot != _boot():
            return True
        return self.namespace == _namespace() and not self.runs_here()

    def __str__(self) -> str:
        """Return it in words."""
        return f"process {self.pid} on {self.host}"


def _started(pid: int) -> int | None:
    """Return when a process started; None if it does not run, or is a zombie."""
    try:
        # Its name may hold anything, so what is behind it is counted: state, parent, ...
        stat = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if stat[0] in "ZX" else int(stat[19])


def _boot() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return socket.gethostname()


def _namespace() -> str:
    try:
        return str((_PROC / "self/ns/pid").readlink())
    except OSError:
        return ""
