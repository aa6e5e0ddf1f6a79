"""The table of checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from penstock.doctor import files, machine, software
from penstock.doctor.files import job, store
from penstock.doctor.finding import Finding, Situation

Check = Callable[[Situation], Finding]

CHECKS: dict[str, Check] = {
    "package": software.package,
    "python": software.python,
    "libraries": software.libraries,
    "extras": software.extras,
    "java": software.java,
    "spark": software.spark,
    "workers": software.workers,
    "directory": files.directory,
    "rename": files.rename,
    "fsync": files.fsync,
    "locks": files.locks,
    "file times": files.file_times,
    "memory map": files.memory_map,
    "disk": files.disk,
    "ports": machine.ports,
    "host name": machine.host_name,
    "clock": machine.clock,
    "open files": machine.open_files,
    "memory": machine.memory,
}
"""Name to check, in the order in which they are made and shown."""


def examine(
    situation: Situation, *, with_job: bool = False, with_store: str | None = None
) -> Iterator[Finding]:
    """Yield the finding of each check."""
    for check in CHECKS.values():
        yield check(situation)
    if with_store is not None:
        yield store(with_store)
    if with_job:
        yield job(situation)
