"""The figures to reach, as a table: each is a ratio of throughputs with a goal."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """A goal for one ratio of a program.

    Attributes:
        id: As in the list of figures.
        program: Name of the program that judges it.
        against: Peers; ours is compared with the fastest of those that took part.
        goal: The least ratio.
        keys: Number of keys it is about; None is any.
    """

    id: str
    program: str
    against: tuple[str, ...]
    goal: float
    keys: int | None = None


FIGURES: tuple[Figure, ...] = (
    Figure("R4", "live-state", ("tws-row",), 20.0, keys=200_000),
    Figure("R4", "live-state", ("sql", "sql-memory"), 1.0, keys=200_000),
)
"""A figure with several parts has several rows."""
