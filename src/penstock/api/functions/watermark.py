"""Watermark strategies: how timestamps are assigned and how far records may be out of order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import Parameter, signature
from typing import Any

from penstock.errors import ArgumentError
from penstock.expressions.column import ColumnExpression
from penstock.expressions.kinds import TIMESTAMPS, WHOLE, name_of
from penstock.expressions.tree import Field
from penstock.expressions.typing import record_type, typed
from penstock.program.timestamps import (
    ColumnTimestamps,
    TimestampSpec,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
)
from penstock.types import TypeInformation
from penstock.types.records import RowTypeInfo
from penstock.types.time import Duration

__all__ = [
    "TimestampAssigner",
    "Watermark",
    "WatermarkAlignment",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
    "checked_strategy",
    "watermarking_of",
]


class TimestampAssigner(ABC):
    """Assigns timestamps to records.

    Example:
        >>> class OrderTime(TimestampAssigner):
        ...     def extract_timestamp(self, value, record_timestamp):
        ...         return value[2]
        >>> strategy = WatermarkStrategy.for_monotonous_timestamps()
        >>> timed = strategy.with_timestamp_assigner(OrderTime())
    """

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """Return the time of `value` in epoch milliseconds.

        Args:
            value: The record.
            record_timestamp: The timestamp it has already, Long.MIN if none.
        """


@dataclass(frozen=True, slots=True)
class WatermarkAlignment:
    """The arguments of `with_watermark_alignment`, which have no effect.

    Attributes:
        group: Name of the sources that should not drift apart.
    """

    group: str
    max_drift_ms: int
    update_interval_ms: int


@dataclass(frozen=True, slots=True)
class WatermarkStrategy:
    """Assignment of timestamps and generation of watermarks. A value: methods return a new strategy.

    The watermark is the greatest timestamp seen, minus the out-of-orderness, minus one
    millisecond. It is emitted at the end of every micro-batch. While history is read as a batch
    none is emitted; the greatest is emitted when history ends (FLIP-327 §2.3). A generator of
    your own (`for_generator`) may also emit between two records.

    Every split of a source has a watermark of its own, and the least of them is that of the
    source.

    Attributes:
        out_of_orderness_ms: Bound of disorder; None makes no watermarks of this kind.
        assigner: (value, previous timestamp) to epoch milliseconds; None leaves timestamps.
        make_generator: Makes a generator, given a runtime context.
        idle_ms: Time without records after which a split is idle; None is never.
        alignment: Has no effect: micro-batches read from every source.
    """

    out_of_orderness_ms: int | None
    assigner: Callable[[Any, int], int] | None = None
    make_generator: Callable[[Any], WatermarkGenerator] | None = None
    idle_ms: int | None = None
    alignment: WatermarkAlignment | None = None

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """Return a strategy for records in order of their timestamps.

        Example:
            >>> WatermarkStrategy.for_monotonous_timestamps().out_of_orderness_ms
            0
        """
        return WatermarkStrategy(0)

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: Duration) -> WatermarkStrategy:
        """Return a strategy for records whose disorder is bounded.

        Args:
            max_out_of_orderness: A record may come this much later than one with a greater
                timestamp, and is not late.

        Raises:
            ArgumentError: It is not a `Duration`.

        Example:
            >>> strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
            >>> strategy.out_of_orderness_ms
            5000
        """
        return WatermarkStrategy(_millis(max_out_of_orderness, "the out-of-orderness"))

    @staticmethod
    def for_generator(supplier: Callable[..., WatermarkGenerator]) -> WatermarkStrategy:
        """Return a strategy whose watermarks a generator of your own emits.

        Args:
            supplier: Returns a new generator: a subclass of `WatermarkGenerator`, or a
                function of no argument or of the runtime context. Called once per split and
                task, and once per subtask after an exchange.

        Raises:
            ArgumentError: It is no function, or a generator and not a function that makes one.

        Example:
            >>> class AtEach(WatermarkGenerator):
            ...     def on_event(self, event, event_timestamp, output):
            ...         output.emit_watermark(Watermark(event_timestamp))
            ...     def on_periodic_emit(self, output):
            ...         pass
            >>> strategy = WatermarkStrategy.for_generator(AtEach)
        """
        if isinstance(supplier, WatermarkGenerator):
            raise ArgumentError.here(
                f"for_generator got the generator {supplier!r}, but every split needs its own",
                hint=f"Pass a function that makes one: lambda: {type(supplier).__name__}(…).",
            )
        if not callable(supplier):
            raise ArgumentError.here(
                f"for_generator got {supplier!r}",
                hint="Pass a WatermarkGenerator class, or a function that returns a generator.",
            )
        return WatermarkStrategy(None, make_generator=_Supplier(supplier, _takes_one(supplier)))

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """Return a strategy without watermarks: event-time timers fire at the end of input.

        Example:
            >>> strategy = WatermarkStrategy.no_watermarks()
            >>> stream = env.from_source(NumberSequenceSource(1, 3), strategy, "numbers")
            >>> collect(stream)
            [1, 2, 3]
        """
        return WatermarkStrategy(None)

    def with_timestamp_assigner(self, timestamp_assigner: Any) -> WatermarkStrategy:
        """Return the strategy with timestamps taken from the records.

        Args:
            timestamp_assigner: A `TimestampAssigner`, or a function of (value, timestamp so far)
                that returns epoch milliseconds; or a column of rows or tuples, such as `col.at`, of whole numbers, which are
                epoch milliseconds, or of times, which are UTC without a zone. A column needs no call per record.

        Raises:
            ArgumentError: It is neither, or a class instead of an object of it.

        Example:
            >>> strategy = WatermarkStrategy.for_monotonous_timestamps()
            >>> by_value = strategy.with_timestamp_assigner(lambda n, _: n * 1000)
            >>> timed = numbers.assign_timestamps_and_watermarks(by_value)
            >>> windows = timed.window_all(TumblingEventTimeWindows.of(Time.seconds(2)))
            >>> collect(windows.reduce(lambda a, b: a + b))
            [1, 5, 4]
        """
        if isinstance(timestamp_assigner, ColumnExpression):
            return replace(self, assigner=_of_column(timestamp_assigner))
        extract = getattr(timestamp_assigner, "extract_timestamp", timestamp_assigner)
        if isinstance(timestamp_assigner, type):
            name = timestamp_assigner.__name__
            raise ArgumentError.here(
                f"the timestamp assigner is the class {name}",
                hint=f"Did you forget the parentheses? Pass {name}() instead.",
            )
        if not callable(extract):
            raise ArgumentError.here(
                f"{timestamp_assigner!r} is not a timestamp assigner",
                hint="Pass a TimestampAssigner, or a function of (value, record_timestamp).",
            )
        return replace(self, assigner=extract)

    def with_idleness(self, idle_timeout: Duration) -> WatermarkStrategy:
        """Return the strategy with an idle timeout: an idle split does not hold back watermarks.

        In a live run the watermark then follows the other splits and sources. From its next record
        on, a split counts again; its records may be late by then.

        Args:
            idle_timeout: Time by the wall clock after which a split is idle.

        Raises:
            ArgumentError: It is not a positive `Duration`.

        Example:
            >>> strategy = WatermarkStrategy.for_monotonous_timestamps()
            >>> strategy.with_idleness(Duration.of_minutes(1)).idle_ms
            60000
        """
        timeout_ms = _millis(idle_timeout, "the idle timeout")
        if timeout_ms <= 0:
            raise ArgumentError.here(
                f"the idle timeout is {timeout_ms} ms",
                hint="Pass a Duration of at least one millisecond.",
            )
        return replace(self, idle_ms=timeout_ms)

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: Duration,
        update_interval: Duration | None = None,
    ) -> WatermarkStrategy:
        """Return the strategy with an alignment group, which has no effect: no source is held back.

        Args:
            watermark_group: Name of the group of sources.
            max_allowed_watermark_drift: Greatest difference of the watermarks of the group.
            update_interval: Interval of comparisons; one second by default.

        Raises:
            ArgumentError: A time is not a `Duration`.

        Example:
            >>> strategy = WatermarkStrategy.for_monotonous_timestamps()
            >>> aligned = strategy.with_watermark_alignment("all", Duration.of_seconds(20))
            >>> aligned.alignment.max_drift_ms
            20000
        """
        drift_ms = _millis(max_allowed_watermark_drift, "the allowed drift")
        every = Duration.of_seconds(1) if update_interval is None else update_interval
        interval_ms = _millis(every, "the update interval")
        return replace(self, alignment=WatermarkAlignment(watermark_group, drift_ms, interval_ms))

    def watermarking(self) -> TimestampSpec | None:
        """Return the form the strategy has in the graph, None if it does nothing."""
        spec = TimestampSpec(
            self.assigner, self.out_of_orderness_ms, self.make_generator, self.idle_ms
        )
        return None if spec == TimestampSpec(None, None) else spec


def _of_column(column: ColumnExpression) -> ColumnTimestamps:
    if not isinstance(column.tree, Field):
        raise ArgumentError.here(
            f"the timestamp assigner is {column.tree}, which is not a column",
            hint="Compute it before, with with_columns, and assign timestamps to that stream.",
        )
    return ColumnTimestamps(column.tree.name, column.tree.name)


def watermarking_of(
    strategy: WatermarkStrategy, type_info: TypeInformation
) -> TimestampSpec | None:
    """Return the form that a strategy has in the graph, for records of a type."""
    spec = checked_strategy(strategy).watermarking()
    if spec is None or not isinstance(spec.assigner, ColumnTimestamps):
        return spec
    name = spec.assigner.name
    records = record_type(type_info, "with_timestamp_assigner")
    field = typed(Field(name), records, "with_timestamp_assigner")
    if name_of(field) not in TIMESTAMPS | set(WHOLE):
        raise ArgumentError.here(
            f"with_timestamp_assigner got the column {name}, which is {field.type_info!r}",
            hint="Use a column of whole numbers, which are epoch milliseconds, or of timestamps.",
        )
    place = name if isinstance(records, RowTypeInfo) else records.field_names.index(name)
    return replace(spec, assigner=ColumnTimestamps(name, place))


def checked_strategy(strategy: WatermarkStrategy) -> WatermarkStrategy:
    """Return the strategy."""
    if isinstance(strategy, WatermarkStrategy):
        return strategy
    raise ArgumentError.here(
        f"{strategy!r} is not a watermark strategy",
        hint="Pass WatermarkStrategy.no_watermarks() if event time does not matter.",
    )


@dataclass(frozen=True, slots=True)
class _Supplier:
    """Calls the supplier of the user, with the runtime context if it takes one."""

    function: Callable[..., WatermarkGenerator]
    takes_context: bool

    def __call__(self, context: Any) -> WatermarkGenerator:
        return self.function(context) if self.takes_context else self.function()


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
        raise ArgumentError.here(
            f"{what} is {duration!r}", hint="Pass a Duration, for example Duration.of_seconds(5)."
        )
    return duration.to_millis()
