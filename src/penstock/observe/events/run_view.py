"""One run of a job as its events describe it, and the wait of the oldest input that a live run has not read.

    head(t) = records read until t + pending records at t

Let t be the last moment whose head is not beyond the records read now. These records were there at t, so all waiting
input is younger: the run is behind by now - t at most. Files have no such head: for them it is the time since none was
pending. Where the lag of the watermark is shorter than this time, the lag counts. Input counts from the moment when a
run first sees it: a run looks several times a second.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.observe.events.job_events import DONE, RUNNING, MicroBatch, RunFinished

_MOST_MEASUREMENTS = 512


class Behind:
    """The measurements of one live run."""

    def __init__(self) -> None:
        self._heads: deque[tuple[int, int]] = deque()
        self._pending_since_ms: int | None = None
        self._is_known = False
        self._is_pending = False
        self._lag_ms: int | None = None
        self._measured_ms = 0

    def note(
        self,
        at_ms: int,
        read: int,
        records_behind: int | None,
        files_behind: int | None,
        lag_ms: int | None,
    ) -> None:
        """Add a measurement."""
        self._is_known = records_behind is not None or files_behind is not None
        self._is_pending = bool(records_behind) or bool(files_behind)
        self._lag_ms, self._measured_ms = lag_ms, at_ms
        if not self._is_pending:
            self._heads.clear()
            self._pending_since_ms = None
            return
        if self._pending_since_ms is None:
            self._pending_since_ms = at_ms
        if records_behind and not files_behind:
            self._note_head(at_ms, read, read + records_behind)
        else:
            self._heads.clear()

    def seconds(self, now_ms: int) -> float | None:
        """Return how long input waits, 0 if none does, None if no source counts its pending input."""
        if not self._is_known:
            return None
        if not self._is_pending or self._pending_since_ms is None:
            return 0.0
        since = self._heads[0][0] if self._heads else self._pending_since_ms
        waits = max(0, now_ms - since)
        if self._lag_ms is not None and self._lag_ms >= 0:
            waits = min(waits, self._lag_ms + max(0, now_ms - self._measured_ms))
        return waits / 1000

    def shift(self, ms: int) -> None:
        """Move the moments of all measurements, after the clock was set."""
        self._heads = deque((moment + ms, head) for moment, head in self._heads)
        self._measured_ms += ms
        if self._pending_since_ms is not None:
            self._pending_since_ms += ms

    def _note_head(self, at_ms: int, read: int, head: int) -> None:
        """Keep the moments whose head is beyond what is read, and the last one before."""
        if not self._heads and self._pending_since_ms is not None:
            self._heads.append((self._pending_since_ms, read))
        self._heads.append((at_ms, head))
        while len(self._heads) > 1 and self._heads[1][1] <= read:
            self._heads.popleft()
        if len(self._heads) > _MOST_MEASUREMENTS:
            # Every second moment: what is forgotten makes the answer too great, never too small.
            self._heads = deque(list(self._heads)[::2])


_RECENT_MS = 15_000
"""The speed is that of the last seconds, this many."""

_MOST_MICRO_BATCHES = 120
_MOST_SPLITS = 64


@dataclass(slots=True)
class RunView:
    """One run of a job, as far as it is known. An attempt that the job restarts in takes the place of the one before.

    Attributes:
        name: `history`, `live` or `batch`.
        kind: `batch` or `live`.
        reads: Its sources, in words.
        pipeline: As in events.
        started_ms: When it began, in epoch milliseconds.
        attempts: Number of its beginnings in this driver.
        finished_ms: When it ended, None if it has not.
        outcome: `running`, `failed`, or one of `RunFinished`.
        attempt_records: Records read and committed in the last attempt; of a batch run known at its end.
        earlier_records: Those of the attempts before.
        records_so_far: As in `BatchProgress`, until the run ends and its records count.
        number: Number of the last micro-batch, None if there was none.
        lag_ms: As in `MicroBatch`.
        records_behind: As in `MicroBatch`.
        files_behind: As in `MicroBatch`.
        catch_up_seconds: As in `MicroBatch`.
        watermarks: As in `MicroBatch`.
        split_watermarks: As in `MicroBatch`, of all splits that were named since; those most behind.
        split_records_behind: As in `MicroBatch`.
        switch_seconds: Time from the run before to this one, None if there was none.
    """

    name: str
    kind: str
    reads: str
    pipeline: str
    started_ms: int
    attempts: int = 1
    finished_ms: int | None = None
    outcome: str = RUNNING
    attempt_records: int = 0
    earlier_records: int = 0
    records_so_far: int | None = None
    done_tasks: int = 0
    total_tasks: int = 0
    number: int | None = None
    lag_ms: int | None = None
    records_behind: int | None = None
    files_behind: int | None = None
    catch_up_seconds: float | None = None
    watermarks: Mapping[str, int] = field(default_factory=dict)
    split_watermarks: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    split_records_behind: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    switch_seconds: float | None = None
    micro_batches: deque[MicroBatch] = field(
        default_factory=lambda: deque(maxlen=_MOST_MICRO_BATCHES)
    )
    _behind: Behind = field(default_factory=Behind)
    _seconds: float = 0.0

    @property
    def records(self) -> int:
        """Records read and committed in this driver."""
        return self.attempt_records + self.earlier_records

    def begin_again(self, started_ms: int) -> None:
        """Forget the attempt that has failed, and count on."""
        self.started_ms, self.attempts = started_ms, self.attempts + 1
        self.finished_ms, self.outcome = None, RUNNING
        self.earlier_records, self.attempt_records = self.records, 0
        self.done_tasks = self.total_tasks = 0
        self.records_so_far = None
        self.micro_batches.clear()

    def note_micro_batch(self, event: MicroBatch) -> None:
        """Add a micro-batch, without the pending input."""
        if event.total_records < self.attempt_records:
            self.begin_again(event.at_ms)  # a log of events need not have every attempt
        self.number, self.lag_ms = event.number, event.lag_ms
        self.attempt_records = event.total_records
        # A source without records in the micro-batch has the watermark it had.
        self.watermarks = {**self.watermarks, **event.watermarks}
        if event.split_watermarks:
            self.split_watermarks = _with_splits(self.split_watermarks, event.split_watermarks)
        self.micro_batches.append(event)

    def note_pending(
        self, at_ms: int, records: int | None, files: int | None, catch_up_seconds: float | None
    ) -> None:
        """Note the pending input, as in `MicroBatch`."""
        self.records_behind, self.files_behind = records, files
        self.catch_up_seconds = catch_up_seconds
        self._behind.note(at_ms, self.records, records, files, self.lag_ms)

    def end(self, event: RunFinished) -> None:
        """Note that the run has ended, with the records of its last attempt."""
        self.finished_ms, self.attempt_records = event.at_ms, event.records
        self.outcome, self._seconds = event.outcome, event.seconds
        self.records_so_far = None

    def shift(self, ms: int) -> None:
        """Move all times, after the clock was set."""
        self.started_ms += ms
        self.finished_ms = None if self.finished_ms is None else self.finished_ms + ms
        moved = [replace(batch, at_ms=batch.at_ms + ms) for batch in self.micro_batches]
        self.micro_batches = deque(moved, maxlen=_MOST_MICRO_BATCHES)
        self._behind.shift(ms)

    def speed(self, now_ms: int) -> float | None:
        """Return records per second: of the last seconds, or of the whole run if it has ended.

        It is None if unknown, 0 if a live run waits for records.
        """
        if self.finished_ms is not None:
            return self.attempt_records / self._seconds if self._seconds > 0 else None
        if self.kind == "batch":
            elapsed = (now_ms - self.started_ms) / 1000
            return self.records_so_far / elapsed if self.records_so_far and elapsed > 0 else None
        if not self.micro_batches:
            return None
        since = max(now_ms - _RECENT_MS, self.started_ms)
        # Totals, because a log of events need not have every micro-batch.
        before = [batch for batch in self.micro_batches if batch.at_ms <= since]
        begin = before[-1].total_records if before else 0
        if not before and self.started_ms < since:
            begin = self.micro_batches[0].total_records - self.micro_batches[0].records
        elapsed = (now_ms - since) / 1000
        return (self.attempt_records - begin) / elapsed if elapsed > 0 else None

    def progress(self) -> float | None:
        """Return the share of its input that is read, from 0 to 1; None if it is unknown."""
        if self.outcome == DONE:
            return 1.0
        if self.kind == "batch":
            return self.done_tasks / self.total_tasks if self.total_tasks else None
        if self.records_behind is None or not self.records + self.records_behind:
            return None
        return self.records / (self.records + self.records_behind)

    def behind_seconds(self, now_ms: int) -> float | None:
        """Return how long input waits; see `Behind`. None for a run that has ended, and for a batch run."""
        if self.finished_ms is not None or self.kind == "batch":
            return None
        return self._behind.seconds(now_ms)


def _with_splits(
    known: Mapping[str, Mapping[str, int]], new: Mapping[str, Mapping[str, int]]
) -> dict[str, Mapping[str, int]]:
    """Return the watermarks of splits, of each source those that are most behind."""
    merged = dict(known)
    for source, marks in new.items():
        now = {**known.get(source, {}), **marks}
        merged[source] = dict(sorted(now.items(), key=lambda pair: pair[1])[:_MOST_SPLITS])
    return merged
