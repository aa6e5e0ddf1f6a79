"""The pending input of a live run, and the size of its micro-batches.

| source | its pending input |
|---|---|
| bounded splits | number of records that are left |
| unbounded splits | unknown |
| pinned files | number of files that are left |
| a directory | number of unread files of the last listing |
| a stream of the user's | unknown; it has its own admission control |
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from penstock.config.options import MAX_FILES_PER_BATCH
from penstock.errors import StateError
from penstock.events.catch_up import CatchUp
from penstock.filesystem.stored_path import JobPath, mounted
from penstock.plan.phases.backlog import catch_up_factor
from penstock.spark.driver.run_context import JobContext
from penstock.spark.job.run_outline import RunOutline, SourceOutline
from penstock.spark.sources.file_paths import local_file, metadata_path
from penstock.spark.sources.read_context import Pinned
from penstock.spark.sources.source_row import PendingFilesContext
from penstock.spark.sources.split_advance import taken_at_once
from penstock.spark.sources.stream_positions import files_read, last_batches, stream_offsets
from penstock.spark.sources.table import row_named

MEASURE_SECONDS = 5.0
"""Least time between two measurements."""

_FIRST_MEASURE_SECONDS = 0.5
_MEASURE_SHARE = 20
"""Listing a large directory takes long; at most this fraction of the time is spent on it."""

_CATCH_UP_BYTES = 512 << 20
"""Size in bytes of all files of a micro-batch above which their number is not raised."""

_USUAL_FILE_BYTES = 128 << 20
"""Assumed size of a file that is not on a local disk."""

_NOTABLE_LAG_SECONDS = 10.0
"""A lag of event time below this counts as no pending input."""


@dataclass(frozen=True, slots=True)
class PendingInput:
    """The pending input of a run.

    Attributes:
        records: Pending records of sources that number them; None if there is no such source.
        files: Pending files of file sources; None if there is no such source.
        seconds: Estimated time until no input is pending; None if it is unknown.
    """

    records: int | None = None
    files: int | None = None
    seconds: float | None = None


class PendingEstimates:
    """Estimates from several measurements when no input will be pending."""

    def __init__(self) -> None:
        self._estimates = CatchUp(), CatchUp(), CatchUp()

    def note(
        self, now_seconds: float, records: int | None, files: int | None, lag_ms: int | None
    ) -> PendingInput:
        """Add a measurement.

        Args:
            now_seconds: On a monotonic clock.
            records: Pending records, None if no source numbers them.
            files: Pending files, None if no source has files.
            lag_ms: Wall clock minus event time, None without watermarks.

        Returns:
            The pending input, with the estimated time.
        """
        lag = None if lag_ms is None else max(lag_ms / 1000 - _NOTABLE_LAG_SECONDS, 0.0)
        lefts = records, files, lag
        pairs = zip(self._estimates, lefts, strict=True)
        times = [estimate.note(now_seconds, left) for estimate, left in pairs]
        # All known counts must reach 0; event time is used only if there are no counts.
        counted = [
            seconds for seconds, left in zip(times[:2], lefts[:2], strict=True) if left is not None
        ]
        if not counted:
            seconds = times[2]
        else:
            seconds = None if None in counted else max(s for s in counted if s is not None)
        return PendingInput(records, files, seconds)


class KnownPendingInput:
    """The pending input of a live run that knows it at every moment.

    Attributes:
        current: The pending input.
    """

    def __init__(self) -> None:
        self._estimates = PendingEstimates()
        self._next_estimate = 0.0
        self.current = PendingInput()

    def note(self, records: int | None, files: int | None, lag_ms: int | None) -> None:
        """Note the pending input after an epoch; the time is estimated every few seconds.

        Args:
            records: Pending records, None if no source numbers them.
            files: Pending files, None if no source has files.
            lag_ms: Wall clock minus event time, None without watermarks.
        """
        now = time.monotonic()
        if now >= self._next_estimate:
            self._next_estimate = now + MEASURE_SECONDS
            self.current = self._estimates.note(now, records, files, lag_ms)
        counts = {records, files} - {None}
        seconds = 0.0 if counts == {0} else self.current.seconds
        self.current = PendingInput(records, files, seconds)


class InputMonitor:
    """Measures the pending input of one live run.

    Attributes:
        current: The pending input of the last measurement.
        measurements: Number of measurements.
    """

    def __init__(self, job: JobContext, outline: RunOutline, pinned: Pinned, run: JobPath) -> None:
        """Begin without a measurement.

        Args:
            job: The job.
            outline: Outline of the run.
            pinned: Input of the run.
            run: Directory of the run.
        """
        self._job = job
        self._outline = outline
        self._pinned = pinned
        self._checkpoint = mounted(run / "spark")
        self._estimates = PendingEstimates()
        self._next_measurement = 0.0
        self._files_waiting: dict[int, set[str]] = {}
        self._noted: list[tuple[int, dict[int, set[str]]]] = []
        self.current = PendingInput()
        self.measurements = 0

    def measure(self, lag_ms: int | None) -> None:
        """Measure, unless the last measurement is recent.

        Args:
            lag_ms: Wall clock minus event time, None without watermarks.
        """
        now = time.monotonic()
        if now < self._next_measurement:
            return
        _, batch = last_batches(self._checkpoint)
        if batch is None:
            self._next_measurement = now + _FIRST_MEASURE_SECONDS
            return
        self._measure(now, batch, lag_ms)
        took = time.monotonic() - now
        self._next_measurement = now + max(MEASURE_SECONDS, took * _MEASURE_SHARE)

    def note_read(self, batch: int, files: Mapping[int, Iterable[str]]) -> None:
        """Count the files of a micro-batch as read; Spark's log does not contain them yet.

        Args:
            batch: Number of the micro-batch.
            files: Source id to its files.
        """
        noted = {source: set(map(metadata_path, uris)) for source, uris in files.items()}
        if noted and self._files_waiting:
            self._noted.append((batch, noted))
            self._count_noted()
        if self.current.records is not None:
            left = self._records(stream_offsets(self._checkpoint, batch)[0])
            self.current = replace(self.current, records=left)
        if not self.current.records and not self.current.files:
            self.current = replace(self.current, seconds=0.0 if self._counts else None)

    @property
    def _counts(self) -> bool:
        return self.current.records is not None or self.current.files is not None

    def _count_noted(self) -> None:
        for _, noted in list(self._noted):
            for source, uris in noted.items():
                if source in self._files_waiting:
                    self._files_waiting[source] -= uris
        files = sum(map(len, self._files_waiting.values()))
        self.current = replace(self.current, files=files)

    def _measure(self, now: float, batch: int, lag_ms: int | None) -> None:
        try:
            offsets = stream_offsets(self._checkpoint, batch)
            records = self._records(offsets[0])
            self._files_waiting = self._waiting(offsets)
        except StateError:
            return  # Spark has just removed a log file; a damaged one stops the query itself
        self.measurements += 1
        self._noted = [each for each in self._noted if each[0] > batch]
        if self._noted:
            self._count_noted()
        waiting = self._files_waiting.values()
        files = sum(map(len, waiting)) if waiting else None
        self.current = self._estimates.note(now, records, files, lag_ms)

    def files_per_batch(self) -> dict[int, int]:
        """Return the number of files per micro-batch of each file source, given the pending files.

        It exceeds the configured number only if many micro-batches are pending, and so that the largest
        files stay within a bound together. It uses the last measurement, or measures if there is none.
        """
        usual = self._job.configuration.get(MAX_FILES_PER_BATCH)
        factor = catch_up_factor(self._job.configuration, MAX_FILES_PER_BATCH)
        found: dict[int, int] = {}
        if factor == 1:
            return found  # no file source has admission control
        if not self.measurements:
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
        """Return the pending files of each file source, of the last measurement."""
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
        """Return source id to pending files."""
        found = {}
        for source in self._outline.sources:
            stream = None if source.kind is None else row_named(source.kind).files
            if stream is not None and stream.waiting is not None:
                found[source.id] = self._waiting_of(source, stream.waiting, offsets)
        return found

    def _waiting_of(
        self,
        source: SourceOutline,
        waiting: Callable[[PendingFilesContext, Any], set[str]],
        offsets: list[str | None],
    ) -> set[str]:
        offset = offsets[source.first_stream] if offsets else None
        read = {metadata_path(uri) for uri in files_read(self._checkpoint, source.log, offset)}
        assert source.part is not None, "it has a stream"
        part = self._job.plan.source(source.id).parts[source.part]
        job = self._job
        return waiting(
            PendingFilesContext(
                job.session, self._pinned, job.earlier, source.id, source.part, read
            ),
            part,
        )


def _size_of(uri: str) -> int:
    local = local_file(uri)
    if local is None:
        return _USUAL_FILE_BYTES
    try:
        return local.stat().st_size
    except FileNotFoundError:
        return 0  # Spark reports it when it reads the file
