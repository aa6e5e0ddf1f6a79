"""How far a live run is behind its sources, and how much it takes at a time while it is.

| source | behind is known |
|---|---|
| splits that end | in records: what is left of them |
| splits without an end | not at all |
| files that were pinned | in files: what was not read |
| a directory | in files: what is there and was not read, looked up now and then |
| a stream of the user's | not at all; it has its own admission control |
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from penstock.config.options import MAX_FILES_PER_BATCH
from penstock.errors import StateError
from penstock.metrics.catch_up import CatchUp
from penstock.plan.phases.backlog import catch_up_factor
from penstock.spark.driver.run_context import JobContext
from penstock.spark.job.run_outline import RunOutline, SourceOutline
from penstock.spark.sources.file_paths import local_file, metadata_path
from penstock.spark.sources.positions import taken_at_once
from penstock.spark.sources.read_context import Pinned
from penstock.spark.sources.source_row import Look
from penstock.spark.sources.stream_positions import files_read, last_batches, stream_offsets
from penstock.spark.sources.table import row_named

LOOK_SECONDS = 5.0
"""Shortest time between two looks."""

_FIRST_LOOK_SECONDS = 0.5
_LOOK_SHARE = 20
"""To list a large directory takes long; no more than one part in so many goes to that."""

_CATCH_UP_BYTES = 512 << 20
"""Files of a micro-batch may have so many bytes together before their number is raised no further."""

_USUAL_FILE_BYTES = 128 << 20
"""What a file elsewhere than on a local disk is taken for."""

_NOTABLE_LAG_SECONDS = 10.0
"""Event time that is closer to the clock than this is not behind."""


@dataclass(frozen=True, slots=True)
class Distance:
    """How far a run is behind.

    Attributes:
        records: Records left of sources that count them; None if there is none.
        files: Files left of file sources; None if there is none.
        seconds: Estimated time until it has caught up; None if it is not known.
    """

    records: int | None = None
    files: int | None = None
    seconds: float | None = None


class Behind:
    """Looks how far one live run is behind.

    Attributes:
        distance: What the last look found.
        looks: Number of looks.
    """

    def __init__(self, job: JobContext, outline: RunOutline, pinned: Pinned, run: Path) -> None:
        """Begin without a look.

        Args:
            job: The job.
            outline: Of the run.
            pinned: What the run reads.
            run: Its directory.
        """
        self._job = job
        self._outline = outline
        self._pinned = pinned
        self._checkpoint = run / "spark"
        self._estimates = CatchUp(), CatchUp(), CatchUp()
        self._next_look = 0.0
        self._files_waiting: dict[int, set[str]] = {}
        self._noted: list[tuple[int, dict[int, set[str]]]] = []
        self.distance = Distance()
        self.looks = 0

    def look(self, lag_ms: int | None) -> None:
        """Look, unless the last look was only just.

        Args:
            lag_ms: Wall clock minus event time, None without watermarks.
        """
        now = time.monotonic()
        if now < self._next_look:
            return
        _, batch = last_batches(self._checkpoint)
        if batch is None:
            self._next_look = now + _FIRST_LOOK_SECONDS
            return
        self._look(now, batch, lag_ms)
        took = time.monotonic() - now
        self._next_look = now + max(LOOK_SECONDS, took * _LOOK_SHARE)

    def note_read(self, batch: int, files: Mapping[int, Iterable[str]]) -> None:
        """Count files as read that a micro-batch has, which is not in Spark's record yet.

        Args:
            batch: Number of the micro-batch.
            files: Source id to its files.
        """
        noted = {source: set(map(metadata_path, uris)) for source, uris in files.items()}
        if noted and self._files_waiting:
            self._noted.append((batch, noted))
            self._count_noted()
        if self.distance.records is not None:
            left = self._records(stream_offsets(self._checkpoint, batch)[0])
            self.distance = replace(self.distance, records=left)
        if not self.distance.records and not self.distance.files:
            self.distance = replace(self.distance, seconds=0.0 if self._counts else None)

    @property
    def _counts(self) -> bool:
        return self.distance.records is not None or self.distance.files is not None

    def _count_noted(self) -> None:
        for _, noted in list(self._noted):
            for source, uris in noted.items():
                if source in self._files_waiting:
                    self._files_waiting[source] -= uris
        files = sum(map(len, self._files_waiting.values()))
        self.distance = replace(self.distance, files=files)

    def _look(self, now: float, batch: int, lag_ms: int | None) -> None:
        try:
            offsets = stream_offsets(self._checkpoint, batch)
            records = self._records(offsets[0])
            self._files_waiting = self._waiting(offsets)
        except StateError:
            return  # Spark has just removed a file; one that is damaged stops the query itself
        self.looks += 1
        self._noted = [each for each in self._noted if each[0] > batch]
        if self._noted:
            self._count_noted()
        waiting = self._files_waiting.values()
        files = sum(map(len, waiting)) if waiting else None
        lag = None if lag_ms is None else max(lag_ms / 1000 - _NOTABLE_LAG_SECONDS, 0.0)
        lefts = records, files, lag
        pairs = zip(self._estimates, lefts, strict=True)
        times = [estimate.note(now, left) for estimate, left in pairs]
        # Each that is known must come to its end; of event time one asks only if nothing counts.
        counted = [
            seconds for seconds, left in zip(times[:2], lefts[:2], strict=True) if left is not None
        ]
        if not counted:
            seconds = times[2]
        else:
            seconds = None if None in counted else max(s for s in counted if s is not None)
        self.distance = Distance(records, files, seconds)

    def files_per_batch(self) -> dict[int, int]:
        """Return how many files a micro-batch should take of each file source, given what waits.

        More than the configured number only if many micro-batches wait, and then so many that the
        largest of them stay within a bound together. What waits is what the last look found; before
        the first one it is looked up.
        """
        usual = self._job.configuration.get(MAX_FILES_PER_BATCH)
        factor = catch_up_factor(self._job.configuration, MAX_FILES_PER_BATCH)
        found: dict[int, int] = {}
        if factor == 1:
            return found  # nothing is to be looked up
        if not self.looks:
            _, batch = last_batches(self._checkpoint)
            offsets = [] if batch is None else stream_offsets(self._checkpoint, batch)
            self._files_waiting = self._waiting(offsets)
        for source, waiting in self._files_waiting.items():
            wanted = taken_at_once(len(waiting), usual, factor)
            if wanted > usual:
                largest = sorted(map(_size_of, waiting), reverse=True)[:wanted]
                fitting = sum(total <= _CATCH_UP_BYTES for total in accumulate(largest))
                wanted = max(usual, fitting)
            found[source] = wanted
        return found

    def files_waiting(self) -> dict[int, int]:
        """Return how many files of each file source waited when it was last looked up."""
        return {source: len(waiting) for source, waiting in self._files_waiting.items()}

    def _records(self, offset: str | None) -> int | None:
        at = {} if offset is None else json.loads(offset)
        left: int | None = None
        for (source, _), splits in self._pinned.splits.items():
            ends = [end for _, end in splits if end is not None]
            if len(ends) < len(splits):
                continue
            positions = at.get(str(source), [start for start, _ in splits])
            left = (left or 0) + sum(ends) - sum(positions)
        return left

    def _waiting(self, offsets: list[str | None]) -> dict[int, set[str]]:
        """Return source id to the files of it that wait."""
        found = {}
        for source in self._outline.sources:
            stream = None if source.kind is None else row_named(source.kind).files
            if stream is not None and stream.waiting is not None:
                found[source.id] = self._waiting_of(source, stream.waiting, offsets)
        return found

    def _waiting_of(
        self,
        source: SourceOutline,
        waiting: Callable[[Look, Any], set[str]],
        offsets: list[str | None],
    ) -> set[str]:
        offset = offsets[source.first_stream] if offsets else None
        read = {metadata_path(uri) for uri in files_read(self._checkpoint, source.log, offset)}
        assert source.part is not None, "it has a stream"
        part = self._job.plan.source(source.id).parts[source.part]
        job = self._job
        return waiting(
            Look(job.session, self._pinned, job.earlier, source.id, source.part, read), part
        )


def _size_of(uri: str) -> int:
    local = local_file(uri)
    if local is None:
        return _USUAL_FILE_BYTES
    try:
        return local.stat().st_size
    except FileNotFoundError:
        return 0  # Spark says so where it reads it
