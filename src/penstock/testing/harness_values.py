"""What a test harness gives back: emitted records, pending timers, snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.types.time_domain import TimeDomain


@dataclass(frozen=True, slots=True)
class Emitted:
    """A record that came out of an operator.

    Attributes:
        value: The record.
        timestamp: Epoch milliseconds, None if it has none.
    """

    value: Any
    timestamp: int | None = None


@dataclass(frozen=True, slots=True)
class PendingTimer:
    """A timer that has not fired yet.

    Attributes:
        timestamp: When it is due, in epoch milliseconds.
        key: Whose it is.
        domain: By which clock.
    """

    timestamp: int
    key: Any
    domain: TimeDomain = TimeDomain.EVENT_TIME


@dataclass(frozen=True, slots=True)
class HarnessSnapshot:
    """Everything an operator remembers; can be pickled.

    It has the form in which a job hands its state to the next run, so a snapshot can be restored
    with another parallelism or backend, and into an operator that changed meanwhile.

    Attributes:
        state: State, one blob per operator and key group or more.
        watermarks: Channel to group to watermark.
        memory: uid to what an operator remembers beside its state.
        processing_time: The clock, in epoch milliseconds.
        max_parallelism: Number of key groups.
    """

    state: tuple[bytes, ...]
    watermarks: Mapping[int, Mapping[int, int]]
    memory: Mapping[str, int]
    processing_time: int
    max_parallelism: int
