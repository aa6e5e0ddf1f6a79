"""Reports: what a task tells the driver, beside results.

A report travels as a frame to the sink stage, so only tasks that succeeded are counted, and
each once.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field

from penstock.metrics.values import MetricValue, merge_metrics
from penstock.program.channel import SINK_LEVEL
from penstock.wire.elements import MIN_TIMESTAMP
from penstock.wire.frame import FrameHeader, FrameKind, encode_payload, load_payload


@dataclass(slots=True)
class Report:
    """Counts and hand-over facts; `merge` adds another task's.

    Attributes:
        source_records: Source id to records read.
        operator_records: uid to records received.
        watermarks: Channel to group to watermark, at the end of a run or at a savepoint.
        memory: uid to what an operator remembers beside keyed state.
        greatest_timestamp_ms: Greatest watermark emitted by sources, None if there is none.
        snapshot: What the watermarks, the memory and the state of this micro-batch are for:
            the control event that asked for them, None if none did.
        state: What keeping state cost, over all subtasks and levels: how often a local copy
            was a hit, had to catch up or was rebuilt (`copy_hits`, `copy_catch_ups`,
            `copy_rebuilds`), bytes of changes logged and of compaction (`log_bytes`,
            `compaction_bytes`).
        metrics: Full name to value, of the metrics of operators and of their functions.
        times: Where time went, in nanoseconds over all tasks: `<place>.<section>`, see
            `task_clock`; `driver.job` and `driver.commit` are the driver's.
        next_calls: (level, subtask) to when its next processing-time timer is due, in epoch
            milliseconds; None if it has none.
        refused_columns: Columns that were to be combined and hold what SQL and Python treat
            differently: what was computed is not the answer (batch run).
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

    def merge(self, other: Report) -> None:
        """Add what another task reported.

        Counts add up and watermarks take the greatest. The memory of an operator takes the
        least of those that saw records: it is the greatest timestamp of a subtask, and every
        subtask of the next run goes on from it. From more than its own it would call records
        late.
        """
        for source, count in other.source_records.items():
            self.source_records[source] = self.source_records.get(source, 0) + count
        for uid, count in other.operator_records.items():
            self.operator_records[uid] = self.operator_records.get(uid, 0) + count
        for name, count in other.state.items():
            self.state[name] = self.state.get(name, 0) + count
        for name, spent in other.times.items():
            self.times[name] = self.times.get(name, 0) + spent
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
        # A hand-over can meet a savepoint nobody waits for any more; it comes first in order.
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
