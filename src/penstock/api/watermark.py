"""Watermark strategies: where timestamps come from and how far records may be out of order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from penstock.errors import ArgumentError, CallSite
from penstock.graph.logical import Watermarking
from penstock.types.time import Duration


class TimestampAssigner(ABC):
    """Gives records their event time."""

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """Return the time of `value` in epoch milliseconds.

        Args:
            value: The record.
            record_timestamp: The timestamp it has already, Long.MIN if none.
        """


@dataclass(frozen=True, slots=True)
class WatermarkStrategy:
    """How a stream tells time. A value: every method returns a new strategy.

    The watermark is the greatest timestamp seen, minus the out-of-orderness, minus one
    millisecond. It is emitted at the end of every micro-batch; while history is read as a
    batch, none is, and the greatest of it at the switch (FLIP-327 §2.3).
    """

    out_of_orderness_ms: int | None
    assigner: Callable[[Any, int], int] | None = None

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """Return a strategy for records in order of time."""
        return WatermarkStrategy(0)

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: Duration) -> WatermarkStrategy:
        """Return a strategy for records at most that much out of order.

        Raises:
            ArgumentError: It is not a `Duration`.
        """
        if not isinstance(max_out_of_orderness, Duration):
            raise ArgumentError(
                f"the out-of-orderness is {max_out_of_orderness!r}",
                hint="Pass a Duration, for example Duration.of_seconds(5).",
                origin=CallSite.of_caller(),
            )
        return WatermarkStrategy(max_out_of_orderness.to_millis())

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """Return a strategy without watermarks: event-time timers fire at the end of input."""
        return WatermarkStrategy(None)

    def with_timestamp_assigner(self, timestamp_assigner: Any) -> WatermarkStrategy:
        """Take timestamps from a `TimestampAssigner` or a function of (value, timestamp).

        Raises:
            ArgumentError: It is neither, or a class instead of an object of it.
        """
        extract = getattr(timestamp_assigner, "extract_timestamp", timestamp_assigner)
        if isinstance(timestamp_assigner, type):
            name = timestamp_assigner.__name__
            raise ArgumentError(
                f"the timestamp assigner is the class {name}",
                hint=f"Did you forget the parentheses? Pass {name}() instead.",
                origin=CallSite.of_caller(),
            )
        if not callable(extract):
            raise ArgumentError(
                f"{timestamp_assigner!r} is not a timestamp assigner",
                hint="Pass a TimestampAssigner, or a function of (value, record_timestamp).",
                origin=CallSite.of_caller(),
            )
        return replace(self, assigner=extract)

    def watermarking(self) -> Watermarking | None:
        """Return what the graph keeps of the strategy, None if it asks for nothing."""
        if self.assigner is None and self.out_of_orderness_ms is None:
            return None
        return Watermarking(self.assigner, self.out_of_orderness_ms)


def checked_strategy(strategy: WatermarkStrategy) -> WatermarkStrategy:
    """Return the strategy.

    Raises:
        ArgumentError: It is none.
    """
    if isinstance(strategy, WatermarkStrategy):
        return strategy
    raise ArgumentError(
        f"{strategy!r} is not a watermark strategy",
        hint="Pass WatermarkStrategy.no_watermarks() if event time does not matter.",
        origin=CallSite.of_caller(),
    )
