"""Merging: many small extents of a log become few, in segment files.

Every epoch that changes a log adds an extent, most of them within epoch records. A task that rebuilds its
state reads them all, and a record that an extent names cannot be removed. So now and then adjacent small
extents are copied, one after the other, to a segment file:

    records/…1 [0]  records/…2 [1]  records/…3 [2]   ──▶   segments/merged-… [0, 1, 2]

That is an extent of the same entries, which are not decoded. The extents of the newest records stay, because
the records do. An extent that has become large is not copied again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.failpoint import failpoint
from penstock.filesystem.stored_path import JobPath
from penstock.state.log.epoch_record import LogState
from penstock.state.log.extent import SEGMENTS, Extent, SegmentWriter, read_extent, verify
from penstock.state.log.subtask_log import LogName

SMALL_BYTES = 1 << 20
"""An extent of this size is not merged."""

SEGMENT_BYTES = 8 << 20
"""Most bytes of a merged extent, and of a file of them."""


@dataclass(frozen=True, slots=True)
class Adjacent:
    """Extents that become one."""

    name: LogName
    sources: tuple[Extent, ...]

    @property
    def size(self) -> int:
        """Bytes of all."""
        return sum(extent.size for extent in self.sources)


def adjacent_extents(logs: dict[LogName, LogState], newest: frozenset[str]) -> tuple[Adjacent, ...]:
    """Return what of the logs is to be merged."""
    return tuple(
        Adjacent(name, sources)
        for name, (_, extents) in logs.items()
        for sources in _runs(extents, newest)
        # One small extent leaves its record, so that the record can be removed.
        if len(sources) > 1 or not sources[0].file.startswith(SEGMENTS)
    )


def _runs(extents: tuple[Extent, ...], newest: frozenset[str]) -> Iterator[tuple[Extent, ...]]:
    """Yield runs of small extents that are adjacent, each of bounded size."""
    run: list[Extent] = []
    size = 0
    for extent in extents:
        is_small = extent.size < SMALL_BYTES and extent.file not in newest
        if run and (not is_small or size + extent.size > SEGMENT_BYTES):
            yield tuple(run)
            run, size = [], 0
        if is_small:
            run.append(extent)
            size += extent.size
    if run:
        yield tuple(run)


class Merge:
    """One merge: planned by the driver's thread, written by any, adopted by the driver's.

    Attributes:
        plan: The merged extents, without the new one.
        merged: The new extents, in the order of `plan`; None until it is written.
    """

    def __init__(self, directory: JobPath, plan: tuple[Adjacent, ...]) -> None:
        self.plan = plan
        self.merged: tuple[Extent, ...] | None = None
        self._directory = directory

    def write(self) -> None:
        """Write the segment files."""
        merged: list[Extent] = []
        segment: SegmentWriter | None = None
        try:
            for one in self.plan:
                if segment is not None and segment.size + one.size > SEGMENT_BYTES:
                    merged += segment.finish("merged")
                    segment = None
                if segment is None:
                    segment = SegmentWriter(self._directory)
                segment.add(one.sources[0].first, one.sources[-1].last, self._bytes_of(one))
            if segment is not None:
                merged += segment.finish("merged")
        except BaseException:
            if segment is not None:
                segment.discard()
            for file in {extent.file for extent in merged}:
                (self._directory / file).unlink(missing_ok=True)
            raise
        failpoint("epoch.merge-written")
        self.merged = tuple(merged)

    def _bytes_of(self, one: Adjacent) -> Iterator[bytes]:
        for extent in one.sources:
            data = read_extent(self._directory, extent)
            verify(extent, data, self._directory)
            yield data
