"""Commands of the processes systems run in."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from penstock.bench.errors import SystemMissingError

SOURCE = Path(__file__).parents[2]
"""The directory that has the package, for processes of the same or another interpreter."""

PEERS = SOURCE.parent / "benchmarks" / "peers"
"""Peers are programs of their own, in a checkout of the project only."""


def module(name: str) -> Callable[[], list[str]]:
    """Return a command that runs a module of this package."""
    return lambda: [sys.executable, "-m", name]


def peer_script(name: str) -> Callable[[], list[str]]:
    """Return a command that runs a file of `benchmarks/peers` in this interpreter."""

    def command() -> list[str]:
        script = PEERS / name
        if not script.is_file():
            raise SystemMissingError(
                f"there is no {script}: peers come with a checkout of the project",
                hint="Install Penstock from a checkout with `pip install -e .`.",
            )
        return [sys.executable, str(script)]

    return command


def environment(overrides: dict[str, str]) -> dict[str, str]:
    """Return the environment of a system's process.

    The package and the modules of peers can be imported there and in the workers it starts, and
    these use the same interpreter.
    """
    path = os.pathsep.join(filter(None, [str(SOURCE), str(PEERS), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1", **overrides}
