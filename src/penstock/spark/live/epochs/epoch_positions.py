"""The positions of a live run at the end of an epoch, and what an epoch reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

HANDOVER = "handover"

Row = dict[str, Any]
"""A row with names of `RANGES_DDL`."""


class FirstPart(Protocol):
    """First part of a source that a run reads."""

    @property
    def source(self) -> int:
        """Id of the source."""

    @property
    def begin(self) -> tuple[int, ...]:
        """The first position of every split."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """Ids of the splits; None if they are known by their numbers."""


@dataclass(frozen=True, slots=True)
class EpochPositions:
    """The positions of a live run at the end of an epoch.

    Attributes:
        at: Source id to the next position of every split of the part that it reads. Files are one split, and
            positions their numbers.
        ended: Sources whose end was delivered.
        is_handed_over: Whether the state was handed over.
        names: Source id to the ids of its splits, of sources that name them; in order of discovery.
        parts: Source id to the index of the part that it reads, of sources that have left their first.
    """

    at: Mapping[int, tuple[int, ...]]
    ended: frozenset[int] = frozenset()
    is_handed_over: bool = False
    names: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    parts: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def before(cls, readings: Sequence[FirstPart]) -> EpochPositions:
        """Return the positions before the first epoch, given the first part of each source."""
        at = {each.source: each.begin for each in readings}
        names = {each.source: each.names for each in readings if each.names is not None}
        return cls(at, names=names)

    def to_json(self) -> dict[str, Any]:
        """Return the form to record."""
        names = {str(source): list(names) for source, names in self.names.items()}
        parts = {str(source): part for source, part in self.parts.items()}
        return {
            "at": {str(source): list(at) for source, at in self.at.items()},
            "ended": sorted(self.ended),
            "handed_over": self.is_handed_over,
            **({"names": names} if names else {}),
            **({"parts": parts} if parts else {}),
        }

    @classmethod
    def from_json(cls, recorded: Mapping[str, Any]) -> EpochPositions:
        """Return the object that `to_json` encoded."""
        at, names = (
            {int(source): tuple(each) for source, each in recorded.get(name, {}).items()}
            for name in ("at", "names")
        )
        parts = {int(source): part for source, part in recorded.get("parts", {}).items()}
        return cls(at, frozenset(recorded["ended"]), recorded["handed_over"], names, parts)


@dataclass(frozen=True, slots=True)
class PlannedEpoch:
    """The input of one epoch.

    Attributes:
        tasks: The rows of each task of level 0; there is at least one task.
        after: The positions at its end.
        event: The hand-over or savepoint in it; None if it has none.
        is_single_task: Whether one task runs all its stages; then `tasks` is one.
        files: Source id and part to the position of the first of its files, and that behind the last.
    """

    tasks: tuple[tuple[Row, ...], ...]
    after: EpochPositions
    event: str | None
    is_single_task: bool = False
    files: Mapping[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
