"""Reads split sources: tasks get ranges of positions, and make the records."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from penstock.graph.endpoints import SplitSource
from penstock.spark.sources.source_row import (
    PinnedPart,
    Pinning,
    Position,
    Progress,
    ResumedPart,
    StreamReading,
)


def pin_splits(pinning: Pinning, part: SplitSource) -> PinnedPart:
    """Return the splits of a source.

    Raises:
        SourceError: The source failed.
    """
    return PinnedPart(splits=part.exact_splits(pinning.parallelism))


def has_values(part: SplitSource) -> bool:
    """Return True: the source returns records, not rows."""
    del part
    return True


def no_streams(part: SplitSource) -> list[Any]:
    """Return no streams: all split sources of a query share the positions stream, the first one."""
    del part
    return []


def position_of_splits(reading: StreamReading) -> Position:
    """Return position and end of every split."""
    splits = reading.pinned.splits[reading.source, reading.part]
    first = reading.offsets[0]
    at = [start for start, _ in splits]
    if first is not None:
        at = json.loads(first)[str(reading.source)]
    return {"splits": [[position, end] for position, (_, end) in zip(at, splits, strict=True)]}, {}


def resume_splits(position: Mapping[str, Any]) -> ResumedPart:
    """Return the splits from their positions on."""
    return ResumedPart(splits=[(at, end) for at, end in position["splits"]])


def are_at_their_ends(progress: Progress) -> bool:
    """Return whether every split is read to its end."""
    at = progress.positions[str(progress.source)]
    return all(position == end for position, (_, end) in zip(at, progress.splits, strict=True))
