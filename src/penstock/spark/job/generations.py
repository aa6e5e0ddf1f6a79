"""Generations of a checkpoint directory: a job that was handed over goes on in a directory of its own below the first.

    visits/                    the job, or its shadow, until it was handed over
    visits/generation-1/       the job from there on; it counts as soon as it has recorded its savepoint
    visits/generation-2/       the job after the next time

A path of the directory means its newest generation, for a start and for every command.
"""

from __future__ import annotations

from pathlib import Path

_NAME = "generation-"

_BEGUN = "restored.json"
"""Record of a job that began with a savepoint."""


def current_generation(path: Path) -> Path:
    """Return the newest generation that has begun; the directory itself without one."""
    begun = (n for n in _numbers(path) if (generation(path, n) / _BEGUN).exists())
    newest = max(begun, default=None)
    return path if newest is None else generation(path, newest)


def latest_directory(path: Path) -> Path:
    """Return the newest generation, also one that has not begun; the directory itself without one."""
    newest = max(_numbers(path), default=None)
    return path if newest is None else generation(path, newest)


def next_generation(path: Path) -> int:
    """Return the number of a generation that has never been there."""
    return 1 + max(_numbers(path), default=0)


def generation(path: Path, number: int) -> Path:
    """Return the directory of a generation."""
    return path / f"{_NAME}{number}"


def _numbers(path: Path) -> list[int]:
    found = (each.name.removeprefix(_NAME) for each in path.glob(f"{_NAME}*"))
    return [int(number) for number in found if number.isdecimal()]
