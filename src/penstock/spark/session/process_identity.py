"""The identity of a process. A PID alone is not enough: it is reused, and differs between hosts."""

from __future__ import annotations

import os
import socket
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """The unique identity of a process.

    Attributes:
        pid: PID in its namespace.
        started: Clock ticks from the boot of the machine to the start of the process (field 22 of
            `/proc/PID/stat`); 0 without `/proc`.
        namespace: Namespace of PIDs; a container has its own.
        host: Host name, for messages.
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
        """Return the identity that `to_json` encoded, None for None."""
        return None if recorded is None else cls(**recorded)

    def to_json(self) -> dict[str, Any]:
        """Return the form to record."""
        return asdict(self)

    def runs_here(self) -> bool:
        """Return whether the process runs on this host, in this container.

        A process of an earlier boot, another host or another container does not, whatever process
        has its PID here.
        """
        here = self.boot == _boot() and self.namespace == _namespace()
        return here and self.started != 0 and _started(self.pid) == self.started

    def has_ended(self) -> bool:
        """Return whether the process has certainly ended.

        For processes of other hosts and containers it returns False.
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
    """Return the start time of a process; None if it does not run, or is a zombie."""
    try:
        # Its name may contain any character, so fields are counted after it: state, parent, ...
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
