"""Reports of tasks for the driver.

A report is a frame that is sent to the sink stage, so the reports of successful tasks count, each
once.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field, fields
from typing import Any

from penstock.metrics.task_facts import CommitCost
from penstock.metrics.values import MetricValue, merge_metrics
from penstock.program.channel import SINK_LEVEL
from penstock.wire.elements import MIN_TIMESTAMP
from penstock.wire.frame import FrameHeader, FrameKind, encode_payload, load_payload


@dataclass(slots=True)
class Report:
    """Counts and the hand-over of a task; `merge` adds those of another task.

    Attributes:
        operator_records: uid to records received.
        watermarks: Channel to group to watermark, at the end of a run or at a savepoint.
        memory: uid to the `memory` of the operator.
        greatest_timestamp_ms: Greatest watermark emitted by sources, None if there is none.
        source_watermarks: Source to the least watermark of its splits that had records; Long.MIN if the
            source has ended, which counts whatever other tasks report.
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
        subtask: The subtask that sent the report; None of a report that others were merged into.
        subtask_records: uid to subtask to records received, of the reports that were merged.
        split_watermarks: Source to split to the watermark of the split, of those that had records.
        state_keys: uid to subtask to keys with state; None if the subtask has not counted them.
        state_log_bytes: (level, subtask) to the size of its log, which is what its state takes in the checkpoint.
        state_written: uid to bytes of changes that were logged.
        commits: Sink to what its commits took; the driver adds them.
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
    source_watermarks: dict[int, int] = field(default_factory=dict)
    subtask: int | None = None
    subtask_records: dict[str, dict[int, int]] = field(default_factory=dict)
    split_watermarks: dict[int, dict[int, int]] = field(default_factory=dict)
    state_keys: dict[str, dict[int, int | None]] = field(default_factory=dict)
    state_log_bytes: dict[tuple[int, int], int] = field(default_factory=dict)
    state_written: dict[str, int] = field(default_factory=dict)
    sink_records: dict[int, int] = field(default_factory=dict)
    commits: dict[int, CommitCost] = field(default_factory=dict)

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        """Restore a pickled report. Epoch records keep reports, whose fields may be those of another version."""
        names = {attribute.name for attribute in fields(self)}
        filled = Report(**{name: kept for name, kept in state[1].items() if name in names})
        for name in names:
            setattr(self, name, getattr(filled, name))

    def merge(self, other: Report) -> None:
        """Add the report of another task.

        Counts are added; of watermarks the greatest counts. For the memory of an operator the least
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
        self._merge_facts(other)
        self.next_calls |= other.next_calls
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
        requests = [word for word in (self.snapshot, other.snapshot) if word is not None]
        self.snapshot = min(requests, default=None)

    def _merge_facts(self, other: Report) -> None:
        """Add facts that are only shown."""
        received = other.subtask_records
        if other.subtask is not None:
            own = {
                uid: {other.subtask: count}
                for uid, count in other.operator_records.items()
                if count
            }
            received = {**received, **own}
        for uid, counts in received.items():
            known = self.subtask_records.setdefault(uid, {})
            for subtask, count in counts.items():
                known[subtask] = known.get(subtask, 0) + count
        for source, marks in other.split_watermarks.items():
            self.split_watermarks.setdefault(source, {}).update(marks)
        for uid, keys in other.state_keys.items():
            self.state_keys.setdefault(uid, {}).update(keys)
        self.state_log_bytes |= other.state_log_bytes
        for uid, size in other.state_written.items():
            self.state_written[uid] = self.state_written.get(uid, 0) + size
        for sink, count in other.sink_records.items():
            self.sink_records[sink] = self.sink_records.get(sink, 0) + count
        for sink, cost in other.commits.items():
            self.commits[sink] = self.commits.get(sink, CommitCost()) + cost

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
