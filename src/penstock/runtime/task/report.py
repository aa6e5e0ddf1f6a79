"""Reports of tasks for the driver.

A report is a frame that is sent to the sink stage, so the reports of successful tasks count, each
once.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field, fields
from typing import Any

from penstock.metrics.values import MetricValue, merge_metrics
from penstock.program.channel import SINK_LEVEL
from penstock.wire.elements import MIN_TIMESTAMP
from penstock.wire.frame import FrameHeader, FrameKind, encode_payload, load_payload


@dataclass(slots=True)
class Report:
    """Counts and the hand-over of a task; `merge` adds those of another task.

    Attributes:
        source_records: Source id to records read.
        operator_records: uid to records received.
        watermarks: Channel to group to watermark, at the end of a run or at a savepoint.
        memory: uid to the `memory` of the operator.
        greatest_timestamp_ms: Greatest watermark emitted by sources, None if there is none.
        source_watermarks: Source to the least watermark of its splits that had records; Long.MIN if the
            source has ended, which counts, whatever other tasks say.
        snapshot: The control event that requested a snapshot in this micro-batch, which the
            watermarks, the memory and the state belong to; None if there is none.
        state: Metrics of state access over all subtasks and levels: numbers of local copies that
            were hits, caught up or were rebuilt (`copy_hits`, `copy_catch_ups`, `copy_rebuilds`),
            bytes of logged changes and of compaction (`log_bytes`, `compaction_bytes`).
        metrics: Full name to value, of the metrics of operators and of their functions.
        times: `<place>.<section>` (see `task_clock`) to nanoseconds, over all tasks; `driver.job`
            and `driver.commit` are times of the driver.
        next_calls: (level, subtask) to the time of its next processing-time timer, in epoch
            milliseconds; None if it has none.
        refused_columns: Columns with values that SQL and Python fold differently; then the results
            of the run are invalid (batch run).
    """

    source_records: dict[int, int] = field(default_factory=dict)
    operator_records: dict[str, int] = field(default_factory=dict)
    watermarks: dict[int, dict[int, int]] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)
    greatest_timestamp_ms: int | None = None
    snapshot: str | None = None
    state: dict[str, int] = field(default_factory=dict)
    metrics: dict[str, MetricValue] = field(default_factory=dict)
    next_calls: dict[tuple[int, int], int | None] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)
    refused_columns: frozenset[str] = frozenset()
    source_watermarks: dict[int, int] = field(default_factory=dict)

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        """Restore a pickled report. Epoch records keep reports, which may lack fields that were added."""
        filled = Report(**state[1])
        for each in fields(self):
            setattr(self, each.name, getattr(filled, each.name))

    def merge(self, other: Report) -> None:
        """Add the report of another task.

        Counts are added; of watermarks the greatest counts. Of the memory of an operator the least
        one of subtasks with records counts: it is the greatest timestamp of a subtask, and every
        subtask of the next run starts with it. With a greater one than its own, a subtask would take
        records for late.
        """
        for source, count in other.source_records.items():
            self.source_records[source] = self.source_records.get(source, 0) + count
        for uid, count in other.operator_records.items():
            self.operator_records[uid] = self.operator_records.get(uid, 0) + count
        for name, count in other.state.items():
            self.state[name] = self.state.get(name, 0) + count
        for name, spent in other.times.items():
            self.times[name] = self.times.get(name, 0) + spent
        for source, mark in other.source_watermarks.items():
            self.source_watermarks[source] = min(self.source_watermarks.get(source, mark), mark)
        self.next_calls |= other.next_calls
        self.refused_columns |= other.refused_columns
        merge_metrics(self.metrics, other.metrics)
        for channel, groups in other.watermarks.items():
            known = self.watermarks.setdefault(channel, {})
            for group, mark in groups.items():
                known[group] = max(known.get(group, mark), mark)
        for uid, memory in other.memory.items():
            seen = {memory, self.memory.get(uid, memory)} - {MIN_TIMESTAMP}
            self.memory[uid] = min(seen, default=MIN_TIMESTAMP)
        stamps = [
            t for t in (self.greatest_timestamp_ms, other.greatest_timestamp_ms) if t is not None
        ]
        self.greatest_timestamp_ms = max(stamps, default=None)
        # A hand-over may coincide with a savepoint that is no longer needed; "handover" sorts first.
        asked = [word for word in (self.snapshot, other.snapshot) if word is not None]
        self.snapshot = min(asked, default=None)

    @property
    def records_read(self) -> int:
        """Records read from all sources."""
        return sum(self.source_records.values())


def encode_report(report: Report, task: int, sequence: int) -> bytes:
    """Return the frame of a report."""
    header = FrameHeader(task, sequence, 0, SINK_LEVEL, FrameKind.REPORT, 1)
    return encode_payload(header, pickle.dumps(report, 5))


def decode_report(frame: bytes) -> Report:
    """Return the report of a frame."""
    report = load_payload(frame)
    assert isinstance(report, Report)
    return report
