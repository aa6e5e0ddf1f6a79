"""The values that a test harness returns: emitted records, pending timers, snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.types.time import TimeDomain


@dataclass(frozen=True, slots=True)
class Emitted:
    """A record that an operator emitted.

    Attributes:
        value: The record.
        timestamp: Epoch milliseconds, None if it has none.

    Example:
        >>> with OperatorHarness.of(lambda stream: stream.map(str)) as harness:
        ...     emitted = harness.push(1, timestamp=1_000)
        ...     harness.emitted()
        [Emitted(value='1', timestamp=1000)]
    """

    value: Any
    timestamp: int | None = None


@dataclass(frozen=True, slots=True)
class PendingTimer:
    """A timer that has not fired yet.

    Attributes:
        timestamp: Its timestamp, in epoch milliseconds.
        key: Its key.
        domain: Event time or processing time.

    Example:
        >>> PendingTimer(1_000, "a").domain
        <TimeDomain.EVENT_TIME: 0>
    """

    timestamp: int
    key: Any
    domain: TimeDomain = TimeDomain.EVENT_TIME


@dataclass(frozen=True, slots=True)
class HarnessSnapshot:
    """All state, timers and watermarks of operators; can be pickled.

    It has the form of a job's hand-over. So a snapshot can be restored with another parallelism or
    backend, and into a changed operator.

    Attributes:
        state: State, one blob per operator and key group or more.
        watermarks: Channel to group to watermark.
        memory: uid to the `memory` of the operator.
        processing_time: The clock, in epoch milliseconds.
        max_parallelism: Number of key groups.

    Example:
        >>> total = lambda stream: stream.key_by(lambda n: "all").sum()
        >>> with OperatorHarness.of(total) as harness:
        ...     emitted = harness.push_all([1, 2])
        ...     snapshot = harness.snapshot()
        >>> with OperatorHarness.of(total, snapshot=snapshot) as harness:
        ...     harness.push(3)
        [6]
    """

    state: tuple[bytes, ...]
    watermarks: Mapping[int, Mapping[int, int]]
    memory: Mapping[str, int]
    processing_time: int
    max_parallelism: int
