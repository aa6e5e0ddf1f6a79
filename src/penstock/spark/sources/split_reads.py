"""Reads sources by positions: tasks get ranges of positions, and make the records.

The splits of a log have ids, and the positions of its epochs are in their records.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from penstock.errors import PenstockError
from penstock.graph.log_source import LogSource
from penstock.graph.source import PositionedSource
from penstock.graph.split_source import SplitSource
from penstock.spark.sources.source_row import (
    PinnedPart,
    Pinning,
    Position,
    Progress,
    ResumedPart,
    StreamReading,
)

NAMES = "names"
"""Key of the ids of splits in the offset of an epoch."""

PARTS = "parts"
"""Key of the parts that sources have reached, in the offset of an epoch whose run reads several of them."""

LATER = "later"
"""Key of the positions at which later parts begin, in a position of a savepoint."""

SNAPSHOT = "snapshot"
"""Key of the record of a snapshot that is not read to its end, in a position of a savepoint."""


def pin_splits(pinning: Pinning, part: SplitSource) -> PinnedPart:
    """Return the splits of a source.

    Raises:
        SourceError: The source failed.
    """
    with PenstockError.at(pinning.origin):
        return PinnedPart(splits=part.exact_splits(pinning.parallelism))


def has_values(part: PositionedSource) -> bool:
    """Return True: the source returns records, not rows."""
    del part
    return True


def no_streams(part: PositionedSource) -> list[Any]:
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


def pin_log(pinning: Pinning, part: LogSource) -> PinnedPart:
    """Return the splits of a log as they are now.

    Raises:
        SourceError: The source failed.
        JobCancelledError: The job was cancelled while the source was asked.
    """
    with PenstockError.at(pinning.origin):
        start = pinning.patiently(lambda: part.exact_start(pinning.parallelism))
    return PinnedPart(splits=list(start.ranges), names=start.names)


def offset_of(positions: Mapping[str, Any]) -> str:
    """Return the positions of an epoch, in the form of its record, as the offset of a stream.

    Args:
        positions: What a record has of the sources; see `EpochPositions.to_json`.
    """
    more = {name: positions[name] for name in (NAMES, PARTS) if positions.get(name)}
    return json.dumps({**positions["at"], **more})


def parts_reached(offset: str | None) -> dict[int, int]:
    """Return source id to the index of the part, of sources that have left their first part of a run.

    Args:
        offset: Of the positions stream, or of an epoch.
    """
    parts = {} if offset is None else json.loads(offset).get(PARTS, {})
    return {int(source): part for source, part in parts.items()}


def position_of_log(reading: StreamReading) -> Position:
    """Return id, position and end of every split."""
    key = reading.source, reading.part
    splits, names = reading.pinned.splits[key], list(reading.pinned.names[key])
    at = [start for start, _ in splits]
    first = reading.offsets[0]
    if first is not None:
        offset, source = json.loads(first), str(reading.source)
        at, names = offset[source], offset[NAMES][source]
    ends = [end for _, end in splits] + [None] * (len(at) - len(splits))
    return {"splits": [list(each) for each in zip(at, ends, strict=True)], NAMES: names}, {}


def resume_log(position: Mapping[str, Any]) -> ResumedPart:
    """Return the splits from their positions on."""
    splits = [(at, end) for at, end in position["splits"]]
    return ResumedPart(splits=splits, names=tuple(position[NAMES]))


def never_in_a_query(progress: Progress) -> bool:
    """Return False: no query reads a log, so none has read it to its end."""
    del progress
    return False
