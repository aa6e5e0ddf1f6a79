"""Watermark strategies: where timestamps come from and how far records may be out of order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import Parameter, signature
from typing import Any

from penstock.errors import ArgumentError, CallSite
from penstock.graph.logical import Watermarking
from penstock.program.watermark_generator import Watermark, WatermarkGenerator, WatermarkOutput
from penstock.types.time import Duration

__all__ = [
    "TimestampAssigner",
    "Watermark",
    "WatermarkAlignment",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
    "checked_strategy",
]


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
class WatermarkAlignment:
    """What `with_watermark_alignment` was given. It is kept, and changes nothing.

    Attributes:
        group: Name of the sources that should not drift apart.
        max_drift_ms: How far they may.
        update_interval_ms: How often that would be looked at.
    """

    group: str
    max_drift_ms: int
    update_interval_ms: int


@dataclass(frozen=True, slots=True)
class WatermarkStrategy:
    """How a stream tells time. A value: every method returns a new strategy.

    The watermark is the greatest timestamp seen, minus the out-of-orderness, minus one
    millisecond. It is emitted at the end of every micro-batch; while history is read as a
    batch, none is, and the greatest of it at the switch (FLIP-327 §2.3). A generator of your
    own (`for_generator`) may also emit between two records.

    Every split of a source has a watermark of its own, and the least of them counts.

    Attributes:
        out_of_orderness_ms: Bound of disorder; None makes no watermarks of this kind.
        assigner: (value, previous timestamp) to epoch milliseconds; None keeps timestamps.
        make_generator: Makes a generator, given a runtime context.
        idle_ms: Time without records after which a split is idle; None is never.
        alignment: Kept for who asks; micro-batches take from every source anyway.
    """

    out_of_orderness_ms: int | None
    assigner: Callable[[Any, int], int] | None = None
    make_generator: Callable[[Any], WatermarkGenerator] | None = None
    idle_ms: int | None = None
    alignment: WatermarkAlignment | None = None

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
        return WatermarkStrategy(_millis(max_out_of_orderness, "the out-of-orderness"))

    @staticmethod
    def for_generator(supplier: Callable[..., WatermarkGenerator]) -> WatermarkStrategy:
        """Return a strategy whose watermarks a generator of your own makes.

        Args:
            supplier: Returns a new generator: a subclass of `WatermarkGenerator`, or a
                function of no argument or of the runtime context. Called once per split and
                task, and once per subtask behind an exchange.

        Raises:
            ArgumentError: It is no function, or a generator instead of what makes one.
        """
        origin = CallSite.of_caller()
        if isinstance(supplier, WatermarkGenerator):
            raise ArgumentError(
                f"for_generator got the generator {supplier!r}, but every split needs its own",
                hint=f"Pass what makes one: lambda: {type(supplier).__name__}(…).",
                origin=origin,
            )
        if not callable(supplier):
            raise ArgumentError(
                f"for_generator got {supplier!r}",
                hint="Pass a WatermarkGenerator class, or a function that returns a generator.",
                origin=origin,
            )
        return WatermarkStrategy(None, make_generator=_Supplier(supplier, _takes_one(supplier)))

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

    def with_idleness(self, idle_timeout: Duration) -> WatermarkStrategy:
        """Do not wait for splits that had no records for so long, by the wall clock.

        In a live run the watermark then follows the other splits and sources. A split is
        waited for again from its next record on; its records may be late by then.

        Raises:
            ArgumentError: It is not a positive `Duration`.
        """
        timeout_ms = _millis(idle_timeout, "the idle timeout")
        if timeout_ms <= 0:
            raise ArgumentError(
                f"the idle timeout is {timeout_ms} ms",
                hint="Pass a Duration of at least one millisecond.",
                origin=CallSite.of_caller(),
            )
        return replace(self, idle_ms=timeout_ms)

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: Duration,
        update_interval: Duration | None = None,
    ) -> WatermarkStrategy:
        """Accept how far the sources of a group may drift apart; nothing is held back.

        Raises:
            ArgumentError: A time is not a `Duration`.
        """
        drift_ms = _millis(max_allowed_watermark_drift, "the allowed drift")
        every = Duration.of_seconds(1) if update_interval is None else update_interval
        interval_ms = _millis(every, "the update interval")
        return replace(self, alignment=WatermarkAlignment(watermark_group, drift_ms, interval_ms))

    def watermarking(self) -> Watermarking | None:
        """Return what the graph keeps of the strategy, None if it asks for nothing."""
        asked = (self.assigner, self.out_of_orderness_ms, self.make_generator, self.idle_ms)
        if asked == (None, None, None, None):
            return None
        return Watermarking(
            self.assigner, self.out_of_orderness_ms, self.make_generator, self.idle_ms
        )


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


@dataclass(frozen=True, slots=True)
class _Supplier:
    """Calls what the user gave, with the runtime context if it wants one."""

    function: Callable[..., WatermarkGenerator]
    wants_context: bool

    def __call__(self, context: Any) -> WatermarkGenerator:
        return self.function(context) if self.wants_context else self.function()


def _takes_one(function: Callable[..., Any]) -> bool:
    """Return whether a function has a parameter without default."""
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C
        return False
    positional = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    return any(p.kind in positional and p.default is Parameter.empty for p in parameters)


def _millis(duration: Duration, what: str) -> int:
    if not isinstance(duration, Duration):
        raise ArgumentError(
            f"{what} is {duration!r}",
            hint="Pass a Duration, for example Duration.of_seconds(5).",
            origin=CallSite.of_caller(),
        )
    return duration.to_millis()
