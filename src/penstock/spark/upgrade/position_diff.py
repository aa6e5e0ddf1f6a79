"""The distances between two jobs that read the same input: how much one has read that the other has not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import SavepointError
from penstock.spark.sources.split_reads import NAMES
from penstock.spark.upgrade.stored_program import manifest_at
from penstock.state.savepoint import Savepoint, SourceRecord

FILES, PARTS, POSITIONS = "files", "parts", "positions"


@dataclass(frozen=True, slots=True)
class PositionDifference:
    """A source of which two jobs have read different input.

    Attributes:
        source: Its uid.
        ahead_a: How much the first job has read that the second has not.
        ahead_b: The reverse.
        unit: `files`, `positions`, or `parts` of a hybrid source.
    """

    source: str
    ahead_a: int
    ahead_b: int
    unit: str


def compare_positions(
    first: str | os.PathLike[str], second: str | os.PathLike[str]
) -> list[PositionDifference] | None:
    """Return the sources of which two jobs have read different input; None if one has no live run yet.

    The jobs may be running. Two jobs with the same positions have read the same input, so that their outputs can be equal.

    Args:
        first: Checkpoint directory of the first job.
        second: That of the second.

    Raises:
        JobDirectoryError: One is no checkpoint directory, or a record of it is damaged.

    Example:
        >>> compare_positions("/checkpoints/visits", "/checkpoints/visits-shadow")  # doctest: +SKIP
        [PositionDifference(source='visits', ahead_a=2, ahead_b=0, unit='files')]
    """
    try:
        one, other = (manifest_at(Path(directory)) for directory in (first, second))
    except SavepointError:
        return None
    return position_differences(one, other)


def position_differences(one: Savepoint, other: Savepoint) -> list[PositionDifference]:
    """Return the differences between the positions of two manifests, of the sources that both have."""
    known = {record.uid: record for record in other.sources}
    pairs = [(record, known[record.uid]) for record in one.sources if record.uid in known]
    return [difference for pair in pairs for difference in _differences(*pair)]


def _differences(one: SourceRecord, other: SourceRecord) -> Iterator[PositionDifference]:
    files = [
        {(part, name) for part, of in record.read.items() for name in of["files"]}
        for record in (one, other)
    ]
    if files[0] != files[1]:
        ahead = len(files[0] - files[1]), len(files[1] - files[0])
        yield PositionDifference(one.uid, *ahead, FILES)
    if one.part != other.part:
        parts = [-1 if record.part is None else record.part for record in (one, other)]
        ahead = max(parts[0] - parts[1], 0), max(parts[1] - parts[0], 0)
        yield PositionDifference(one.uid, *ahead, PARTS)
        return
    splits = [_splits(record) for record in (one, other)]
    pairs = [(splits[0].get(key, 0), splits[1].get(key, 0)) for key in splits[0] | splits[1]]
    ahead = sum(max(a - b, 0) for a, b in pairs), sum(max(b - a, 0) for a, b in pairs)
    if any(ahead):
        yield PositionDifference(one.uid, *ahead, POSITIONS)


def _splits(record: SourceRecord) -> dict[Any, int]:
    """Return split to the next position."""
    splits = [position for position, _ in record.position.get("splits", ())]
    return dict(zip(record.position.get(NAMES, range(len(splits))), splits, strict=True))
