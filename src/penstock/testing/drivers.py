"""Drivers in processes of their own, and accidents in them that leave a proof.

A place is `name:nth:action`, see `penstock.failpoint`. A run whose accident did not happen, or happened to another
process than it should, proves nothing, so callers look at `process_at`.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any


def start_driver(
    command: Sequence[str],
    markers: Path,
    places: Sequence[str] = (),
    *,
    environ: Mapping[str, str] | None = None,
    output: int | IO[Any] = subprocess.PIPE,
) -> subprocess.Popen[str]:
    """Start a process in which accidents happen at places, and in the workers that it starts."""
    markers.mkdir(parents=True, exist_ok=True)
    armed = {"PENSTOCK_FAILPOINT": ",".join(places), "PENSTOCK_FAILPOINT_MARKER": str(markers)}
    return subprocess.Popen(  # noqa: S603 - commands of ours
        list(command),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **(environ or {}), **(armed if places else {})},
    )


def process_at(markers: Path, place: str) -> int | None:
    """Return the process in which an accident happened; None if it did not."""
    marker = markers / place
    if not marker.exists() or not marker.read_text(encoding="utf-8").endswith("\n"):
        return None  # not there, or not yet as a whole
    named, pid = marker.read_text(encoding="utf-8").split()
    assert named == place, "a marker has the name of its place"
    return int(pid)


def is_alive(pid: int) -> bool:
    """Return whether a process runs; one that ended and was not waited for does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
