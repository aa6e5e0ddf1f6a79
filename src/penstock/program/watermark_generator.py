"""Watermark generators: the protocol of a user's own, and what they talk to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, order=True)
class Watermark:
    """No later record has a timestamp at or below `timestamp`.

    Attributes:
        timestamp: Epoch milliseconds.
    """

    timestamp: int


class WatermarkOutput(ABC):
    """Where a generator puts its watermarks. It belongs to one split of one source."""

    @abstractmethod
    def emit_watermark(self, watermark: Watermark) -> None:
        """Emit a watermark; one that is not greater than the last is ignored.

        A split that was idle is active again.

        Raises:
            TypeMismatchError: It is no `Watermark` of a 64-bit integer.
        """

    @abstractmethod
    def mark_idle(self) -> None:
        """Say that nothing is expected, so that nobody waits for this split."""

    @abstractmethod
    def mark_active(self) -> None:
        """Say that records are expected again."""


class WatermarkGenerator(ABC):
    """Makes the watermarks of one split, or of one subtask behind an exchange.

    Who calls it: the operator that assigns timestamps. `on_event` once per record, after the
    record was passed on; `on_periodic_emit` once at the end of what a task or micro-batch has
    of the split. A generator made for a split of a source lives as long as the task that reads
    a piece of it: the next micro-batch makes another one, which starts from nothing, and the
    greatest watermark so far stays in force. So base watermarks on what the records say.
    """

    @abstractmethod
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Look at a record; may emit a watermark, which takes effect before the next record.

        Args:
            event: The record.
            event_timestamp: Its timestamp in epoch milliseconds, Long.MIN if it has none.
            output: Takes watermarks.
        """

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit the watermark of all records seen, if it is not emitted per record."""
