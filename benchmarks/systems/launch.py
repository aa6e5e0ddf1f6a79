"""Commands of the processes systems run in."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
"""The directory that has this package."""

PEERS = CHECKOUT / "benchmarks" / "peers"
"""Peers are programs of their own."""

IMPORTED = (CHECKOUT, CHECKOUT / "src", PEERS)
"""What processes of this or another interpreter import: this package, Penstock, modules of peers."""


COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}
"""Lets processes keep compiled modules: installed packages have them, and those of a checkout cost each process 0.2 s."""


def module(name: str) -> Callable[[], list[str]]:
    """Return a command that runs a module of this package."""
    return lambda: [sys.executable, "-m", name]


def peer_script(name: str) -> Callable[[], list[str]]:
    """Return a command that runs a file of `benchmarks/peers` in this interpreter."""
    return lambda: [sys.executable, str(PEERS / name)]


def environment(overrides: dict[str, str]) -> dict[str, str]:
    """Return the environment of a system's process.

    What is in `IMPORTED` can be imported there and in the workers it starts, and these use the same
    interpreter.
    """
    path = os.pathsep.join(filter(None, [*map(str, IMPORTED), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1", **COMPILED, **overrides}
